// The frame of every chart: title, legend, drawing, a note on how to read it, the same figures as a table, and the file
// that they come from. Draws again when the width changes.

import { el, table, textOf, type Child } from "../dom";
import type { SeriesStyle } from "../derive/palette";
import { labelMarks } from "./marks";

export interface Figure {
  title: Child;
  /** The content in words, for a reader who cannot see the drawing. */
  summary: string;
  /** How to read it. */
  note?: Child;
  legend?: HTMLElement | undefined;
  /** Files of the run directory. */
  source: string;
  draw: (width: number) => SVGElement | HTMLElement;
  table: { head: Child[]; rows: Child[][] };
  /** The address for links and tests. */
  id?: string;
  /** Level of its heading: 2 directly under the page's heading, otherwise 3. */
  level?: 2 | 3;
}

export function figure(what: Figure): HTMLElement {
  const drawing = el("div", { class: "drawing", role: "group", "aria-label": what.summary });
  let width = 0;
  const draw = (): void => {
    const available = Math.floor(drawing.clientWidth);
    if (available === 0 || available === width) return;
    width = available;
    const chart = what.draw(available);
    labelMarks(chart);
    drawing.replaceChildren(chart);
  };
  new ResizeObserver(draw).observe(drawing);
  return el(
    "figure",
    what.id ? { id: what.id } : {},
    el("figcaption", {}, el(what.level === 2 ? "h2" : "h3", {}, what.title), what.legend),
    drawing,
    what.note ? el("p", { class: "note" }, what.note) : null,
    el(
      "div",
      { class: "under" },
      el("details", { class: "as-table" }, el("summary", {}, "Show as a table"), table(what.summary, what.table.head, what.table.rows, textOf(what.title))),
      source(what.source),
    ),
  );
}

/** The line that names the files behind the figures. */
export function source(files: string): HTMLElement {
  return el("p", { class: "source" }, "From ", el("code", {}, files));
}

/** A legend of series, each with its colour, its shape and its dash. */
export function legend(entries: readonly { name: string; style: SeriesStyle; line?: boolean }[]): HTMLElement {
  const items = entries.map(({ name, style, line }) => {
    const key = document.createElementNS(SVG, "svg");
    key.setAttribute("viewBox", "0 0 28 12");
    key.setAttribute("aria-hidden", "true");
    key.setAttribute("class", "key");
    if (line) key.append(shape("path", { d: "M0 6H28", stroke: style.colour, "stroke-width": "2.5", "stroke-dasharray": style.dash }));
    else key.append(shape("path", { d: GLYPHS[style.symbol], fill: style.colour }));
    return el("li", {}, key, name);
  });
  return el("ul", { class: "legend" }, ...items);
}

const SVG = "http://www.w3.org/2000/svg";

const GLYPHS: Record<SeriesStyle["symbol"], string> = {
  circle: "M14 1.5a4.5 4.5 0 1 1 0 9a4.5 4.5 0 1 1 0-9Z",
  square: "M10 2h8v8h-8Z",
  triangle: "M14 1l5 9h-10Z",
  diamond: "M14 0.5l4.5 5.5l-4.5 5.5l-4.5-5.5Z",
  star: "M14 0l1.6 4.2h4.4l-3.5 2.8l1.3 4.4l-3.8-2.6l-3.8 2.6l1.3-4.4l-3.5-2.8h4.4Z",
};

function shape(name: string, attributes: Record<string, string>): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}
