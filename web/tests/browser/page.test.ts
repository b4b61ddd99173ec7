// Tests of the committed page in a real browser: what a reader sees, and what the page must never do.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import type { Report } from "../../src/model";
import { fixture, pageWith, pageWithout } from "../fixture/read";
import { axeProblems, check as checked, count, launch, open, overflow } from "./browser";
import { ATTACK, empty, hostile, interrupted, long, metered, modes, ofCpuTime, ofParts, ofUsers, REPLACED, several, unfinished, withoutClientPart, withCost, withoutAnswers, withSessions } from "./variations";

let browser: Browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** Opens a run, checks it, and asserts that the page made no requests and reported no errors. */
const check = (report: Report, steps: (page: Page) => Promise<void>, options: Parameters<typeof open>[2] = {}): Promise<void> => checked(browser, report, steps, options);

test("what the client added is beside the response time of each trial that recorded it", async () => {
  const report = fixture("comparison");
  await check(report, async (page) => {
    const part = page.locator("#distribution details", { hasText: "The client's part" });
    const rows = part.locator("tbody tr");
    assert.equal(await rows.count(), report.trials.filter(({ phases }) => phases?.some(({ kind }) => kind === "measure")).length);
    assert.match((await rows.first().textContent()) ?? "", /9.µs.*31.µs.*100.%/);
  });
  await check(withoutClientPart(), async (page) => {
    assert.equal(await page.locator("#distribution details", { hasText: "The client's part" }).count(), 0);
  });
});

test("percentiles among operations that were never answered are lower bounds", async () => {
  await check(withoutAnswers(), async (page) => {
    const first = page.locator("#distribution details", { hasText: "The client's part" }).locator("tbody tr").first();
    assert.match((await first.textContent()) ?? "", /≥.1.2.s/);
    assert.match((await page.locator("#distribution figure").first().textContent()) ?? "", /Times with ≥ are lower bounds.*p99.99 ≥.1.2.s/s);
    assert.match((await page.locator("#latency figure").first().textContent()) ?? "", /≥.1.2.s/);
  });
  await check(fixture("comparison"), async (page) => {
    assert.doesNotMatch((await page.locator("#distribution").textContent()) ?? "", /≥/);
  });
});

test("a run that a look has settled says how many blocks it had, of how many", async () => {
  const report = fixture("comparison");
  const blocks = Math.max(...report.trials.map(({ block }) => block));
  assert.ok(report.plan && report.verdict);
  Object.assign(report.plan, { blocks: 2 * blocks, looks: [blocks] });
  report.verdict.settled_after_blocks = blocks;
  await check(report, async (page) => {
    const text = async (selector: string) => (await page.locator(selector).first().innerText()).replace(/\s+/g, " ");
    assert.match(await text("#verdict .basis"), new RegExp(`, in ${blocks} complete blocks of at most ${2 * blocks}\\.`));
    assert.match(await text("#rerun"), new RegExp(`${2 * blocks} \\(.* preset\\), or fewer if ${blocks} settle it`));
  });
});

test("watts have their boundaries, charts of their own, and what was lost; and only where there is a meter", async () => {
  await check(metered(), async (page) => {
    const rows = page.locator("#power > .scroller tbody tr");
    assert.equal(await rows.count(), 4);
    const first = (await rows.first().innerText()).replace(/\s+/g, " ");
    assert.match(first, /nginx rack apc-rpdu2, indicative wall 166 /);
    assert.equal(await count(page, "#power figure"), 2, "a chart for each boundary");
    assert.equal(await count(page, "#watts-wall .watts-point :is(path, circle)"), 8, "a mark for each level of each variant");
    const text = (await page.locator("#power").innerText()).replace(/\s+/g, " ");
    assert.match(text, /1\.62 × the operations of apache for each joule/);
    assert.match(text, /rack gave no watts at a level of trials 7, 8: 10\.0\.0\.9:161 does not answer\./);
    assert.equal(await count(page, "#timeline .watts"), 2, "a panel for each meter");
  });
  await check(fixture("comparison"), async (page) => assert.equal(await count(page, "#power"), 0));
});

