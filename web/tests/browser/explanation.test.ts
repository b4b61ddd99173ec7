// Tests of the page of a run that explains: its sections, the search and the zoom of its flame graphs.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import type { Report } from "../../src/model";
import { fixture } from "../fixture/read";
import { axeProblems, check as checked, count, launch, open, overflow } from "./browser";
import { ATTACK, withSlowRequests } from "./variations";

let browser: Browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

const check = (report: Report, steps: (page: Page) => Promise<void>, options: Parameters<typeof open>[2] = {}): Promise<void> => checked(browser, report, steps, options);

const spaced = (text: string | null): string => (text ?? "").replace(/\u00a0/g, " ");

/** The same for one server, of which nothing is known but the load. */
function bare(): Report {
  const report = fixture("explanation");
  const [server] = report.explanation?.servers ?? [];
  if (!report.explanation || !server) throw new Error("the fixture has an explanation");
  const alone = { variant: server.variant, sentence: server.sentence, held: server.held, resources: [], suspects: [] };
  const { profiles: _, ...rest } = report;
  return { ...rest, facts: null, explanation: { ...report.explanation, servers: [alone], difference: null } };
}

/** The same with every text an attack. */
function hostile(): Report {
  const named = new Set(["variant", "sentence", "title", "text", "about", "source", "frame", "module", "what", "why", "level", "name", "unit", "rule", "missing", "a", "b", "kind", "who"]);
  const report = fixture("explanation");
  const attacked = JSON.parse(JSON.stringify(report.explanation), (key, value: unknown) => {
    if (typeof value === "string" && named.has(key)) return ATTACK;
    return ["remedies", "functions", "threads"].includes(key) && Array.isArray(value) ? [ATTACK] : value;
  }) as NonNullable<Report["explanation"]>;
  const profiles = Object.fromEntries(Object.entries(report.profiles ?? {}).map(([file, flame]) => [file, { ...flame, names: flame.names.map(() => ATTACK) }]));
  return { ...report, explanation: attacked, profiles };
}

test("an explanation begins with its sentences, and has no section of trials", async () => {
  const report = fixture("explanation");
  await check(report, async (page) => {
    const lines = await page.locator("h1 .line").allTextContents();
    assert.deepEqual(lines.map(spaced), [
      "nginx is limited by server CPUs: the server's CPUs were busy 99 % of the time",
      "What limits apache is not certain; suspected: server CPUs, because the server's CPUs were busy 87 % of the time",
      report.explanation?.difference?.sentence.replace("an", "An"),
    ]);
    const sections = await page.locator("main > section").evaluateAll((all) => all.map(({ id }) => id));
    assert.deepEqual(sections, ["verdict", "why", "why-2", "difference", "facts", "rerun", "glossary"]);
    assert.equal(await count(page, ".matrix"), 0);
    assert.match(await page.locator("#rerun .command").first().innerText(), /^showdown run .*plan\.toml/);
    assert.match(await page.locator("#rerun .command").last().innerText(), /^showdown explain nginx apache/);
    assert.doesNotMatch(await page.locator("main").innerText(), /No trial|No verdict/);
    assert.equal(await count(page, ".notice"), 0);
  });
});

