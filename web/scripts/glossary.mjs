// Reads docs/GLOSSARY.md, the only source of the page's explanations, while the page and its tests are built.
// A line that looks like an entry and cannot be read stops the build. Which terms the page marks is left to src/terms.ts.
import { readFile } from "node:fs/promises";

const ENTRY = /^- <a id="(?<id>[a-z0-9-]+)"><\/a>\*\*(?<term>[^*]+)\*\*(?: \(also (?<aliases>[^)]+)\))?: (?<text>\S.*)$/;

/** The entries of the page's text, in its order: `{ id, term, aliases, text }`. */
export function parseGlossary(markdown) {
  return markdown
    .split("\n")
    .filter((line) => line.startsWith("- "))
    .map((line) => {
      const found = ENTRY.exec(line);
      if (!found) throw new Error(`docs/GLOSSARY.md: this line is not '- <a id="term"></a>**term** (also *alias*): explanation': ${line}`);
      const { id, term, aliases, text } = found.groups;
      return { id, term, aliases: [...(aliases ?? "").matchAll(/\*([^*]+)\*/g)].map(([, alias]) => alias), text: text.replace(/`/g, "") };
    });
}

/** An esbuild plugin: `import entries from "…/docs/GLOSSARY.md"` gives the entries. */
export const glossary = {
  name: "glossary",
  setup(build) {
    build.onLoad({ filter: /GLOSSARY\.md$/ }, async ({ path }) => ({
      contents: JSON.stringify(parseGlossary(await readFile(path, "utf8"))),
      loader: "json",
    }));
  },
};
