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

/** A table with a heading row; the first cell of each row is its heading. */
export function table(caption: string, heads: readonly string[], rows: readonly (readonly Child[])[], label?: string): HTMLElement {
  const cell = (child: Child, column: number): HTMLElement =>
    el(column === 0 ? "th" : "td", column === 0 ? { scope: "row" } : {}, child);
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
