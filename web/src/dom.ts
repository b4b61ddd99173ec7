// Elements from code. Text is always text: nothing here reads markup, for a run may have come from anyone.

export type Child = Node | string | number | null | undefined | false | Child[];
type Attributes = Record<string, unknown>;

/** An element with attributes (`on…` listens, `false` and `null` are left out) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes | null,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value as EventListener);
    else if (key === "style") setStyle(element, value as Record<string, string>);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  add(element, children);
  return element;
}

// Through the object, custom properties too: no style attribute is parsed.
function setStyle(element: HTMLElement, style: Record<string, string>): void {
  for (const [property, value] of Object.entries(style)) element.style.setProperty(property, value);
}

/** Appends children, however deep they are nested. */
export function add(parent: Node, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) add(parent, child);
    else parent.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** A table with a heading row. Cells may be elements; `numeric` columns are aligned on the right. */
export function table(
  caption: string,
  heads: string[],
  rows: Child[][],
  numeric: number[] = [],
): HTMLElement {
  const align = (column: number) => (numeric.includes(column) ? "num" : null);
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    h(
      "table",
      null,
      h("caption", { class: "sr" }, caption),
      h("thead", null, h("tr", null, heads.map((head, i) => h("th", { scope: "col", class: align(i) }, head)))),
      h(
        "tbody",
        null,
        rows.map((row) =>
          h("tr", null, row.map((cell, i) => (i === 0 ? h("th", { scope: "row" }, cell) : h("td", { class: align(i) }, cell)))),
        ),
      ),
    ),
  );
}