test("costs have their intervals, boundaries and reasons, and only where there are targets", async () => {
  await check(withCost(), async (page) => {
    const rows = page.locator("#cost > .scroller tbody tr");
    const row = async (head: string) => (await rows.filter({ hasText: head }).first().innerText()).replace(/\s+/g, " ");
    assert.match(await row("Performance"), /127,000\/s 114,300–139,700/);
    assert.match(await row("Power at load"), /200 W wall estimate: typed in by hand: clamp meter 100 W nameplate estimate: the nameplate/);
    assert.match(await row("Power idle"), /118 W wall .* –$/);
    assert.match(await row("Energy cost a year, EUR"), /525\.6 525\.6$/);
    assert.match(await row("Cost of a million operations, EUR"), /0.00038 .* –$/);
    const text = (await page.locator("#cost").innerText()).replace(/\s+/g, " ");
    assert.match(text, /No total cost: target small has no price and no rate\./);
    assert.match(text, /life 4 years, at load all day, PUE 1\.50, 0\.2 EUR\/kWh/);
    assert.match((await page.locator("#published .drawing").getAttribute("aria-label")) ?? "", /\(this run\).*2006 Sun Fire T2000.*5,718\/s/);
    await page.locator("#cost > details summary").click();
    assert.match(await page.locator("#cost > details").innerText(), /2006 Sun Fire T2000.*5,718 requests\/s.*withdrawn/s);
    assert.ok((await overflow(page)) <= 0, "the page does not scroll sideways");
  });
  await check(fixture("comparison"), async (page) => {
    assert.equal(await count(page, "#cost"), 0);
  });
});

test("a run of CPU time has both modes of it, and says what it measured instead of what", async () => {
  await check(ofCpuTime(), async (page) => {
    assert.equal(await page.locator("#verdict .notice p").first().innerText(), `${REPLACED}.`);
    const rows = page.locator("#trials table", { hasText: "Between slices" }).locator("tbody tr");
    assert.equal(await rows.count(), 2);
    assert.match((await rows.first().textContent()) ?? "", /nginx.*8.25.µs.*11.[78]5?.µs.*2.5.%/);
  });
  await check(fixture("comparison"), async (page) => {
    assert.equal(await page.locator("#trials table", { hasText: "Between slices" }).count(), 0);
  });
});

test("a server of several processes has its CPU time by part", async () => {
  await check(ofParts(), async (page) => {
    const rows = page.locator("#parts tbody tr");
    assert.equal(await rows.count(), 4);
    assert.match(((await rows.first().textContent()) ?? "").replace(/\s/g, " "), /nginx.*database.*70.*%.*14.*µs.*0\.7.*120 MiB/);
  });
  await check(fixture("comparison"), async (page) => {
    assert.equal(await page.locator("#parts").count(), 0);
  });
});

test("a run with users shows their walk and their pacing beside the declared", async () => {
  await check(ofUsers(), async (page) => {
    const text = async (place: string): Promise<string> => (await page.locator(`#users ${place}`).first().innerText()).replace(/[\s\u00a0]+/g, " ");
    assert.match(await text("table tbody tr"), /^nginx 100 99\.6 4\.97 s 4\.98 s 5\.02 s 4,120$/);
    const operations = page.locator("#users table", { hasText: "Delay after it" }).first();
    assert.match((await operations.locator("tbody tr").nth(2).innerText()).replace(/[\s\u00a0]+/g, " "), /^buy 9\.9 % 10\.0 % cycle exp:5s 5\.02 s .*p90<1s missed$/);
    const matrix = page.locator("#users table", { hasText: "What came after" }).first();
    assert.match((await matrix.locator("tbody tr").first().innerText()).replace(/[\s\u00a0]+/g, " "), /^home · 58\.9 \(60\) 41\.1 \(40\)$/);
  });
  await check(fixture("comparison"), async (page) => {
    assert.equal(await page.locator("#users").count(), 0);
  });
});

