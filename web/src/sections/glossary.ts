// Explains the terms that the other sections mark. The texts come from docs/GLOSSARY.md.

import { el } from "../dom";
import { entryId, linkedEntries } from "../terms";
import type { Section } from "./section";

/** The entries that the finished sections link to, so it must be made last. */
export function glossarySection(sections: ParentNode): Section {
  const entries = linkedEntries(sections).map((entry) => {
    const id = entryId(entry);
    return el("div", { id, tabindex: -1 }, el("dt", {}, el("dfn", {}, entry.term)), el("dd", { id: `${id}-text` }, entry.text));
  });
  return { id: "glossary", title: "Glossary", short: "Glossary", body: [el("dl", { class: "glossary" }, ...entries)] };
}
