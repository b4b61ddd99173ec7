// The first screen: the answer at a glance, or why there is none; and the same on a phone.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import type { Report } from "../../src/model";
import { fixture } from "../fixture/read";
import { check as checked, count, launch, open } from "./browser";
import { ofBound, undecided, withoutAnswer } from "./variations";

let browser: Browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** Opens a run, checks it, and asserts that the page made no requests and reported no errors. */
const check = (report: Report, steps: (page: Page) => Promise<void>, options: Parameters<typeof open>[2] = {}): Promise<void> => checked(browser, report, steps, options);

test("a run without an answer begins with why, and has no empty section", async () => {
  await check(withoutAnswer(), async (page) => {
    const sections = await page.locator("main > section").evaluateAll((all) => all.map(({ id }) => id));
    assert.deepEqual(sections.slice(0, 2), ["verdict", "validity"]);
    assert.ok(!sections.includes("latency") && !sections.includes("saturation"), sections.join());
    assert.equal(await count(page, ".nothing"), 0);
    assert.match(await page.locator(".glance").innerText(), /How sure\s+nothing is claimed[^]*Validity/);
    assert.match(await page.locator(".failures").innerText(), /all trials/);
    const grey = await page.locator("#trials .never").allInnerTexts();
    assert.equal(grey.length, 2);
    assert.match(grey[0] ?? "", /^nginx: [0-9,]+\/s, not valid \([0-9]+ trials, and none counts\)/);
  });
});

test("a run with an answer has it at a glance, and differences once", async () => {
  await check(fixture("comparison"), async (page) => {
    const text = (await page.locator(".glance").innerText()).replace(/[\s\u00a0]+/g, " ");
    assert.match(text, /By how much nginx: 1\.62 × apache's capacity at p99<5ms How sure with 95 % confidence between 1\.61 × and 1\.63 ×, from 9 starts of each/);
    assert.match(text, /What next showdown confirm/);
    assert.doesNotMatch(await page.locator("#facts").innerText(), /allocator/);
    assert.match(await page.locator("#fairness details summary").first().innerText(), /1 expected difference \(build\)/);
  });
});

test("a lower bound is an answer, and says that it is one", async () => {
  await check(ofBound(), async (page) => {
    const text = await page.locator(".glance").innerText();
    assert.match(text, /By how much\s+nginx has at least 1\.97\s× apache's throughput/);
    assert.match(text, /How sure\s+only a lower bound is known/);
    assert.doesNotMatch(text, /nothing is claimed/);
  });
});

test("a comparison that is not decided has no other verdict's name", async () => {
  await check(undecided(), async (page) => {
    const text = await page.locator(".glance").innerText();
    assert.match(text, /nginx and apache: not decided \(measured 1\.62\s×\)/);
    assert.doesNotMatch(text, /no difference is shown/);
    assert.match(await page.locator("h1").innerText(), /^No\sverdict\syet/);
  });
});

test("a phone shows both variants of each difference, and the whole caption of the gates", async () => {
  await check(fixture("comparison"), async (page) => {
    const inside = async (selector: string): Promise<void> => {
      const boxes = await page.locator(selector).evaluateAll((all) => all.map((one) => one.getBoundingClientRect()).map(({ left, right }) => ({ left, right })));
      assert.ok(boxes.length > 0 && boxes.every(({ left, right }) => left >= 0 && right <= 400), `${selector}: ${JSON.stringify(boxes)}`);
    };
    await inside("#fairness tbody tr:first-child td");
    await inside("#validity caption > span");
  }, { viewport: { width: 400, height: 800 } });
});
