// Tests of the glossary: the page that the report explains its terms from, and the terms that the report marks.

import assert from "node:assert/strict";
import { test } from "node:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import entries from "../../../docs/GLOSSARY.md";
import { entryId, entryOf, MARK } from "../../src/terms";

/** The folder web/, inserted when the test is compiled. */
declare const WEB: string;

const sources = readdirSync(join(WEB, "src"), { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts") && file !== "terms.ts");

test("every term that the page marks has an entry in the glossary", () => {
  const marks = sources.flatMap((file) =>
    [...readFileSync(join(WEB, "src", file), "utf8").matchAll(new RegExp(MARK, "gu"))].map(([mark, shown, name]) => ({ file, mark, name: name ?? shown ?? "" })),
  );
  assert.ok(marks.length > 30, "the page marks terms");
  assert.deepEqual(marks.filter(({ name }) => !entryOf(name)).map(({ file, mark }) => `${file}: ${mark}`), []);
});

test("the glossary is in alphabetical order", () => {
  const names = entries.map(({ term }) => term);
  assert.deepEqual(names, [...names].sort((a, b) => a.localeCompare(b, "en", { sensitivity: "base" })));
});

test("every name in the glossary and every address on the page is unique", () => {
  const names = entries.flatMap(({ term, aliases }) => [term, ...aliases]).map((name) => name.toLowerCase());
  assert.deepEqual(names.filter((name, index) => names.indexOf(name) !== index), []);
  assert.equal(new Set(entries.map(entryId)).size, entries.length);
});

test("an anchor is the term in lower case with hyphens", () => {
  for (const { id, term } of entries) assert.equal(id, term.toLowerCase().replace(/[^a-z0-9]+/g, "-"));
});

test("an explanation has at most three short sentences", () => {
  for (const { term, text } of entries) {
    assert.match(text, /^[A-Z`].*\.$/, `${term} is explained in sentences`);
    const sentences = text.split(/(?<=[.:]) (?=[A-Z])/);
    assert.ok(sentences.length <= 3, `${term} has ${sentences.length} sentences`);
    for (const sentence of sentences) assert.ok(sentence.split(" ").length <= 32, `${term}: ${sentence}`);
  }
});
