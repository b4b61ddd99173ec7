// Explains the terms that the other sections mark. The texts come from docs/GLOSSARY.md.

import { el, type Child } from "../dom";
import { entryId, linkedEntries } from "../terms";
import type { Section } from "./section";

/** The entries that the finished sections link to, so it must be made last. */
export function glossarySection(sections: ParentNode): Section {
  const entries = linkedEntries(sections).map((entry) => {
    const id = entryId(entry);
    return el("div", { id, tabindex: -1 }, el("dt", {}, el("dfn", {}, entry.term), synonyms(entry)), el("dd", { id: `${id}-text` }, entry.text));
  });
  return { id: "glossary", title: "Glossary", short: "Glossary", body: [el("dl", { class: "glossary" }, ...entries)] };
}

/** The other names of a term that differ from it by more than an ending. */
function synonyms({ term, aliases }: GlossaryEntry): Child {
  const names = [term, ...aliases].map((name) => name.toLowerCase().replace(/-/g, " "));
  const others = aliases.filter((_, place) => !names.slice(0, place + 1).some((before) => (names[place + 1] ?? "").startsWith(before)));
  return others.length > 0 && el("span", { class: "also" }, ` also: ${others.join(", ")}`);
}