test("a comparison has the verdict as its heading, and every chart has its marks", async () => {
  const report = fixture("comparison");
  await check(report, async (page) => {
    assert.equal((await page.locator("h1").innerText()).replace(/\u00a0/g, " "), report.verdict?.sentence);
    assert.equal(await count(page, "#ratio .ci rect"), 1);
    assert.equal(await count(page, "#every-trial .trial.valid path, #every-trial .trial.valid circle"), 19, "a mark for each valid trial");
    assert.equal(await count(page, "#every-trial .trial.invalid path, #every-trial .trial.invalid circle"), 1);
    assert.equal(await count(page, "#every-trial .cross path"), 1, "the invalid trial is crossed");
    assert.equal(await count(page, "#every-trial .median line"), 2);
    const phases = report.trials.filter((trial) => trial.status === "valid").flatMap((trial) => trial.phases ?? []);
    const drawn = phases.filter((phase) => ["search_step", "measure", "curve_step"].includes(phase.kind)).length;
    assert.equal(await count(page, "#latency-over-load .p99 path, #latency-over-load .p99 circle"), drawn, "a mark for each phase");
    assert.equal(await count(page, "#latency-over-load .limit line"), 1, "the SLO is a line");
    assert.equal(await count(page, "#percentiles .percentile-line path"), 2);
    assert.equal(await count(page, "#timeline .phase rect"), 4 * 4, "four panels have four bands each");
    assert.equal(await count(page, "#timeline .cpu path"), 3);
  });
});

test("every chart has a text alternative, and every section names the files of its figures", async () => {
  await check(fixture("comparison"), async (page) => {
    const figures = await count(page, "figure");
    assert.ok(figures >= 5);
    assert.equal(await count(page, "figure details table"), figures);
    assert.equal(await count(page, "figure .source code"), figures);
    for (const id of ["trials", "latency", "distribution", "time", "saturation", "validity", "fairness", "facts", "rerun"]) {
      assert.ok((await count(page, `#${id} .source`)) > 0, `${id} names its files`);
    }
  });
});

test("the verdict's own words start with a capital, and names do not change", async () => {
  const report = fixture("comparison");
  if (report.verdict) report.verdict.sentence = "inconclusive: no valid trials to compare";
  await check(report, async (page) => assert.match(await page.locator("h1").innerText(), /^Inconclusive: /));
});

test("a long name breaks between its parts, and its text does not change", async () => {
  const report = fixture("comparison");
  const sentence = "apache:max_request_workers=64,mpm=prefork does 1,024.5 × nginx's throughput";
  if (report.verdict) report.verdict.sentence = sentence;
  await check(report, async (page) => {
    const parts = await page.locator("h1").evaluate((h1) => [...h1.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.textContent));
    assert.deepEqual(parts.slice(0, 3), ["apache:", "max_request_workers=64,", "mpm="]);
    assert.equal((await page.locator("h1").textContent())?.replace(/\u00a0/g, " "), sentence);
  });
});

test("the matrix of gates has one failure among two hundred cells, with its message", async () => {
  await check(fixture("comparison"), async (page) => {
    assert.equal(await count(page, ".matrix td"), 200);
    assert.equal(await count(page, ".matrix td.failed"), 1);
    assert.match(await page.locator(".matrix td.failed .sign").getAttribute("aria-label") ?? "", /Trial 7, steal failed.*hypervisor/);
    assert.match(await page.locator(".failures").innerText(), /steal.*at most 2/);
  });
});

