// Builds the pages. That of the report: src/main.ts, src/style/index.css and src/page.html become one HTML file without outside references.
// The script and the style of the harness's pages: src/harness/main.ts and src/harness/index.css become one file each.
// The same sources give the same bytes. `--check` compares them with the committed files instead of writing them.
import { createHash } from "node:crypto";
import { readFile, writeFile, mkdir } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { glossary } from "./glossary.mjs";

const web = join(dirname(fileURLToPath(import.meta.url)), "..");
const target = join(web, "../crates/report/assets/report.html");
const harness = join(web, "../crates/harness/assets");
/** The text that crates/report replaces with the run's data. It occurs exactly once. */
const PLACEHOLDER = "/*SHOWDOWN_DATA*/null";
const MAX_BYTES = 700_000;

async function bundle(entry) {
  const { outputFiles } = await build({
    absWorkingDir: web,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: ["es2022", "chrome123", "firefox120", "safari17.5"],
    charset: "utf8",
    legalComments: "none",
    plugins: [glossary],
    logLevel: "warning",
  });
  return outputFiles[0].text.trim();
}

/** The page as text. */
export async function page() {
  const [template, script, style] = await Promise.all([
    readFile(join(web, "src/page.html"), "utf8"),
    bundle("src/main.ts"),
    bundle("src/style/index.css"),
  ]);
  const hash = createHash("sha256").update(script, "utf8").digest("base64");
  const parts = { SCRIPT_HASH: `sha256-${hash}`, STYLE: style, SCRIPT: script };
  const html = template.replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
  if (html.split(PLACEHOLDER).length !== 2) throw new Error(`the page must contain ${PLACEHOLDER} exactly once: see src/page.html`);
  if (Buffer.byteLength(html) > MAX_BYTES) throw new Error(`the page is larger than ${MAX_BYTES} bytes: shorten it, or raise MAX_BYTES`);
  return html;
}

/** All files with their text. */
async function files() {
  return new Map([
    [target, await page()],
    [join(harness, "harness.js"), `${await bundle("src/harness/main.ts")}\n`],
    [join(harness, "harness.css"), `${await bundle("src/harness/index.css")}\n`],
  ]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [file, text] of await files()) {
    const name = relative(web, file);
    if (process.argv.includes("--check")) {
      const built = await readFile(file, "utf8").catch(() => "");
      if (built !== text) {
        console.error(`${name} does not match these sources: run "npm run build" and commit it`);
        process.exit(1);
      }
      console.log(`${name} matches these sources`);
    } else {
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
      console.log(`${name}: ${(Buffer.byteLength(text) / 1000).toFixed(0)} kB`);
    }
  }
}
