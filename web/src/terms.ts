// Terms of the glossary in the page's own text. A mark in a template literal becomes a link to the term's entry at the
// end of the page, and shows the explanation on hover and on keyboard focus. Marks are read from the literal parts only:
// text from a run never becomes a mark.

import entries from "../../docs/GLOSSARY.md";
import { explain } from "./bubble";
import { el, type Child } from "./dom";

/** `[[lag]]`, or `[[shown text|lag]]` where the text differs from the term. */
export const MARK = /\[\[([\p{L}\d ./-]+)(?:\|([\p{L}\d ./-]+))?\]\]/u;

const byName = new Map(entries.flatMap((entry) => [entry.term, ...entry.aliases].map((name) => [name.toLowerCase(), entry] as const)));

/** The entry of a term or of one of its other names. */
export function entryOf(name: string): GlossaryEntry | undefined {
  return byName.get(name.toLowerCase());
}

/** The address of an entry on the page: `term-offered-load`. */
export function entryId({ id }: GlossaryEntry): string {
  return `term-${id}`;
}

/** Text with marked terms. */
export function terms(literals: TemplateStringsArray, ...values: Child[]): Child[] {
  return literals.flatMap((literal, place) => [...marked(literal), ...(place < values.length ? [values[place]] : [])]);
}

function marked(literal: string): Child[] {
  const parts: Child[] = [];
  let rest = literal;
  for (let found = MARK.exec(rest); found; found = MARK.exec(rest)) {
    const [mark, shown = "", name = shown] = found;
    parts.push(rest.slice(0, found.index), link(shown, name));
    rest = rest.slice(found.index + mark.length);
  }
  return [...parts, rest].filter((part) => part !== "");
}

function link(shown: string, name: string): Child {
  const entry = entryOf(name);
  // A unit test finds a mark without an entry; a reader sees its text.
  if (!entry) return shown;
  const made = el("a", { class: "term", href: `#${entryId(entry)}`, "aria-describedby": `${entryId(entry)}-text` }, shown);
  explain(made, entry.text);
  return made;
}

/** Keeps the first link to each term: one explanation a section is enough. */
export function onceEach<E extends Element>(area: E): E {
  const seen = new Set<string>();
  for (const term of area.querySelectorAll<HTMLAnchorElement>("a.term")) {
    const href = term.getAttribute("href") ?? "";
    if (seen.has(href)) term.replaceWith(...term.childNodes);
    seen.add(href);
  }
  return area;
}

/** The entries that an area links to, in the glossary's order. */
export function linkedEntries(area: ParentNode): GlossaryEntry[] {
  const linked = new Set([...area.querySelectorAll("a.term")].map((term) => term.getAttribute("href")));
  return entries.filter((entry) => linked.has(`#${entryId(entry)}`));
}
