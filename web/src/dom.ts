// Elements from code. Text is always text: nothing here reads markup, for a run may have come from anyone.

export type Child = Node | string | null | undefined | false;
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
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** The text with places where a long name may be broken, as in `apache:mpm=event,sendfile=off`. */
export function breakable(text: string): Child[] {
  return text.split(/(?<=[A-Za-z\d][:,=])(?=[A-Za-z/])/).flatMap((part, at) => (at === 0 ? [part] : [el("wbr"), part]));
}

/** Text of at most so many letters stays on one line of a table. */
const SHORT = 16;
/** Text of more than so many letters is folded to its beginning. */
const LONG = 160;

/** Text of any length: long text shows its beginning until it is asked for the rest. */
export function folding(text: string): Child {
  if (text.length <= LONG) return text;
  return el("details", { class: "long" }, el("summary", {}, `${text.slice(0, LONG - 40)}…`), text);
}

/** A table with a heading row; the first cell of each row is its heading. */
export function table(caption: string, heads: readonly string[], rows: readonly (readonly Child[])[], label?: string): HTMLElement {
  const cell = (child: Child, column: number): HTMLElement =>
    column === 0 ? el("th", { scope: "row" }, child) : el("td", { class: typeof child === "string" && child.length <= SHORT ? "short" : undefined }, child);
  return scroller(
    label ?? caption,
    el(
      "table",
      {},
      el("caption", {}, caption),
      el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map(cell)))),
    ),
  );
}

/** What is wider than a phone scrolls by itself, with the keyboard too. */
export function scroller(label: string, ...children: Child[]): HTMLElement {
  return el("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": label }, ...children);
}