test("apples-to-oranges differences come first", async () => {
  await check(fixture("comparison"), async (page) => {
    assert.match(await page.locator("#fairness tbody tr").first().innerText(), /allocator\s+apples to oranges/);
    assert.match(await page.locator("#fairness .serious").innerText(), /Apples to oranges: .*allocator/);
  });
});

test("the keyboard chooses a trial", async () => {
  await check(fixture("comparison"), async (page) => {
    await page.locator("#trial-choice").focus();
    await page.keyboard.press("ArrowDown");
    assert.match(await page.locator("#timeline h3").innerText(), /^Trial 2: nginx/);
    await page.getByRole("button", { name: "Next trial" }).focus();
    await page.keyboard.press("Enter");
    assert.match(await page.locator("#timeline h3").innerText(), /^Trial 3/);
  });
});

test("the keyboard moves between marks, reads the reason of an invalid trial, and opens that trial", async () => {
  await check(fixture("comparison"), async (page) => {
    assert.equal(await count(page, "#every-trial .drawing [tabindex='0']"), 1, "a chart is one stop of the Tab key");
    await page.locator("#every-trial .drawing [tabindex='0']").focus();
    await page.keyboard.press("End");
    const label = await page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
    assert.match(label ?? "", /Trial 7, apache.*invalid: .*hypervisor/);
    assert.equal(await page.locator(".bubble").innerText(), label);
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector("#timeline h3")?.textContent?.startsWith("Trial 7"));
    assert.match(await page.locator("#time .notice").innerText(), /invalid/);
  });
});

test("colours are dark where the system is dark or the reader chooses dark", async () => {
  const ground = (page: Page): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await check(fixture("comparison"), async (page) => assert.equal(await ground(page), "rgb(16, 19, 23)"), { colorScheme: "dark" });
  await check(fixture("comparison"), async (page) => {
    assert.equal(await ground(page), "rgb(247, 247, 245)");
    await page.getByRole("button", { name: "Use dark colours" }).click();
    assert.equal(await ground(page), "rgb(16, 19, 23)");
    await page.reload();
    assert.equal(await ground(page), "rgb(16, 19, 23)", "the choice is stored");
  });
});

for (const [name, report] of [["a comparison", () => fixture("comparison")], ["a sweep", () => fixture("sweep")], ["hostile text", hostile], ["two hundred trials", long]] as const) {
  test(`on a phone's width the page does not scroll sideways: ${name}`, async () => {
    await check(report(), async (page) => {
      assert.ok((await overflow(page)) <= 0);
      await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
      assert.ok((await overflow(page)) <= 0, "with everything unfolded");
    }, { viewport: { width: 360, height: 740 } });
  });
}

test("hostile text stays text", async () => {
  await check(hostile(), async (page) => {
    assert.equal(await page.locator("h1").innerText(), ATTACK);
    assert.equal(await page.evaluate(() => "attacked" in window), false);
    assert.equal(await count(page, "img"), 0);
    assert.equal(await count(page, "script"), 2);
  });
});

test("the page's security policy blocks foreign scripts and the network", async () => {
  const opened = await open(browser, pageWith(fixture("comparison")));
  const { page } = opened;
  await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.attacked = true";
    document.body.append(script);
    const image = new Image();
    image.src = "http://127.0.0.1:9/x.png";
    document.body.append(image);
  });
  assert.equal(await page.evaluate(() => "attacked" in window), false);
  assert.ok(opened.problems.some((text) => text.includes("Content Security Policy")));
  await opened.close();
});

test("a run that was interrupted names the command that resumes it", async () => {
  for (const report of [interrupted(), unfinished()]) {
    await check(report, async (page) => {
      const notice = await page.locator("#verdict .notice").innerText();
      assert.ok(notice.includes(`showdown resume ${report.run.id}`), notice);
    });
  }
});

