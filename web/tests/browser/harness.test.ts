// The pages of the harness in a real browser, on a real server with real runs of the archive: both programs must be built. The progress of
// a run comes from this test in place of a controller.

import assert from "node:assert/strict";
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { axeProblems, launch, overflow } from "./browser";

/** The folder web/, inserted when the test is compiled. */
declare const WEB: string;

const PROGRAMS = process.env.PROGRAMS ?? join(WEB, "../target/debug");
const SHOWDOWN = join(PROGRAMS, "showdown");
const isBuilt = existsSync(SHOWDOWN) && existsSync(join(PROGRAMS, "showdown-harness"));
if (!isBuilt) console.log(`SKIPPED: ${PROGRAMS} has not both programs: cargo build -p showdown -p harness`);
const options = { skip: !isBuilt };

const home = mkdtempSync(join(tmpdir(), "showdown-harness-"));
let server: ChildProcess;
let browser: Browser;
let context: BrowserContext;
let url = "";
let plan = "";
const problems: string[] = [];
const runs: string[] = [];

/** A call of the API, as a person or as a controller. */
async function call<T>(path: string, body?: unknown, as: "server" | "controller" = "server"): Promise<T> {
  const { token } = JSON.parse(readFileSync(join(home, `runs/.harness/${as}.json`), "utf8")) as { token: string };
  const answer = await fetch(`${url}/api/v1/${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  assert.ok(answer.ok, `${path}: ${text}`);
  return (text === "" ? null : JSON.parse(text)) as T;
}

/** A page that reports what a browser complains of, also what the policy forbids. */
async function open(path: string, own: BrowserContext = context): Promise<Page> {
  const page = await own.newPage();
  page.on("console", (message) => {
    if (message.type() !== "debug") problems.push(`${path}: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`${path}: ${String(error)}`));
  await page.goto(url + path);
  return page;
}

async function session(more: BrowserContextOptions): Promise<BrowserContext> {
  const own = await browser.newContext(more);
  const { path } = await call<{ path: string }>("links", {});
  const page = await open(path, own);
  await page.waitForURL(`${url}/`);
  await page.close();
  return own;
}

before(async () => {
  if (!isBuilt) return;
  const environment = { ...process.env, USER: "alice", TMPDIR: home };
  for (const name of ["comparison", "sweep"]) {
    const packed = join(WEB, `../crates/archive/tests/format-1/${name}.tar.gz`);
    runs.push(execFileSync(SHOWDOWN, ["import", packed], { cwd: home, encoding: "utf8" }).trim());
  }
  plan = execFileSync(SHOWDOWN, ["plan", "compare", "nginx", "apache", "--quick", "--within", "2%"], { cwd: home, encoding: "utf8" });
  server = spawn(SHOWDOWN, ["serve", "--listen", "127.0.0.1:0", "--no-controller"], { cwd: home, env: environment, stdio: ["ignore", "pipe", "inherit"] });
  const link = await new Promise<string>((found) => {
    let said = "";
    server.stdout?.on("data", (part: Buffer) => {
      said += part.toString();
      const match = /http:\S+secret=\S+/.exec(said);
      if (match) found(match[0]);
    });
  });
  url = new URL(link).origin;
  browser = await launch();
  context = await session({ viewport: { width: 1200, height: 900 } });
});

after(async () => {
  await browser?.close();
  server?.kill("SIGTERM");
  rmSync(home, { recursive: true, force: true });
});

/** Submits a plan, and takes it as a controller does. */
async function claimed(): Promise<{ id: number; token: number }> {
  const { id } = await call<{ id: number }>("entries", { plan });
  await call("controllers", { id: "c", boot: "1", name: "the test", host: "machine", version: "0", rules: "all" }, "controller");
  const answer = await call<{ work: { attempt: { token: number } } }>("claims", { controller: { id: "c", boot: "1" }, wait_s: 5 }, "controller");
  return { id, token: answer.work.attempt.token };
}

/** Tabs in the background draw no frames, by which a browser would look. */
const SOON = { polling: 100 };

let seq = 0;
const line = (event: string, fields: object): string => JSON.stringify({ format: 1, seq: ++seq, at_ms: seq * 250, unix_ms: 0, event, ...fields });

const tick = (name: string, throughput_per_s: number): string => line("tick", { name, throughput_per_s, p50_us: 400, p99_us: 2100, failed: 0 });

