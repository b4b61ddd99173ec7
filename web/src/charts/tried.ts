// What was tried: the elasticity of each perturbation with its interval, and the pairs of slices that it comes from.

import * as Plot from "@observablehq/plot";
import { counted, level, number, percent } from "../derive/format";
import { breakable } from "../dom";
import type { Elasticity, Perturbation } from "../explained";
import { terms } from "../terms";
import { figure } from "./figure";
import { draw, niceTicks, ticksFor } from "./plot";

const ROW = 58;
const PAIR_ROW = 11;
/** Wider intervals are cut: they do not decide. */
const WIDEST: readonly [number, number] = [-2, 3];

/** Throughput follows a resource where the whole interval is above this: docs/METHODOLOGY.md. */
const FOLLOWS = 0.25;

/** A narrower drawing has no room for the intervals in words: the table has them. */
const NARROW = 480;

interface Row {
  place: number;
  title: string;
  elasticity: Elasticity;
  low: number;
  high: number;
  colour: string;
  text: string;
}

const within = (value: number): number => Math.min(WIDEST[1], Math.max(WIDEST[0], value));
const bounds = ({ low, high }: Elasticity): string => `${low.toFixed(2)} to ${high.toFixed(2)}`;

/** The elasticities on one axis; nothing where none is known. */
export function elasticityChart(tried: readonly Perturbation[], variant: string, id: string): HTMLElement | null {
  const rows: Row[] = tried.flatMap(({ title, elasticity }) => {
    if (!elasticity) return [];
    const follows = elasticity.low > FOLLOWS;
    const text = `${title}: elasticity ${elasticity.value.toFixed(2)}, ${level(elasticity.confidence)} confidence interval ${bounds(elasticity)}, ${counted(elasticity.pairs, "pair")}`;
    return [{ place: 0, title, elasticity, low: within(elasticity.low), high: within(elasticity.high), colour: follows ? "var(--accent)" : "var(--muted)", text }];
  });
  if (rows.length === 0) return null;
  rows.forEach((row, place) => {
    row.place = place;
  });
  const domain = [Math.min(-0.25, ...rows.map(({ low }) => low)) - 0.1, Math.max(1.25, ...rows.map(({ high }) => high)) + 0.1] as const;
  const outline = { stroke: "var(--surface)", strokeWidth: 4 };
  return figure({
    title: [...terms`[[Elasticity]] of the throughput of `, ...breakable(variant)],
    summary: rows.map(({ text }) => text).join(". "),
    note: terms`The line is the estimate, the band its [[confidence interval]]. At 0 throughput does not depend on the resource, at 1 it is proportional to it. Coloured where the whole interval is above ${String(FOLLOWS)}: throughput follows the resource.`,
    source: "explanation.json",
    id: `elasticity-${id}`,
    table: {
      head: ["Tried", "Elasticity", "Lower bound", "Upper bound", "Confidence level", "Pairs"],
      rows: rows.map(({ title, elasticity }) => [title, elasticity.value.toFixed(2), elasticity.low.toFixed(2), elasticity.high.toFixed(2), level(elasticity.confidence), String(elasticity.pairs)]),
    },
    draw: (width) =>
      draw(width, {
        height: rows.length * ROW + 52,
        marginLeft: 12,
        marginTop: 22,
        marginBottom: 30,
        x: { domain: [...domain], axis: null },
        y: { domain: [rows.length, 0], axis: null },
        marks: [
          Plot.axisX(niceTicks(domain[0], domain[1], ticksFor(width)), { label: null, tickSize: 4 }),
          Plot.gridX(niceTicks(domain[0], domain[1], ticksFor(width)), { strokeOpacity: 0.12 }),
          Plot.ruleX([0, 1], { stroke: "var(--ink)", strokeWidth: 1.2, strokeDasharray: "3 3" }),
          Plot.text([0, 1], { x: (at: number) => at, frameAnchor: "top", dy: -16, text: (at: number) => (at === 0 ? "0 = none" : "1 = proportional"), fill: "var(--ink-soft)" }),
          Plot.rect(rows, { x1: "low", x2: "high", y1: (row: Row) => row.place + 0.52, y2: (row: Row) => row.place + 0.8, fill: "colour", fillOpacity: 0.28, rx: 6, className: "elasticity-ci" }),
          Plot.ruleX(rows, { x: (row: Row) => within(row.elasticity.value), y1: (row: Row) => row.place + 0.46, y2: (row: Row) => row.place + 0.86, stroke: "colour", strokeWidth: 4, title: "text" }),
          Plot.text(rows, { frameAnchor: "left", y: (row: Row) => row.place + 0.24, text: (row: Row) => `${row.title}   ${row.elasticity.value.toFixed(2)}${width < NARROW ? "" : ` (${bounds(row.elasticity)})`}`, textAnchor: "start", lineWidth: Math.max(10, (width - 24) / 12), textOverflow: "ellipsis", fontWeight: 600, fill: "var(--ink)", ...outline }),
        ],
      }),
  });
}

