// A flame graph: each function is a box below its caller, as wide as its share of the samples. A search shows the share of the
// samples that have a match; a click or Enter makes a function as wide as the drawing, and buttons lead back.

import { hideBubble, showBubble } from "../bubble";
import { callers, height, samplesWithin, search, type FlameNode } from "../derive/flame";
import { counted, percent } from "../derive/format";
import { el, type Child } from "../dom";

const SVG = "http://www.w3.org/2000/svg";
/** Narrower boxes are not drawn, pixels. */
const NARROWEST = 0.6;
/** The width of a character of a name, pixels, on the wide side. */
const CHARACTER = 6.6;
/** Shorter names than this say nothing. */
const LEAST_CHARACTERS = 3;
/** The height of a row: a finger needs more than a mouse. */
const ROW = { fine: 18, coarse: 26 };

export interface BoxLook {
  /** A class that gives the box its colours. */
  kind: string;
  /** Before the name where the colour has a meaning. */
  sign?: string;
  /** How much of its colour the box has, 0 to 1. */
  strength?: number;
}

export interface FlameChart {
  root: FlameNode;
  /** What the reader searches and moves in, for assistive technology. */
  label: string;
  /** The cost of a function in words. */
  detail: (node: FlameNode) => string;
  look: (node: FlameNode) => BoxLook;
  /** The cost of a number of samples in words. */
  cost: (samples: number) => string;
}

export interface FlameDrawing {
  element: HTMLElement;
  /** Draws for a width in pixels. */
  paint: (width: number) => HTMLElement;
}

/** The controls and the drawing. */
export function flameChart(chart: FlameChart): FlameDrawing {
  let width = 0;
  let top = chart.root;
  let found = search(chart.root, "");
  /** Where the keyboard is. */
  let current = chart.root;
  const boxes = new Map<FlameNode, SVGElement>();
  const nodes = new WeakMap<Element, FlameNode>();

  const input = el("input", { type: "search", placeholder: "Search functions", "aria-label": `Search functions of ${chart.label}`, autocomplete: "off", spellcheck: "false" });
  const back = el("button", { type: "button" }, "Back to caller");
  const whole = el("button", { type: "button" }, "Whole profile");
  const status = el("p", { class: "flame-found", role: "status" });
  const detail = el("p", { class: "flame-detail" });
  const place = el("div", { class: "flame-boxes" });
  const element = el("div", { class: "flame" }, el("div", { class: "flame-tools" }, input, back, whole), status, place, detail);

  const draw = (): void => {
    boxes.clear();
    const row = matchMedia("(pointer: coarse)").matches ? ROW.coarse : ROW.fine;
    const above = callers(top);
    const rows = above.length + height(top);
    const svg = make("svg", { viewBox: `0 0 ${width} ${rows * row}`, width, height: rows * row, role: "group", "aria-label": `Flame graph of ${chart.label}` });
    const scale = width / Math.max(1, top.samples);
    const add = (node: FlameNode, x: number, wide: number, at: number): void => {
      const [drawn, name] = box(chart, node, { x, wide, y: at * row, row, isAbove: node.depth < top.depth, isFound: found.nodes.has(node), isSearching: found.nodes.size > 0 });
      boxes.set(node, drawn);
      nodes.set(drawn, node);
      svg.append(drawn, ...(name ? [name] : []));
    };
    above.forEach((node, at) => add(node, 0, width, at));
    const left = [top];
    for (let node = left.pop(); node; node = left.pop()) {
      const wide = node.samples * scale;
      if (wide < NARROWEST) continue;
      add(node, (node.start - top.start) * scale, wide, node.depth);
      left.push(...[...node.callees].reverse());
    }
    if (!boxes.has(current)) current = top;
    boxes.get(current)?.setAttribute("tabindex", "0");
    place.replaceChildren(svg);
    detail.textContent = chart.detail(top);
    back.disabled = whole.disabled = top === chart.root;
    status.textContent = inWords();
  };

  const inWords = (): string => {
    if (input.value.trim() === "") return "";
    if (found.nodes.size === 0) return "No function matches.";
    const samples = samplesWithin(top, found);
    const where = top === chart.root ? "" : ` of ${top.name}`;
    const names = `${counted(found.names, "function")} ${found.names === 1 ? "matches" : "match"}`;
    return `${names}: ${percent(samples / Math.max(1, top.samples))} of the samples${where}, ${chart.cost(samples)}.`;
  };

  const zoom = (node: FlameNode, takesFocus: boolean): void => {
    hideBubble();
    top = current = node;
    draw();
    if (takesFocus) boxes.get(node)?.focus();
  };

  const move = (to: FlameNode | undefined): void => {
    const target = to && boxes.get(to);
    if (!to || !target) return;
    boxes.get(current)?.setAttribute("tabindex", "-1");
    current = to;
    target.setAttribute("tabindex", "0");
    target.focus();
  };

  const nodeAt = (event: Event): FlameNode | undefined => {
    const drawn = event.target instanceof Element ? event.target.closest(".box") : null;
    return drawn ? nodes.get(drawn) : undefined;
  };
  const describe = (event: Event): void => {
    const node = nodeAt(event);
    const drawn = node && boxes.get(node);
    if (node && drawn) showBubble(drawn, chart.detail(node));
  };
  place.addEventListener("pointerover", (event) => event.pointerType === "touch" || describe(event));
  place.addEventListener("pointerout", hideBubble);
  place.addEventListener("focusin", (event) => {
    const node = nodeAt(event);
    const drawn = node && boxes.get(node);
    // A click needs no bubble: the words of its box are below the drawing.
    if (node && drawn?.matches(":focus-visible")) showBubble(drawn, chart.detail(node));
  });
  place.addEventListener("focusout", hideBubble);
  place.addEventListener("click", (event) => {
    const node = nodeAt(event);
    if (node) zoom(node, false);
  });
  place.addEventListener("keydown", (event) => {
    const node = nodeAt(event);
    if (!node) return;
    const beside = (step: number): FlameNode | undefined => {
      const row = [...boxes.keys()].filter(({ depth }) => depth === node.depth).sort((a, b) => a.start - b.start);
      return row[row.indexOf(node) + step];
    };
    const steps: Record<string, () => void> = {
      ArrowUp: () => move(node.caller ?? undefined),
      ArrowDown: () => move(node.depth < top.depth ? callers(top).concat(top)[node.depth + 1] : node.callees[0]),
      ArrowLeft: () => move(beside(-1)),
      ArrowRight: () => move(beside(1)),
      Home: () => move(chart.root),
      Enter: () => zoom(node, true),
      " ": () => zoom(node, true),
      Escape: () => zoom(top.caller ?? top, true),
    };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    step();
  });
  // A button that is disabled loses the focus: it goes to the drawing.
  const leave = (to: FlameNode, button: HTMLButtonElement): void => zoom(to, to === chart.root && document.activeElement === button);
  back.addEventListener("click", () => leave(top.caller ?? top, back));
  whole.addEventListener("click", () => leave(chart.root, whole));
  input.addEventListener("input", () => {
    found = search(chart.root, input.value);
    draw();
  });

  return {
    element,
    paint: (available) => {
      width = available;
      draw();
      return element;
    },
  };
}

