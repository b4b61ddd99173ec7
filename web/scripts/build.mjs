// Builds the page: src/main.ts, src/style/index.css and src/page.html become one HTML file without outside references.
// The same sources give the same bytes. `--check` compares them with the committed page instead of writing it.
import { createHash } from "node:crypto";
import { readFile, writeFile, mkdir } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { glossary } from "./glossary.mjs";

const web = join(dirname(fileURLToPath(import.meta.url)), "..");
const target = join(web, "../crates/report/assets/report.html");
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

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const html = await page();
  const name = relative(web, target);
  if (process.argv.includes("--check")) {
    const built = await readFile(target, "utf8").catch(() => "");
    if (built !== html) {
      console.error(`${name} does not match these sources: run "npm run build" and commit it`);
      process.exit(1);
    }
    console.log(`${name} matches these sources`);
  } else {
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, html);
    console.log(`${name}: ${(Buffer.byteLength(html) / 1000).toFixed(0)} kB`);
  }
}
