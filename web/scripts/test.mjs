// Runs the tests of a folder with Node's own test runner: `node scripts/test.mjs tests/unit`.
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { compile } from "./compile.mjs";

/** A test that waits for something that never comes fails. */
const LONGEST_MS = 300_000;

const folder = resolve(process.argv[2]);
const tests = readdirSync(folder).filter((name) => name.endsWith(".test.ts")).sort();
const built = await compile(tests.map((name) => join(folder, name)));
const run = spawnSync(
  process.execPath,
  ["--enable-source-maps", "--test", `--test-timeout=${LONGEST_MS}`, ...built.files.map((name) => join(built.path, name))],
  { stdio: "inherit" },
);
rmSync(built.path, { recursive: true, force: true });
process.exit(run.status ?? 1);
