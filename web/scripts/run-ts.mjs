// Runs a TypeScript file with Node: bundles it next to its dependencies, then imports it.
// `node scripts/run-ts.mjs FILE [ARGUMENT...]`
import { rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { compile } from "./compile.mjs";

const [file, ...rest] = process.argv.slice(2);
const folder = await compile([resolve(file)]);
const [built] = folder.files;
process.argv = [process.argv[0], file, ...rest];
try {
  await import(pathToFileURL(join(folder.path, built)).href);
} finally {
  await rm(folder.path, { recursive: true, force: true });
}
