// A run of transfers as a page: the one picture from which an administrator sees where to stop.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import type { Report } from "../../src/model";
import { axeProblems, check as checked, count, launch, overflow } from "./browser";
import { ofTransfers } from "./variations";

let browser: Browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

const PHONE = { viewport: { width: 390, height: 844 } };

const check = (report: Report, steps: (page: Page) => Promise<void>, options: Parameters<typeof checked>[3] = {}): Promise<void> => checked(browser, report, steps, options);

test("the picture names the comfortable and the breaking point, and crosses steps that answer nobody", async () => {
  await check(ofTransfers(), async (page) => {
    assert.deepEqual(await page.locator("#concurrency-picture .named text").allTextContents(), ["comfortable up to 200", "breaks at 800"]);
    assert.equal(await count(page, "#concurrency-picture .unanswered path"), 3, "a cross for each step without an answer");
    const words = ((await page.locator("#concurrency-picture .panels").textContent()) ?? "").replace(/\s+/g, " ");
    for (const bound of ["broken under 50", "comfortable up to 1"]) assert.ok(words.includes(bound), bound);
  });
});

test("on a phone the names neither overlap nor leave the window", async () => {
  await check(
    ofTransfers(),
    async (page) => {
      const boxes = await page.locator("#concurrency-picture .named text").evaluateAll((names) => names.map((name) => name.getBoundingClientRect().toJSON() as DOMRect));
      for (const { left, right } of boxes) assert.ok(left >= 0 && right <= 390, `${left} to ${right}`);
      const [first, second] = boxes;
      assert.ok(first && second && (first.bottom <= second.top + 2 || first.right <= second.left), "one below the other");
      assert.ok((await overflow(page)) <= 0, "the page does not scroll sideways");
    },
    PHONE,
  );
});

test("each step says how late reads were and how late they may be", async () => {
  await check(ofTransfers(), async (page) => {
    const row = (await page.locator("#steps tbody tr").first().innerText()).replace(/\s+/g, " ");
    assert.match(row, /^100 100 100 % .* 11 ms of 1.45 s /);
    assert.match(await page.locator("#steps").innerText(), /reads about every 5\.8.s/);
  });
});

test("where the client was the limit, the picture says so", async () => {
  const report = ofTransfers();
  const { breaking_point: _, ...found } = report.concurrency ?? assert.fail("a run of transfers");
  await check({ ...report, concurrency: { ...found, client_limit: 800 } }, async (page) => {
    assert.deepEqual(await page.locator("#concurrency-picture .named text").allTextContents(), ["comfortable up to 200", "client the limit at 800"]);
  });
});

test("the plan of such a run has steps, and neither blocks nor phases", async () => {
  await check(ofTransfers(), async (page) => {
    const plan = (await page.locator("#rerun").innerText()).replace(/\s+/g, " ");
    assert.match(plan, /100 to 2,000, each step 2\.00 × the one before, 1 finer step near the break/);
    assert.match(plan, /5s, the last one 1m, and until it is steady/);
    assert.doesNotMatch(plan, /Blocks|Warm-up|Phases/);
  });
});

test("axe finds no accessibility problems, light or dark", async () => {
  for (const colorScheme of ["light", "dark"] as const) await check(ofTransfers(), async (page) => assert.deepEqual(await axeProblems(page), []), { colorScheme });
});