test("a suspect has its word, its evidence with the source, and remedies", async () => {
  await check(fixture("explanation"), async (page) => {
    const text = spaced(await page.locator("#why .suspect").innerText()).replace(/\s+/g, " ");
    assert.match(text, /^limits server CPUs .* 99 % share of the time in which the server's CPUs were busy from \/proc\/stat What could be done: give the server more CPUs.* Rule server-cpu: Lazowska/);
    assert.match(await page.locator("#why-2 .suspect .chip").innerText(), /^suspected$/);
  });
});

test("waits within operations have who ends them, and a flame graph without those for work", async () => {
  await check(fixture("explanation"), async (page) => {
    const text = spaced(await page.locator("#why-2").innerText()).replace(/\s+/g, " ");
    assert.match(text, /All threads together wait 44 µs an operation within operations, and 562.5 µs for work/);
    assert.match(text, /Throughput while watching was 97 % of that without/);
    const table = page.locator("#why-2 table", { hasText: "Where apache waits within operations" });
    assert.match(spaced(await table.locator("tbody tr").first().innerText()), /^lock\s+30 µs\s+0.4\s+apr_thread_mutex_lock ← ap_run_log_transaction/);
    const locks = page.locator("#why-2 table", { hasText: "Locks of apache by waiting time" });
    assert.match(spaced(await locks.locator("tbody tr").innerText()), /93 % httpd: apr_thread_mutex_unlock ← ap_run_log_transaction/);
    const labels = await page.locator("#waits-why-2 .box").evaluateAll((boxes) => boxes.map((box) => box.getAttribute("aria-label") ?? ""));
    assert.ok(labels.some((label) => label.startsWith("ap_run_log_transaction")), labels.join("\n"));
    assert.ok(labels.every((label) => !label.startsWith("ap_queue_pop_something")));
    assert.match(spaced(labels[0] ?? ""), /^all threads \(thread\): 44 µs an operation, 100 % of the waits/);
    // nginx waits for no lock.
    assert.equal(await page.locator("#why table", { hasText: "Locks of nginx" }).count(), 0);
  });
});

const headings = (page: Page, section: string): Promise<string[]> => page.locator(`${section} h3`).allTextContents();

test("slow requests are shown step by step beside median ones, of the server that has them", async () => {
  await check(withSlowRequests(), async (page) => {
    assert.ok((await headings(page, "#why")).includes("Slow requests"));
    assert.ok(!(await headings(page, "#why-2")).includes("Slow requests"));
    const text = spaced(await page.locator("#why").innerText()).replace(/\s+/g, " ");
    assert.match(text, /Slow requests of nginx wait for a CPU: 5,768 of 6,428 µs\. 0\.1 % of 26,347 operations take longer than 4,100 µs; the steps of 26 are known\./);
    assert.equal(await count(page, "#waterfall-slow-why"), 1);
    assert.equal(await count(page, "#waterfall-median-why"), 1);
    assert.deepEqual(await axeProblems(page), []);
    assert.ok((await overflow(page)) <= 0);
  });
});

test("without slow requests a server has no part of them, and no gap", async () => {
  await check(fixture("explanation"), async (page) => {
    for (const section of ["#why", "#why-2"]) {
      const found = await headings(page, section);
      assert.ok(!found.includes("Slow requests") && found.at(-1) === "What could not be told", found.join(", "));
      assert.equal(await page.locator(`${section} [id^='waterfall']`).count(), 0);
      assert.doesNotMatch(await page.locator(section).innerText(), /slow request|undefined|null/i);
    }
  });
});

test("what was tried has a band for each elasticity and a mark for each pair", async () => {
  await check(fixture("explanation"), async (page) => {
    assert.equal(await count(page, "#elasticity-why .elasticity-ci rect"), 2);
    assert.equal(await count(page, "#pairs-why .pair circle"), 16);
    assert.equal(await count(page, "#pairs-why-2 .pair circle"), 8);
    await page.locator("#pairs-why .drawing [tabindex='0']").focus();
    assert.match(spaced(await page.locator(".bubble").innerText()), /pair 1: .*\/s plain, .*\/s with 80 % of the resource, plain first/);
  });
});

test("resources have their sources, and the reasons of missing figures", async () => {
  await check(fixture("explanation"), async (page) => {
    const row = page.locator("#why tbody tr", { has: page.locator("th", { hasText: /^server CPUs$/ }) });
    assert.match(spaced(await row.innerText()).replace(/\s+/g, " "), /server CPUs 7\.5 µs CPU clocks of processes 99 % \/proc\/stat 0\.4 threads/);
    assert.match(await page.locator("#why").innerText(), /configured limit[^]*the server's statistics do not name it/);
    assert.match(spaced(await page.locator("#why").innerText()), /requests\s+131,000 requests\/s/);
    assert.match(await page.locator("#why .unknown").innerText(), /hardware counters: this machine has none/);
    assert.equal(await count(page, "#why-2 .unknown"), 0);
  });
});

test("a search shows the share of the samples that match, and marks the functions", async () => {
  await check(fixture("explanation"), async (page) => {
    const flame = page.locator("#flame-why");
    assert.equal(await count(page, "#flame-why .box"), 24, "a box for each function of a path");
    assert.ok((await count(page, "#flame-why .box.kernel")) > 0 && (await count(page, "#flame-why .box.user")) > 0);
    await flame.getByRole("searchbox").fill("TCP_");
    // 210 + 70 samples of tcp_sendmsg_locked, 96 of tcp_recvmsg, of 600.
    assert.match(spaced(await flame.locator("[role=status]").innerText()), /^2 functions match: 63 % of the samples, 4\.65 µs an operation\.$/);
    assert.equal(await count(page, "#flame-why .box.found"), 2);
    await flame.getByRole("searchbox").fill("nothing has this name");
    assert.equal(await flame.locator("[role=status]").innerText(), "No function matches.");
    await flame.getByRole("searchbox").fill("");
    assert.equal(await flame.locator("[role=status]").innerText(), "");
    assert.equal(await count(page, "#flame-why .box.found, #flame-why .box.faded"), 0);
  });
});

test("a click makes a function as wide as the drawing, and buttons lead back", async () => {
  await check(fixture("explanation"), async (page) => {
    const flame = page.locator("#flame-why");
    const box = flame.locator(".box[aria-label^='ngx_http_wait_request_handler']");
    const width = async (): Promise<number> => (await box.boundingBox())?.width ?? 0;
    const before = await width();
    await box.click();
    const drawing = (await flame.locator(".flame-boxes svg").boundingBox())?.width ?? 0;
    assert.ok((await width()) > drawing - 4 && before < drawing / 2, "it is as wide as the drawing");
    assert.match(spaced(await flame.locator(".flame-detail").innerText()), /^ngx_http_wait_request_handler \(.*\): 1\.19 µs an operation, 16 % of the samples; own 0 µs, 0 %/);
    assert.equal(await count(page, "#flame-why .box"), 4 + 4, "its callers and its callees");
    await flame.getByRole("searchbox").fill("tcp_");
    assert.match(spaced(await flame.locator("[role=status]").innerText()), /100 % of the samples of ngx_http_wait_request_handler/);
    await flame.getByRole("button", { name: "Back to caller" }).click();
    assert.match(await flame.locator(".flame-detail").innerText(), /^ngx_worker_process_cycle/);
    await flame.getByRole("button", { name: "Whole profile" }).click();
    assert.equal(await count(page, "#flame-why .box"), 24);
    assert.equal(await flame.getByRole("button", { name: "Whole profile" }).isDisabled(), true);
  });
});

test("the keyboard moves in a flame graph, chooses a function and leads back", async () => {
  await check(fixture("explanation"), async (page) => {
    const focused = async (): Promise<string> => spaced(await page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? ""));
    assert.equal(await count(page, "#flame-why .flame-boxes [tabindex='0']"), 1, "the boxes are one stop of the Tab key");
    await page.locator("#flame-why .flame-boxes [tabindex='0']").focus();
    assert.match(await focused(), /^all threads: /);
    for (let step = 0; step < 4; step += 1) await page.keyboard.press("ArrowDown");
    assert.match(await focused(), /^ngx_http_process_request /);
    assert.equal(spaced(await page.locator(".bubble").innerText()), await focused());
    await page.keyboard.press("ArrowRight");
    assert.match(await focused(), /^ngx_http_wait_request_handler /);
    await page.keyboard.press("Enter");
    assert.match(await focused(), /^ngx_http_wait_request_handler /, "the function keeps the focus");
    assert.match(await page.locator("#flame-why .flame-detail").innerText(), /^ngx_http_wait_request_handler/);
    await page.keyboard.press("Home");
    assert.match(await focused(), /^all threads: /);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Escape");
    assert.match(await focused(), /^ngx_worker_process_cycle /);
    for (let step = 0; step < 4; step += 1) await page.keyboard.press("Escape");
    assert.match(await focused(), /^all threads: /);
    assert.equal(await count(page, "#flame-why .box"), 24);
  });
});

test("a tap chooses a function, whose row has room for a finger", async () => {
  await check(fixture("explanation"), async (page) => {
    const box = page.locator("#flame-why .box[aria-label^='ngx_http_process_request']");
    assert.ok(((await box.boundingBox())?.height ?? 0) >= 24);
    await box.tap();
    assert.match(await page.locator("#flame-why .flame-detail").innerText(), /^ngx_http_process_request/);
  }, { hasTouch: true, isMobile: true, viewport: { width: 400, height: 800 } });
});

test("the difference names functions of one server, and shades what is not significant", async () => {
  await check(fixture("explanation"), async (page) => {
    const row = (name: string) => page.locator("#difference > .scroller tbody tr", { has: page.locator("th", { hasText: name }) });
    assert.match(spaced(await row("malloc").innerText()).replace(/\s+/g, " "), /malloc \(libc\.so\.6\) only apache 0 .* \+.* to \+.* yes/);
    assert.equal(await row("malloc").locator(".faint").count(), 0);
    assert.match(await row("ngx_http_parse_request_line").innerText(), /only nginx/);
    const same = row("_raw_spin_unlock_irqrestore");
    assert.match(await same.innerText(), /no$/);
    assert.equal(await same.locator(".faint").count(), 6);
    assert.ok((await count(page, "#flame-difference-b .box.more")) > 0 && (await count(page, "#flame-difference-b .box.same")) > 0);
    assert.match(await page.locator("#flame-difference-b .box.more + text").first().innerHTML(), /^\+ /, "colour is not the only sign");
    await page.locator("#difference summary", { hasText: "in the stacks of nginx" }).click();
    await page.waitForSelector("#flame-difference-a .box.less");
  });
});

test("a server of which nothing is known has no empty charts", async () => {
  await check(bare(), async (page) => {
    assert.equal(await count(page, "figure"), 0);
    const sections = await page.locator("main > section").evaluateAll((all) => all.map(({ id }) => id));
    assert.deepEqual(sections, ["verdict", "why", "facts", "rerun", "glossary"]);
    assert.match(await page.locator("#why").innerText(), /No figure names a resource[^]*No resource was examined/);
  });
});

test("a run that was to explain and did not says so", async () => {
  const { explanation: _, profiles: __, ...rest } = fixture("explanation");
  await check({ ...rest, run: { ...rest.run, state: "unfinished" } }, async (page) => {
    assert.equal(await page.locator("h1").innerText(), "No explanation");
    assert.match(await page.locator("#verdict .notice").innerText(), /ended before its explanation/);
  });
});

test("an omission is named", async () => {
  const report = fixture("explanation");
  for (const flame of Object.values(report.profiles ?? {})) flame.least_samples = 3;
  await check(report, async (page) => assert.match(spaced(await page.locator("#flame-why .note").innerText()), /less than 0\.5 % of the samples are omitted/));
});

test("hostile text of an explanation stays text", async () => {
  await check(hostile(), async (page) => {
    assert.equal(await page.evaluate(() => "attacked" in window), false);
    assert.equal(await count(page, "img"), 0);
    assert.equal(await count(page, "script"), 2);
    assert.equal(await page.locator("h1 .line").first().innerText(), ATTACK);
  });
});

for (const [name, report] of [["made up", () => fixture("explanation")], ["hostile", hostile]] as const) {
  test(`the page of an explanation does not scroll sideways on a phone: ${name}`, async () => {
    await check(report(), async (page) => {
      assert.ok((await overflow(page)) <= 0);
      await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
      assert.ok((await overflow(page)) <= 0, "with everything unfolded");
    }, { viewport: { width: 360, height: 740 } });
  });
}

test("every chart of an explanation has a text alternative, and its terms an entry", async () => {
  await check(fixture("explanation"), async (page) => {
    const figures = await count(page, "figure");
    assert.ok(figures >= 8);
    assert.equal(await count(page, "figure details.as-table table"), figures);
    assert.equal(await count(page, "figure .source code"), figures);
    const ids = await page.locator("a.term").evaluateAll((all) => all.map((term) => term.getAttribute("href")?.slice(1)));
    const entries = await page.locator("#glossary dl > div").evaluateAll((all) => all.map(({ id }) => id));
    assert.deepEqual([...new Set(ids)].sort(), entries.sort());
  });
});

test("paper shows the flame graph without its controls", async () => {
  await check(fixture("explanation"), async (page) => {
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.locator("#flame-why .box").first().isVisible(), true);
    assert.equal(await page.locator("#flame-why .flame-tools").isVisible(), false);
    assert.ok((await page.pdf({ format: "A4" })).length > 10_000);
  });
});

test("axe finds no accessibility problems in an explanation, light or dark", async () => {
  for (const colorScheme of ["light", "dark"] as const) {
    await check(fixture("explanation"), async (page) => {
      await page.locator("#flame-why").getByRole("searchbox").fill("tcp");
      assert.deepEqual(await axeProblems(page), []);
    }, { colorScheme });
  }
});
