// Makes elements. Text is always text: nothing here parses markup, because a run may come from anyone.

export type Child = Node | string | null | undefined | false | readonly Child[];
type Attribute = string | number | boolean | undefined;

/** An element with attributes (`undefined` and `false` are left out) and children. */
export function el<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Record<string, Attribute> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...flat(children));
  return element;
}

function flat(children: readonly Child[]): (Node | string)[] {
  return children.flatMap((child) => {
    if (child === null || child === undefined || child === false) return [];
    return typeof child === "string" || child instanceof Node ? [child] : flat(child);
  });
}

/** The text that a child shows. */
export function textOf(child: Child): string {
  return flat([child]).map((part) => (typeof part === "string" ? part : part.textContent)).join("");
}

/** The text with line breaks allowed inside long names such as `apache:mpm=event,sendfile=off`. */
export function breakable(text: string): Child[] {
  return text.split(/(?<=[A-Za-z\d][:,=])(?=[A-Za-z/])/).flatMap((part, at) => (at === 0 ? [part] : [el("wbr"), part]));
}

/** Text of at most this many characters stays on one line of a table. */
const SHORT = 16;
/** Longer text than this is folded: only its beginning shows. */
const LONG = 160;

/** Text of any length. Long text shows its beginning until the reader unfolds it. */
export function folding(text: string): Child {
  if (text.length <= LONG) return text;
  return el("details", { class: "long" }, el("summary", {}, `${text.slice(0, LONG - 40)}…`), text);
}

/** A table whose rows are cards on a phone, with their columns below one another or side by side: nothing is outside of the screen. */
export function stacked(caption: Child, heads: readonly Child[], rows: readonly (readonly Child[])[]): HTMLElement {
  const made = table(caption, heads, rows);
  made.classList.add("stacked");
  return made;
}

/** A table with a heading row. The first cell of each row is its heading. */
export function table(caption: Child, heads: readonly Child[], rows: readonly (readonly Child[])[], label?: string): HTMLElement {
  const cell = (child: Child, column: number): HTMLElement =>
    column === 0
      ? el("th", { scope: "row" }, child)
      : el("td", { class: typeof child === "string" && child.length <= SHORT ? "short" : undefined, "data-head": textOf(heads[column]) }, child);
  return scroller(
    label ?? textOf(caption),
    el(
      "table",
      {},
      el("caption", {}, el("span", {}, caption)),
      el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map(cell)))),
    ),
  );
}

/** A box that scrolls sideways by itself, also with the keyboard, so that the page does not. */
export function scroller(label: string, ...children: Child[]): HTMLElement {
  return el("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": label }, ...children);
}
