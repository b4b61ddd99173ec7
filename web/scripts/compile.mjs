// Compiles TypeScript for Node 20, which cannot run it: each file becomes a module in a temporary folder under
// node_modules, where its imports of packages resolve.
import { mkdir, mkdtemp } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { glossary } from "./glossary.mjs";

const web = join(dirname(fileURLToPath(import.meta.url)), "..");

/** Compiles the files and returns their folder and names. The caller removes the folder. */
export async function compile(entryPoints) {
  const parent = join(web, "node_modules/.showdown");
  await mkdir(parent, { recursive: true });
  const path = await mkdtemp(join(parent, "ts-"));
  await build({
    entryPoints,
    outdir: path,
    outbase: web,
    entryNames: "[name]",
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    packages: "external",
    sourcemap: "inline",
    define: { WEB: JSON.stringify(web) },
    plugins: [glossary],
    logLevel: "warning",
  });
  return { path, files: entryPoints.map((file) => basename(file).replace(/\.ts$/, ".mjs")) };
}
