// The frame of every chart: title, what it says, the drawing at the width there is, its numbers as a table, and the
// file that it came from.

import { h, type Child } from "../dom";

export interface Figure {
  title: string;
  /** What to see in it, in a sentence or two. */
  note?: Child;
  /** What a reader who cannot see it is told. */
  label: string;
  /** Files and fields that the numbers are from. */
  source: string;
  /** Controls above the drawing. */
  controls?: Child;
  /** Draws at a width in pixels; called again at another width and on `redraw`. */
  draw: (width: number) => Child;
  /** The numbers, made when they are asked for. */
  numbers?: () => HTMLElement;
  id?: string;
}

export interface Drawn {
  element: HTMLElement;
  redraw: () => void;
}

/** Narrower than this a chart scrolls rather than shrinks. */
const NARROWEST = 280;
/** Before the page is laid out, and where it never is. */
const USUAL = 720;

export function figure(figure: Figure): Drawn {
  const canvas = h("div", { class: "canvas", role: "img", "aria-label": figure.label });
  let width = USUAL;
  let pending = 0;
  const redraw = () => {
    pending = 0;
    canvas.replaceChildren();
    const drawn = figure.draw(Math.max(NARROWEST, width));
    canvas.append(...(Array.isArray(drawn) ? (drawn as Node[]) : [drawn as Node]));
  };
  new ResizeObserver(([entry]) => {
    const found = Math.floor(entry?.contentRect.width ?? 0);
    if (found === 0 || found === width) return;
    width = found;
    if (pending === 0) pending = requestAnimationFrame(redraw);
  }).observe(canvas);
  redraw();
  const element = h(
    "figure",
    { id: figure.id, class: "chart" },
    h("figcaption", null, h("h3", null, figure.title), figure.note && h("p", { class: "note" }, figure.note)),
    figure.controls && h("div", { class: "controls no-print" }, figure.controls),
    canvas,
    h("div", { class: "below" }, h("p", { class: "source" }, "From ", h("code", null, figure.source)), numbers(figure)),
  );
  return { element, redraw };
}

function numbers({ title, numbers }: Figure): HTMLElement | null {
  if (!numbers) return null;
  const body = h("div", null);
  const details = h(
    "details",
    {
      class: "numbers no-print",
      ontoggle: () => {
        if (details.open) body.replaceChildren(numbers());
      },
    },
    h("summary", null, "Numbers", h("span", { class: "sr" }, ` of “${title}”`)),
    body,
  );
  return details;
}

/** A row of radio buttons that look like one control. */
export function segments<T extends string>(
  legend: string,
  options: readonly (readonly [T, string])[],
  chosen: T,
  onchange: (value: T) => void,
): HTMLElement {
  const name = `s${++count}`;
  const option = ([value, label]: readonly [T, string]) =>
    h(
      "label",
      null,
      h("input", { type: "radio", name, value, checked: value === chosen, onchange: () => onchange(value) }),
      h("span", null, label),
    );
  return h("fieldset", { class: "segments" }, h("legend", null, legend), options.map(option));
}

let count = 0;
