// The ratio of each comparison with its confidence interval on an axis where 1 is marked: no difference.

import * as Plot from "@observablehq/plot";
import { percent, ratio } from "../derive/format";
import { pointText } from "../derive/cells";
import type { Comparison, RatioEstimate } from "../model";
import { figure } from "./figure";
import { draw, logAxis, logTicks, niceTicks, thinned, ticksFor } from "./plot";

interface Row extends RatioEstimate {
  name: string;
  place: number;
  colour: string;
  text: string;
}

const ROW = 64;

/** Evenly spaced numbers crowd at the high end of a logarithmic axis that is wide. */
const WIDE = 3;

function ratioTicks([low, high]: readonly [number, number], room: number): number[] {
  return high / low < WIDE ? niceTicks(low, high, room) : thinned(logTicks(low, high), room);
}

const bound = (value: number): string => ratio(value).replace(/\s*×$/, "");

export function ratioChart(comparisons: readonly Comparison[], higherIsBetter: boolean, level: 2 | 3): HTMLElement | null {
  const rows: Row[] = comparisons.flatMap((comparison, place) => {
    const estimate = comparison.estimate;
    if (!estimate) return [];
    const at = pointText(comparison.point);
    const name = `${comparison.a} ÷ ${comparison.b}${at ? ` · ${at}` : ""}`;
    const shown = comparison.verdict.verdict === "difference";
    const colour = shown ? "var(--accent)" : "var(--muted)";
    const text = `${name}: ${ratio(estimate.ratio)}, ${percent(estimate.confidence)} interval ${ratio(estimate.low)} to ${ratio(estimate.high)}, ${estimate.blocks} blocks`;
    return [{ ...estimate, name, place, colour, text }];
  });
  if (rows.length === 0) return null;
  rows.forEach((row, place) => {
    row.place = place;
  });
  const low = Math.min(1, ...rows.map((row) => row.low));
  const high = Math.max(1, ...rows.map((row) => row.high));
  const room = Math.max(1.02, high / low) ** 0.12;
  const domain: [number, number] = [low / room, high * room];
  const ticksAt = (width: number): number[] => ratioTicks(domain, ticksFor(width));
  // A number may lie on the line of no difference: it is written on a ground of its own.
  const ground = { stroke: "var(--surface)", strokeWidth: 4 };
  const end = { y: (row: Row) => row.place + 0.64, fill: "var(--ink-soft)", fontSize: 12, ...ground };
  const words = { y: (row: Row) => row.place + 0.24, fontWeight: 650, fill: "var(--ink)", ...ground };
  return figure({
    title: rows.length === 1 ? "The ratio and its interval" : "The ratios and their intervals",
    summary: rows.map((row) => row.text).join(". "),
    note: `The bar is where the true ratio lies, as far as these blocks can tell; at 1 the two are equal. ${higherIsBetter ? "More is better" : "Less is better"}.`,
    source: "verdict.json",
    id: "ratio",
    level,
    table: {
      head: ["Comparison", "Ratio", "Low", "High", "Confidence", "Blocks", "Method"],
      rows: rows.map((row) => [
        row.name,
        ratio(row.ratio),
        ratio(row.low),
        ratio(row.high),
        percent(row.confidence),
        String(row.blocks),
        row.method === "student_t" ? "Student's t of log ratios" : "Hodges–Lehmann, Wilcoxon signed rank",
      ]),
    },
    draw: (width) =>
      draw(width, {
        height: rows.length * ROW + 56,
        marginLeft: 16,
        marginTop: 24,
        marginBottom: 32,
        x: { type: "log", domain, axis: null },
        y: { domain: [rows.length, 0], axis: null },
        marks: [
          logAxis("x", ticksAt(width), (value) => `${Number(value.toPrecision(4))}×`, null),
          Plot.gridX(ticksAt(width), { strokeOpacity: 0.12 }),
          Plot.ruleX([1], { stroke: "var(--ink)", strokeWidth: 1.5 }),
          Plot.text([1], { x: (value: number) => value, frameAnchor: "top", dy: -18, text: () => "1 = equal", fill: "var(--ink-soft)" }),
          Plot.rect(rows, {
            x1: "low",
            x2: "high",
            y1: (row: Row) => row.place + 0.5,
            y2: (row: Row) => row.place + 0.78,
            fill: "colour",
            fillOpacity: 0.28,
            rx: 6,
            className: "ci",
          }),
          Plot.ruleX(rows, { x: "ratio", y1: (row: Row) => row.place + 0.44, y2: (row: Row) => row.place + 0.84, stroke: "colour", strokeWidth: 4, title: "text", className: "estimate" }),
          Plot.text(rows, { ...end, x: "low", text: (row: Row) => bound(row.low), textAnchor: "end", dx: -6 }),
          Plot.text(rows, { ...end, x: "high", text: (row: Row) => bound(row.high), textAnchor: "start", dx: 6 }),
          rows.length === 1
            ? Plot.text(rows, { ...words, x: "ratio", text: (row: Row) => ratio(row.ratio), fontSize: 18, textAnchor: "middle" })
            : Plot.text(rows, { ...words, frameAnchor: "left", text: (row: Row) => `${row.name}   ${ratio(row.ratio)}`, fontSize: 13, textAnchor: "start" }),
        ],
      }),
  });
}