interface Pair {
  title: string;
  row: number;
  plain: number;
  perturbed: number;
  text: string;
}

/** The throughput of each plain slice and of the perturbed one beside it. */
export function pairsChart(tried: readonly Perturbation[], variant: string, id: string): HTMLElement | null {
  const rows: Pair[] = [];
  const heads: { title: string; row: number }[] = [];
  let row = 0;
  for (const { title, pairs } of tried) {
    if (pairs.length === 0) continue;
    heads.push({ title, row: row + 0.8 });
    row += 1.8;
    pairs.forEach(({ plain_per_s, perturbed_per_s, resource_left, plain_first }, at) => {
      const order = plain_first ? "plain first" : "perturbed first";
      const text = `${title}, pair ${at + 1}: ${number(plain_per_s)}/s plain, ${number(perturbed_per_s)}/s with ${percent(resource_left)} of the resource, ${order}`;
      rows.push({ title, row: (row += 1), plain: plain_per_s, perturbed: perturbed_per_s, text });
    });
    row += 0.6;
  }
  if (rows.length === 0) return null;
  const all = rows.flatMap(({ plain, perturbed }) => [plain, perturbed]);
  const high = Math.max(...all) * 1.03;
  return figure({
    title: [...terms`Pairs of [[slices|slice]] of `, ...breakable(variant)],
    summary: `${counted(rows.length, "pair")} of slices: ${tried.map(({ sentence }) => sentence).join(". ")}`,
    note: "Each line is a pair: the dot is the plain slice, the open circle the one with less of the resource beside it.",
    source: "explanation.json",
    id: `pairs-${id}`,
    table: {
      head: ["Pair", "Plain, /s", "Perturbed, /s", "Resource left", "First"],
      rows: tried.flatMap(({ title, pairs }) =>
        pairs.map(({ plain_per_s, perturbed_per_s, resource_left, plain_first }, at) => [`${title}, ${at + 1}`, number(plain_per_s), number(perturbed_per_s), percent(resource_left), plain_first ? "plain" : "perturbed"]),
      ),
    },
    draw: (width) =>
      draw(width, {
        height: (row + 1) * PAIR_ROW + 46,
        marginLeft: 12,
        marginTop: 6,
        x: { domain: [0, high], axis: null },
        y: { domain: [row + 1, 0], axis: null },
        marks: [
          Plot.axisX(niceTicks(0, high, ticksFor(width)), { label: "Operations per second", tickSize: 4 }),
          Plot.gridX(niceTicks(0, high, ticksFor(width)), { strokeOpacity: 0.12 }),
          Plot.text(heads, { frameAnchor: "left", y: "row", text: "title", textAnchor: "start", fontWeight: 600, fill: "var(--ink)", lineWidth: Math.max(10, (width - 24) / 12), textOverflow: "ellipsis" }),
          Plot.link(rows, { x1: "plain", x2: "perturbed", y1: "row", y2: "row", stroke: "var(--muted)", strokeWidth: 1.5 }),
          Plot.dot(rows, { x: "perturbed", y: "row", r: 3.5, stroke: "var(--accent)", strokeWidth: 1.5, fill: "var(--surface)" }),
          Plot.dot(rows, { x: "plain", y: "row", r: 4, fill: "var(--accent)", title: "text", className: "pair" }),
        ],
      }),
  });
}