test("an interrupted run shows what was measured", async () => {
  await check(unfinished(), async (page) => {
    assert.equal(await page.locator("h1").innerText(), "No verdict");
    assert.match(await page.locator("#verdict .notice").innerText(), /ended before its verdict[^]*trials\/004-nginx\/trial.json/);
    assert.equal(await count(page, "#every-trial .trial.valid path, #every-trial .trial.valid circle"), 2);
    assert.match(await page.locator("#trials").innerText(), /No value: trial 3 \(apache, failed\)/);
    assert.match(await page.locator("#validity").innerText(), /apache died: see server.log – trial 3\sapache/);
    assert.match(await page.locator("#facts").innerText(), /recorded no facts/);
    assert.equal(await count(page, "#percentiles .percentile-line path"), 2);
  });
});

test("a run without trials opens", async () => {
  for (const plan of [true, false]) await check(empty(plan), async (page) => assert.equal(await count(page, "main section"), 7, "without those that would be empty"));
});

test("a page without a run says how to make a report", async () => {
  const opened = await open(browser, pageWithout());
  assert.equal(await opened.page.locator("h1").innerText(), "This page contains no run");
  assert.deepEqual([opened.requests, opened.problems], [[], []]);
  await opened.close();
});

test("a sweep shows its points, the fitted law and the law's parameters", async () => {
  await check(fixture("sweep"), async (page) => {
    assert.equal(await count(page, "#sweep .sweep-point path, #sweep .sweep-point circle"), 22);
    assert.equal(await count(page, "#sweep .law path"), 2);
    assert.match(await page.locator("#sweep table").last().innerText(), /threads=1[^]*threads=2/);
    assert.equal(await count(page, "#every-trial .trial path, #every-trial .trial circle"), 66);
  });
});

test("a sweep of several variants has its ratios below the curves, on a readable axis", async () => {
  await check(several(), async (page) => {
    const sections = await page.locator("main > section").evaluateAll((all) => all.map(({ id }) => id));
    assert.deepEqual(sections.slice(0, 3), ["verdict", "sweep", "comparisons"]);
    assert.equal(await count(page, "#verdict figure"), 0);
    assert.equal(await count(page, "#ratio .ci rect"), 3);
    const ticks = await page.locator("#ratio g[font-variant='tabular-nums'] text").evaluateAll((all) => all.map((text) => text.getBoundingClientRect()).map(({ left, right }) => ({ left, right })));
    assert.ok(ticks.length > 2);
    ticks.sort((a, b) => a.left - b.left).reduce((before, after) => {
      assert.ok(before.right < after.left, "no label overlaps the next");
      return after;
    });
  });
});

test("counters of the driver are listed per second and per hour", async () => {
  const report = fixture("comparison");
  const [first] = report.verdict?.variants ?? [];
  if (first) first.counters_per_s = { messages: 651, "refused 451": 0.5 };
  await check(report, async (page) => assert.match(await page.locator("#trials details table").last().innerText(), /messages\s+651\s+2,343,600[^]*refused 451\s+0\.5\s+1,800/));
});

test("a law that was not fitted has its reason", async () => {
  const report = fixture("sweep");
  for (const curve of report.verdict?.curves ?? []) curve.usl = { outcome: "refused", reason: { kind: "too_few_loads", loads: 3, needed: 6 } };
  await check(report, async (page) => {
    assert.equal(await count(page, "#sweep .law path"), 0);
    assert.match(await page.locator("#sweep").innerText(), /3 different loads are too few/);
  });
});

test("a comparison says what probably limited each server, and how to find out", async () => {
  const report = fixture("comparison");
  await check(report, async (page) => {
    const limits = page.locator("#limits");
    assert.deepEqual(await limits.locator("h3").allTextContents(), report.explanation?.servers.map(({ variant }) => variant));
    const words = (await limits.textContent())?.replace(/\u00a0/g, " ") ?? "";
    for (const { sentence } of report.explanation?.servers ?? []) assert.ok(words.toLowerCase().includes(sentence.toLowerCase()), sentence);
    assert.ok(words.includes(`showdown explain ${report.run.id}`), words);
    assert.equal(await limits.locator(".chip", { hasText: "suspected" }).count(), 1);
    assert.equal(await page.locator("#why").count(), 0);
  });
});