interface Place {
  x: number;
  y: number;
  wide: number;
  row: number;
  isAbove: boolean;
  isFound: boolean;
  isSearching: boolean;
}

/** The box and, where there is room, its name. The name is beside the box: one that is cut is no name for a listener. */
function box(chart: FlameChart, node: FlameNode, { x, y, wide, row, isAbove, isFound, isSearching }: Place): [SVGElement, SVGElement?] {
  const { kind, sign = "", strength = 1 } = chart.look(node);
  const state = `${isAbove ? " above" : ""}${isFound ? " found" : isSearching ? " faded" : ""}`;
  const made = make("g", { class: `box ${kind}${state}`, role: "button", tabindex: -1, "aria-label": chart.detail(node) });
  // The gap between two boxes keeps them apart without a line.
  made.append(make("rect", { x, y, width: Math.max(NARROWEST, wide - 1), height: row - 1, rx: 2, "fill-opacity": strength }));
  const characters = Math.floor((wide - 8) / CHARACTER);
  if (characters < LEAST_CHARACTERS) return [made];
  const name = sign + node.name;
  const text = make("text", { x: x + 4, y: y + row / 2 + 3.5, "aria-hidden": "true" });
  text.textContent = name.length > characters ? `${name.slice(0, characters - 1)}…` : name;
  return [made, text];
}

function make(name: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}

/** A legend of the classes of boxes. */
export function flameLegend(entries: readonly { kind: string; text: Child }[]): HTMLElement {
  return el("ul", { class: "legend" }, ...entries.map(({ kind, text }) => el("li", {}, el("span", { class: `flame-key ${kind}` }), text)));
}