test("a person submits a plan, moves it, and sees why it waits", options, async () => {
  const page = await open("/entries/new");
  await page.fill("#plan", plan);
  await page.keyboard.press("Tab");
  await page.getByRole("button", { name: "Submit", exact: true }).click();
  await page.waitForURL(/entries\/\d+$/);
  assert.match((await page.textContent("main")) ?? "", /no controller asks for work/i);
  const second = await call<{ id: number }>("entries", { plan });
  await page.goto(url);
  const first = Number(/(\d+):/.exec((await page.locator(".waiting h3").first().textContent()) ?? "")?.[1]);
  assert.ok(first < second.id);
  // By keyboard alone.
  await page.locator(`#first-${second.id}`).focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction((id) => document.querySelector(".waiting h3")?.textContent?.startsWith(`${id}:`), second.id);
  for (const id of [first, second.id]) {
    await page.goto(`${url}/entries/${id}`);
    await page.getByText("Kill …").click();
    await page.locator(`#kill-${id}`).click();
    await page.waitForSelector(".state.cancelled");
  }
  await page.close();
});

test("a run is followed live in eight tabs with one stream, and a plan is run again with changes", options, async () => {
  const { id, token } = await claimed();
  const tell = (lines: string[], more: object = {}): Promise<unknown> => call(`attempts/${id}`, { token, lines, ...more }, "controller");
  await tell([line("run_begins", { run: "r", dir: "/r", trials: 14, kept: 0 }), line("trial_begins", { number: 1, block: 1, name: "nginx" }), tick("nginx", 51234)], { begins: true });
  let streams = 0;
  context.on("request", (request) => {
    if (request.url().includes("/events")) streams += 1;
  });
  const pages = [];
  for (let tab = 0; tab < 8; tab += 1) pages.push(await open(`/entries/${id}`));
  await tell([tick("apache", 47000), line("precision", { half_width: 0.041, elapsed_s: 70, within: 0.02, company: null, expected_half_width: 0.019, left_s: 240 })]);
  for (const page of pages) {
    await page.waitForFunction(() => /±4.1 %; the aim is ±2 %/.test(document.querySelector("#live-run")?.textContent ?? ""), null, SOON);
    assert.match((await page.textContent("#live-run")) ?? "", /47,000\/s/);
  }
  assert.equal(streams, 1, "the tabs share one stream");
  const [leader, follower] = pages;
  assert.ok(leader && follower);
  assert.equal(await follower.locator(".chart canvas").count(), 2);
  assert.doesNotMatch((await follower.textContent("main")) ?? "", /faster|slower|wins|better/i);
  assert.deepEqual(await axeProblems(follower), []);
  // The tab with the stream is closed: another one goes on, and nothing is lost or doubled.
  await leader.close();
  await tell([line("trial_ends", { number: 1, name: "nginx", status: "valid", value: 1, unit: "/s", reasons: [], failed_gates: [] })]);
  await follower.waitForFunction(() => document.querySelector("#live-run")?.textContent?.includes("1 of 14"), null, SOON);
  await tell([], { ends: { outcome: "failed", reason: "the test ends it" } });
  await follower.waitForFunction(() => document.querySelector("#state")?.textContent?.includes("the test ends it"), null, SOON);
  await follower.getByRole("link", { name: "Run again …" }).click();
  await follower.fill("#plan", plan.replace("blocks = ", "blocks = 1"));
  await follower.getByRole("button", { name: "Show the changed lines" }).click();
  assert.match((await follower.textContent("pre.difference")) ?? "", /− blocks = .*\n\+ blocks = 1/);
  for (const page of pages.slice(1)) await page.close();
});

test("runs are compared in the order in which they were chosen", options, async () => {
  const page = await open("/archive");
  for (const run of [...runs].reverse()) await page.getByLabel(`Choose ${run}`).check();
  await page.getByRole("button", { name: "Compare" }).click();
  const heads = await page.locator("#differ ~ .scroll thead a").allTextContents();
  assert.deepEqual(heads, [...runs].reverse());
  assert.match((await page.textContent("main")) ?? "", /90 % of all cases/);
  await page.close();
});

