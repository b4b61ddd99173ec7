// Takes screenshots and a PDF for a visual check: `npm run shots -- FOLDER`.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fixture, pageWith } from "../fixture/read";
import { launch, open } from "./browser";

const folder = process.argv[2];
if (!folder) throw new Error("no folder given: npm run shots -- FOLDER");
mkdirSync(folder, { recursive: true });

const browser = await launch();
for (const name of ["comparison", "sweep"] as const) {
  const html = pageWith(fixture(name));
  for (const [view, options] of [
    ["light", { viewport: { width: 1200, height: 900 } }],
    ["dark", { viewport: { width: 1200, height: 900 }, colorScheme: "dark" as const }],
    ["phone", { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2 }],
  ] as const) {
    const { page, problems, close } = await open(browser, html, options);
    await page.screenshot({ path: join(folder, `${name}-${view}.png`), fullPage: true });
    if (view === "light") await page.pdf({ path: join(folder, `${name}.pdf`), format: "A4" });
    if (problems.length > 0) console.error(name, view, problems);
    await close();
  }
}
await browser.close();