test("a verdict that is a bound says which trials it uses besides, and a closed loop is no offered load", async () => {
  const report = fixture("comparison");
  const [found] = report.verdict?.comparisons ?? [];
  if (found) [found.estimate, found.verdict] = [null, { outcome: "difference" }];
  for (const phase of report.trials.flatMap((trial) => trial.phases ?? [])) phase.offered_per_s = null;
  await check(report, async (page) => {
    assert.match(await page.locator("#validity").innerText(), /as the least that their servers carried/);
    assert.equal(await count(page, "#latency"), 0);
  });
});

test("what is refused in this run, and what is only noted, is a table below the gates", async () => {
  const report = fixture("comparison");
  if (report.verdict) {
    report.verdict.refusals = [
      { gate: "client", limit: "a rule of the client is broken", why: "a saturated client measures itself", when: "always" },
      { gate: "others", limit: "other programs use more than 2 % of the CPUs", why: "a server alone meets them", when: "never" },
    ];
  }
  await check(report, async (page) => {
    const details = page.locator("#validity details", { hasText: "What makes a trial invalid, and why" });
    await details.locator("summary").click();
    const rows = (await details.locator("tbody tr").allInnerTexts()).map((row) => row.replace(/\s+/g, " "));
    assert.match(rows[0] ?? "", /^client .* invalid /);
    assert.match(rows[1] ?? "", /^others .* noted: it meets all servers of the block alike/);
  });
});

test("two modes have a notice, and each comparison has its band", async () => {
  await check(modes(), async (page) => {
    assert.match(await page.locator("#trials .notice").innerText(), /apache has 2 modes/);
    assert.equal(await count(page, "#every-trial .mode line"), 2);
    assert.equal(await count(page, "#ratio .ci rect"), 2);
    assert.match(await page.locator("#verdict .sentences").innerText(), /inconclusive/);
    assert.equal(await page.locator("#percentiles .note").innerText().then((text) => text.includes("merged")), true);
  });
});

test("both ratios, the bound of the method and other sessions are below the verdict", async () => {
  await check(withSessions(), async (page) => {
    assert.match(await page.locator("h1").innerText(), /^Alike in most starts/);
    const lines = (await page.locator("#verdict .estimands li").allInnerTexts()).map((line) => line.replace(/\s+/g, " "));
    assert.match(lines[0] ?? "", /^nginx \/ apache: typical ratio [\d.]+ \(.*\), ratio of means 1\.411 \(1\.301–1\.521\)\.$/);
    assert.match(lines[1] ?? "", /^Method: up to 4.*%, which is in no interval \(in turns or alone 4.*%\)\.$/);
    assert.deepEqual(lines.slice(2), [
      "nginx / apache, capacity: 1.400 over 2 sessions.",
      "Session 20261121T005139Z-a-7f3a on 1 CPU of an AMD EPYC 7B13, 21 November.",
      "Session 20261128T005139Z-a-7f3b.",
      "Session 20261129T005139Z-a-7f3c is left out: it has no verdict.",
    ]);
    assert.equal((await page.locator("#verdict .basis").allInnerTexts()).some((text) => text.includes("Alike")), false, "the sentence stands once");
  });
  await check(fixture("comparison"), async (page) => assert.equal(await count(page, "#verdict .estimands"), 0));
});

test("the only ratio of several comparisons has its name", async () => {
  const report = modes();
  report.verdict?.comparisons.splice(1, 1);
  await check(report, async (page) => {
    assert.equal(await count(page, "#ratio .ci rect"), 1);
    assert.equal(await page.locator("#ratio svg text", { hasText: "nginx ÷ apache" }).count(), 1);
  });
});