test("a search is saved by keyboard, opened by its link, renamed and deleted", options, async () => {
  const page = await open("/archive");
  await page.locator("#workload").focus();
  await page.keyboard.type("workloads/tls/workload.toml");
  await page.selectOption("#kind", "compare");
  await page.getByRole("button", { name: "Search" }).focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/workload=workloads/);
  assert.equal(await page.locator("tbody tr").count(), 1);
  await page.getByText("Save as a new view …").focus();
  await page.keyboard.press("Enter");
  await page.locator("#name").focus();
  await page.keyboard.type("Web & more");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Archive: Web & more" }).waitFor();
  assert.deepEqual(await axeProblems(page), []);
  await page.goto(`${url}/archive`);
  assert.equal(await page.locator("tbody tr").count(), 2);
  await page.getByRole("link", { name: "Web & more" }).click();
  assert.equal(await page.locator("tbody tr").count(), 1);
  await page.selectOption("#order", "oldest");
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByRole("button", { name: "Save this search as Web & more" }).click();
  await page.waitForURL(/order=oldest&view=/);
  await page.getByText("Rename Web & more …").click();
  await page.fill("#rename", "Web");
  await page.getByRole("button", { name: "Rename the view" }).click();
  await page.getByRole("heading", { name: "Archive: Web", exact: true }).waitFor();
  await page.getByText("Delete Web …").click();
  await page.getByRole("button", { name: "Delete the view, not its runs" }).click();
  await page.waitForURL(`${url}/archive`);
  assert.equal(await page.getByText("Saved views").count(), 0);
  await page.close();
});

test("the history of a run's series is a chart and a table", options, async () => {
  const page = await open(`/runs/${runs[0]}`);
  await page.getByRole("link", { name: "History of the series" }).click();
  await page.waitForURL(/series/);
  assert.match((await page.textContent("main")) ?? "", /No run has a value so far/);
  const row = (await page.locator("tbody tr").first().textContent()) ?? "";
  assert.match(row, /too few valid trials for a ratio\s+the first run/);
  assert.ok(row.includes(runs[0] ?? "?"));
  await page.selectOption("#of", "median of apache");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByRole("heading", { name: "median of apache" }).waitFor();
  assert.equal(await page.locator("svg.history .point").count(), 1);
  assert.deepEqual(await axeProblems(page), []);
  await page.close();
});

test("a run has notes, a report without an origin, and a way into the trash and back", options, async () => {
  const [run] = runs;
  assert.ok(run);
  const page = await open(`/runs/${run}`);
  await page.fill("#note", "<b>a note</b>");
  await page.getByRole("button", { name: "Add the note" }).click();
  await page.waitForSelector("article.note");
  assert.equal(await page.locator("article.note").first().locator("p").first().textContent(), "<b>a note</b>");
  await page.getByRole("link", { name: "Report", exact: true }).click();
  await page.waitForSelector("main h1, main h2");
  assert.equal(await page.evaluate(() => self.origin), "null");
  await page.goto(`${url}/runs/${run}`);
  await page.getByText("Delete this run …").click();
  await page.fill("#reason", "a cable was loose");
  await page.getByRole("button", { name: "Put it into the trash" }).click();
  await page.waitForURL(`${url}/trash`);
  await page.getByRole("button", { name: `Put back ${run}` }).click();
  await page.waitForURL(`${url}/runs/${run}`);
  await page.close();
});

test("an admin adds an account, and its owner logs in by keyboard alone", options, async () => {
  const page = await open("/people");
  await page.fill("#name", "bob");
  await page.selectOption("#role", "viewer");
  await page.fill("#password", "correct horse battery");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("heading", { name: "bob viewer" }).waitFor();
  await page.fill("#controller", "lab-1");
  await page.getByRole("button", { name: "Make a secret" }).click();
  assert.match((await page.getByLabel("Secret", { exact: true }).textContent()) ?? "", /^SHOWDOWN_TOKEN=[0-9a-f]{64}$/);
  assert.deepEqual(await axeProblems(page), []);
  await page.goto(`${url}/audit`);
  assert.match((await page.textContent("main")) ?? "", /add account bob: viewer/);
  await page.close();
  const own = await browser.newContext();
  const bob = await open("/login?to=/account", own);
  await bob.locator("#name").focus();
  await bob.keyboard.type("bob");
  await bob.keyboard.press("Tab");
  await bob.keyboard.type("correct horse battery");
  await bob.keyboard.press("Enter");
  await bob.waitForURL(`${url}/account`);
  await bob.getByRole("button", { name: "Make a secret" }).click();
  assert.match((await bob.getByLabel("Secret", { exact: true }).textContent()) ?? "", /^SHOWDOWN_TOKEN=/);
  assert.deepEqual(await axeProblems(bob), []);
  await bob.getByRole("button", { name: "Log out" }).click();
  await bob.waitForURL(`${url}/login`);
  await own.close();
});

