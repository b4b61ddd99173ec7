// Builds the page: src/main.ts, src/style/index.css and src/page.html become one HTML file without any outside
// reference. The same sources make the same bytes; `--check` compares instead of writing.
import { createHash } from "node:crypto";
import { readFile, writeFile, mkdir } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const web = join(dirname(fileURLToPath(import.meta.url)), "..");
const target = join(web, "../crates/report/assets/report.html");
/** What crates/report replaces by the run's data; it must be there exactly once. */
const PLACEHOLDER = "/*SHOWDOWN_DATA*/null";
const MOST_BYTES = 700_000;

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
  if (html.split(PLACEHOLDER).length !== 2) throw new Error(`the page must hold ${PLACEHOLDER} exactly once`);
  if (Buffer.byteLength(html) > MOST_BYTES) throw new Error(`the page has more than ${MOST_BYTES} bytes`);
  return html;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const html = await page();
  const name = relative(web, target);
  if (process.argv.includes("--check")) {
    const built = await readFile(target, "utf8").catch(() => "");
    if (built !== html) {
      console.error(`${name} is not what these sources build: run "npm run build" and commit it`);
      process.exit(1);
    }
    console.log(`${name} is what these sources build`);
  } else {
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, html);
    console.log(`${name}: ${(Buffer.byteLength(html) / 1000).toFixed(0)} kB`);
  }
}
