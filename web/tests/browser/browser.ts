// Opens a page in a real browser, Debian's chromium, from a file as a reader does. Records its requests, and its errors and
// warnings.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Report } from "../../src/model";
import { pageWith } from "../fixture/read";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";

/** The folder web/, inserted when the test is compiled. */
declare const WEB: string;

const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium";

export interface Opened {
  page: Page;
  /** Requests for anything but the file itself. */
  requests: string[];
  /** Errors and warnings of the console, and exceptions. */
  problems: string[];
  close: () => Promise<void>;
}

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: EXECUTABLE, args: ["--no-sandbox"] });
}

/** Opens a page and waits until its charts are drawn. */
export async function open(browser: Browser, html: string, options: BrowserContextOptions = {}): Promise<Opened> {
  const folder = mkdtempSync(join(tmpdir(), "showdown-page-"));
  const file = join(folder, "report.html");
  writeFileSync(file, html);
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const page = await context.newPage();
  const address = pathToFileURL(file).href;
  const requests: string[] = [];
  const problems: string[] = [];
  page.on("request", (request) => {
    const url = request.url();
    if (url !== address && !url.startsWith("data:")) requests.push(url);
  });
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(String(error)));
  await page.goto(address);
  await page.waitForSelector("main");
  // Charts are drawn when their width is known, in the first frame after layout.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const close = async (): Promise<void> => {
    await context.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { page, requests, problems, close };
}

/** Opens a run, checks it, and asserts that the page made no requests and reported no errors. */
export async function check(browser: Browser, report: Report, steps: (page: Page) => Promise<void>, options: BrowserContextOptions = {}): Promise<void> {
  const opened = await open(browser, pageWith(report), options);
  try {
    await steps(opened.page);
    assert.deepEqual(opened.requests, [], "the page makes no requests");
    assert.deepEqual(opened.problems, [], "the page reports no errors");
  } finally {
    await opened.close();
  }
}

/** What axe finds on a page. */
export async function axeProblems(page: Page): Promise<string[]> {
  await page.evaluate(readFileSync(join(WEB, "node_modules/axe-core/axe.min.js"), "utf8"));
  return page.evaluate(async () => {
    const { violations } = await (window as unknown as { axe: { run: () => Promise<{ violations: { id: string; nodes: { target: unknown }[] }[] }> } }).axe.run();
    return violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => String(node.target)).join(" | ")}`);
  });
}

/** How many elements match. */
export const count = (page: Page, selector: string): Promise<number> => page.locator(selector).count();

/** How many pixels the page is wider than the window. */
export const overflow = (page: Page): Promise<number> => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