/** A run on live traffic that goes on: its record, and the journal and the control socket in the state of its balancer. */
function beginShift(): { id: string; asked: Promise<void>; end: () => void } {
  const id = "20261201T101112Z-candidate-1f3a";
  const record = join(home, "runs/shift", id);
  const state = join(home, "runs/shift/state/run-haproxy-admin-sock-web");
  for (const folder of [record, state]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(record, "plan.toml"), '[candidate]\nname = "candidate"\n[control]\nname = "control"\n');
  const server = { weight: 4, up: true, requests: 50, in_progress: 2, refused: 0, reset: 0, status_5xx: 1, redispatched: 0, answered: 49, late: 1, p50_ms: 2, p99_ms: 90, counters_arrived: true, log_arrived: true };
  const second = (number: number): string =>
    `${JSON.stringify({ second: number, phase: "step 1, 1.50 % of the traffic", share: 0.015, late_log_e: number / 10, failed_log_e: 0, limit_log_e: 5.3, alarms: [], servers: [{ server: "candidate", ...server }, { server: "control", ...server }] })}\n`;
  writeFileSync(join(record, "windows.jsonl"), [1, 2, 3].map(second).join(""));
  const opened = { socket: "/run/haproxy/admin.sock", backend: "web", identity: { pid: 812, started_s: 1795993179, algorithm: "roundrobin", version: "HAProxy 2.6.12" }, weights: { old: 64 }, at_s: 1796119872 };
  const lines = [{ owner: { pid: 1, start_ticks: 0 } }, { opened }, { record }, { setting: { server: "old", weight: 64, at_s: 1796119873 } }];
  writeFileSync(join(state, "shift.journal"), lines.map((line) => `${JSON.stringify(line)}\n`).join(""), { mode: 0o600 });
  let asked: () => void = () => undefined;
  const wait = new Promise<void>((done) => (asked = done));
  const control = createServer((stream) => {
    stream.on("data", (word) => {
      assert.equal(word.toString(), "abort\n");
      stream.write("abort\n");
      stream.write("out\n");
      asked();
    });
  });
  mkdirSync(join(state, "control"), { mode: 0o755 });
  control.listen(join(state, "control", "control.sock"));
  return { id, asked: wait, end: () => control.close() };
}

test("a run on live traffic is followed, and ended by keyboard alone", options, async () => {
  const shift = beginShift();
  const page = await open("/shifts");
  await page.getByRole("link", { name: shift.id }).first().focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Live traffic: candidate" }).waitFor();
  assert.equal(await page.locator(".shift svg polyline.control").count() > 0, true);
  assert.match((await page.textContent("#live-shift")) ?? "", /web at \/run\/haproxy\/admin.sock, since 2026-12-01/);
  assert.deepEqual(await axeProblems(page), []);
  await page.getByText("Abort …").focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForURL(`${url}/shifts`);
  await shift.asked;
  await page.goto(`${url}/audit`);
  assert.match((await page.textContent("main")) ?? "", /abort on live traffic, run-haproxy-admin-sock-web: the run has taken its servers out/);
  await page.close();
  shift.end();
});

test("every page is accessible in light and dark, and fits a narrow window", options, async () => {
  const { id } = await call<{ id: number }>("entries", { plan, paused: true });
  const listed = await call<{ id: string; series: string }[]>("runs");
  await call("views", { name: "all of them", search: { tags: ["a tag"] } });
  const series = listed.map((run) => `/series/${run.series}`);
  const paths = ["/", ...series, "/archive?tag=a&tag=b&view=2", `/entries/${id}`, `/entries/${id}/again`, "/entries/new", "/archive", `/runs/${runs[0]}`, `/compare?runs=${runs.join(",")}`, "/hosts", "/shifts", "/shifts/20261201T101112Z-candidate-1f3a", "/trash", "/account", "/people", "/audit", "/login"];
  for (const colorScheme of ["light", "dark"] as const) {
    const own = await session({ colorScheme, viewport: { width: 320, height: 800 } });
    for (const path of paths) {
      const page = await open(path, own);
      assert.deepEqual(await axeProblems(page), [], `${path} in ${colorScheme}`);
      assert.ok((await overflow(page)) <= 0, `${path} is wider than 320 px`);
      await page.close();
    }
    await own.close();
  }
});

test("the console stays empty, and the policy is not broken", options, () => {
  assert.deepEqual(problems, []);
});
