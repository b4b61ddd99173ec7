// Tests of the section of a search for tunings: what was kept, what was not and why, and what to take home.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import type { Report } from "../../src/model";
import type { TriedTuning, TuningRecord } from "../../src/tuned";
import { fixture, pageWith } from "../fixture/read";
import { axeProblems, check as checked, count, launch, open, overflow } from "./browser";
import { ATTACK } from "./variations";

let browser: Browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

const check = (report: Report, steps: (page: Page) => Promise<void>, options: Parameters<typeof open>[2] = {}): Promise<void> => checked(browser, report, steps, options);

const ratio = (middle: number, blocks = 10) => ({ ratio: middle, low: middle * 0.98, high: middle * 1.02, blocks });

const allocator: TriedTuning = {
  tuning: "allocator",
  title: "Another memory allocator",
  settings: { allocator: "jemalloc" },
  outcome: "kept",
  why: "it gains 1.12 × with the others",
  screened: 1.131,
  blocks: 9,
  own: ratio(1.12),
  mechanism: { figure: "server.cpu_per_op", ratio: 0.89, moved: true },
};

const RECORD: TuningRecord = {
  sentence: "mariadb does 1.42 × (1.36–1.49) its default with 2 of 31 tunings",
  equal_sentence: "Two equal servers: 1.003 × (0.995–1.011) in 6 blocks.",
  headline: ratio(1.42),
  before_after: [
    { what: "throughput", unit: "/s", before: 10_000, after: 14_200, ratio: ratio(1.42) },
    { what: "memory", unit: "B", before: 5e8, after: 6e8, ratio: null },
  ],
  tried: [
    { ...allocator, tuning: "mariadb-spin-loops", outcome: "refused", why: "mariadbd ends: unknown variable", screened: null, blocks: 0, own: null, mechanism: null },
    { ...allocator, tuning: "mariadb-io-capacity", outcome: "dropped", why: "it cannot gain 1 %", own: null, mechanism: null },
    allocator,
  ],
  weaker: [{ ...allocator, tuning: "mariadb-flush-at-commit", outcome: "dropped", why: "a crash loses the last second", own: ratio(3.1) }],
  not_tried: [{ tuning: "kernel-rps", title: "Spread packets", why: "its evidence is not there: interrupts take 2 % of a CPU" }],
  steps: [
    { name: "equal servers", run: "a", learnt: "two equal servers differ by 0.3 %" },
    { name: "confirmation", run: "", learnt: "the stack does 1.42 ×" },
  ],
  take_home: [{ file: "mariadb.cnf", lines: ["LD_PRELOAD=libjemalloc.so.2"] }],
  ended: null,
};

const tuned = (record: TuningRecord = RECORD): Report => ({ ...fixture("comparison"), tuning: record });

const text = async (page: Page): Promise<string> => (await page.locator("#tuning").innerText()).replace(/\s+/g, " ");

test("the answer is first, and each tuning has what became of it, the kept ones first", async () => {
  await check(tuned(), async (page) => {
    assert.match(await text(page), /^What made it faster mariadb does 1\.42 × .* its default with 2 of 31 tunings\./);
    const outcomes = await page.locator("#tuning table", { hasText: "mariadb-io-capacity" }).locator("tbody tr").allInnerTexts();
    assert.deepEqual(outcomes.map((row) => /kept|dropped|refused/.exec(row)?.[0]), ["kept", "dropped", "refused"]);
    assert.match(await text(page), /never kept.*mariadb-flush-at-commit.*a crash loses the last second/);
    assert.match(await text(page), /allocator=jemalloc kept 1\.131 × in 9 blocks 1\.120 ×/);
    assert.match(await text(page), /Take home: mariadb\.cnf LD_PRELOAD=libjemalloc\.so\.2/);
    await page.locator("#tuning details", { hasText: "Not tried (1)" }).locator("summary").click();
    assert.match(await text(page), /kernel-rps.*its evidence is not there/);
  });
  await check(fixture("comparison"), async (page) => assert.equal(await count(page, "#tuning"), 0));
});

test("a search that keeps nothing says so, and why it ended early", async () => {
  const nothing = { ...RECORD, headline: null, before_after: [], tried: [], weaker: [], take_home: [], not_tried: [], equal_sentence: "", ended: "no room is left" };
  await check(tuned({ ...nothing, sentence: "nothing was found that makes nginx faster" }), async (page) => {
    assert.match(await text(page), /^What was tried .*Nothing is kept\..*The search ended early: no room is left\./);
    assert.equal(await count(page, "#tuning table"), 0);
  });
});

test("texts of a server are text, also in a narrow window and in the dark", async () => {
  const attacked = JSON.parse(JSON.stringify(RECORD), (key, value: unknown) => (typeof value === "string" && !["outcome", "unit"].includes(key) ? ATTACK : value)) as TuningRecord;
  const narrow = { viewport: { width: 375, height: 800 }, colorScheme: "dark" as const };
  for (const record of [RECORD, attacked]) {
    await check(tuned(record), async (page) => {
      await page.locator("#tuning details").evaluateAll((all) => all.forEach((one) => ((one as HTMLDetailsElement).open = true)));
      assert.ok((await overflow(page)) <= 0, "the page does not scroll sideways");
    }, narrow);
  }
  const opened = await open(browser, pageWith(tuned()), narrow);
  assert.deepEqual(await axeProblems(opened.page), []);
  await opened.close();
});
