// Takes screenshots and PDFs for a visual check: `npm run shots -- FOLDER [REPORT.html]`. With a report of a real run it
// also writes readme.png, the picture for docs/report.png, and part-….png, the pictures for docs/START.md.

import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fixture, pageWith } from "../fixture/read";
import { launch, open } from "./browser";
import { ofTransfers } from "./variations";

const [folder, report] = process.argv.slice(2);
if (!folder) throw new Error("no folder given: npm run shots -- FOLDER [REPORT.html]");
mkdirSync(folder, { recursive: true });

const pages = report
  ? [["report", readFileSync(report, "utf8")] as const]
  : [...(["comparison", "sweep", "explanation"] as const).map((name) => [name, pageWith(fixture(name))] as const), ["transfers", pageWith(ofTransfers())] as const];
const views = [
  ["light", { viewport: { width: 1280, height: 900 } }],
  ["dark", { viewport: { width: 1280, height: 900 }, colorScheme: "dark" as const }],
  ["phone", { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2 }],
] as const;

const browser = await launch();
for (const [name, html] of pages) {
  for (const [view, options] of views) {
    const { page, problems, close } = await open(browser, html, options);
    await page.screenshot({ path: join(folder, `${name}-${view}.png`), fullPage: true });
    if (view === "light") {
      // What a reader of the README sees: the verdict, the trials and the response times.
      const height = await page.locator("#distribution, #why, #steps").first().evaluate((section) => section.getBoundingClientRect().top + scrollY - 40);
      if (report) await page.screenshot({ path: join(folder, "readme.png"), fullPage: true, clip: { x: 0, y: 0, width: 1280, height } });
      // What START explains, section by section.
      for (const section of report ? ["verdict", "trials", "validity"] : []) {
        const clip = await page.locator(`#${section}`).evaluate((part) => {
          const { left, top, width, height } = part.getBoundingClientRect();
          return { x: left - 24, y: top + scrollY - 8, width: width + 48, height: Math.min(height, 900) + 16 };
        });
        await page.screenshot({ path: join(folder, `part-${section}.png`), fullPage: true, clip });
      }
      await page.pdf({ path: join(folder, `${name}.pdf`), format: "A4" });
    }
    if (problems.length > 0) console.error(name, view, problems);
    await close();
  }
}
await browser.close();