test("two hundred trials have a mark and a column each", async () => {
  await check(long(), async (page) => {
    assert.equal(await count(page, "#every-trial .trial path, #every-trial .trial circle"), 200);
    assert.equal(await count(page, ".matrix thead th"), 201);
  });
});

test("a marked term shows its explanation to the keyboard and leads to its entry", async () => {
  await check(fixture("comparison"), async (page) => {
    const term = page.locator("#validity a.term").first();
    const entry = page.locator(await term.getAttribute("href") ?? "");
    await term.focus();
    assert.equal(await page.locator(".bubble").innerText(), await entry.locator("dd").innerText());
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(".bubble").isVisible(), false, "Escape hides the explanation");
    await page.keyboard.press("Enter");
    assert.equal(await entry.evaluate((element) => element.matches(":target")), true);
  });
});

test("the first tap on a term shows its explanation, and the second leads to its entry", async () => {
  await check(fixture("comparison"), async (page) => {
    const term = page.locator("#validity a.term").first();
    await term.tap();
    assert.equal(await page.locator(".bubble").isVisible(), true);
    assert.equal(await page.evaluate(() => location.hash), "");
    await term.tap();
    assert.equal(await page.evaluate(() => location.hash), await term.getAttribute("href"));
  }, { hasTouch: true });
});

test("the glossary lists the marked terms and no others, also on paper", async () => {
  for (const report of [fixture("comparison"), fixture("sweep"), unfinished(), empty(false)]) {
    await check(report, async (page) => {
      const ids = await page.locator("a.term").evaluateAll((all) => all.map((term) => term.getAttribute("href")?.slice(1)));
      const entries = await page.locator("#glossary dl > div").evaluateAll((all) => all.map(({ id }) => id));
      assert.deepEqual([...new Set(ids)].sort(), entries.sort());
      await page.emulateMedia({ media: "print" });
      assert.equal(await page.locator("#glossary dd").first().isVisible(), true);
    });
  }
});

test("a section marks each term once", async () => {
  await check(fixture("comparison"), async (page) => {
    const links = await page.locator("main > section").evaluateAll((all) => all.map((section) => [...section.querySelectorAll("a.term")].map((term) => term.getAttribute("href"))));
    for (const section of links) assert.equal(new Set(section).size, section.length);
  });
});

test("paper shows every section and no controls", async () => {
  await check(fixture("comparison"), async (page) => {
    await page.emulateMedia({ media: "print" });
    for (const selector of [".top", ".chooser button", "figure .as-table"]) assert.equal(await page.locator(selector).first().isVisible(), false, selector);
    assert.equal(await count(page, "main section"), 12);
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    assert.equal(await page.locator("#facts .config pre").first().isVisible(), true, "configurations are unfolded");
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    assert.equal(await page.locator("#facts .config pre").first().isVisible(), false, "configurations are folded again");
    assert.ok((await page.pdf({ format: "A4" })).length > 10_000);
    assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector("h1") as Element).color), "rgb(27, 31, 36)", "the text is dark on white");
  }, { colorScheme: "dark" });
});

test("axe finds no accessibility problems, light or dark", async () => {
  for (const colorScheme of ["light", "dark"] as const) {
    for (const report of [fixture("comparison"), fixture("sweep"), unfinished()]) {
      await check(report, async (page) => {
        assert.deepEqual(await axeProblems(page), []);
      }, { colorScheme });
    }
  }
});

test("what the menu links to begins below the menu, however many lines it takes", async () => {
  for (const width of [1000, 770, 375]) {
    await check(fixture("comparison"), async (page) => {
      await page.locator(".top a", { hasText: "Resources" }).first().click();
      const [menu, heading] = await Promise.all([".top", "section:target h2"].map((selector) => page.locator(selector).boundingBox()));
      assert.ok(menu && heading && heading.y >= menu.y + menu.height, `${JSON.stringify({ width, menu, heading })}`);
    }, { viewport: { width, height: 600 } });
  }
});
