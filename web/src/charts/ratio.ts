// The ratio of each comparison with its confidence interval, on an axis that marks 1 (no difference).

import * as Plot from "@observablehq/plot";
import { counted, level as confidenceLevel, ratio } from "../derive/format";
import { pointText } from "../derive/cells";
import type { Comparison, RatioEstimate } from "../model";
import { terms } from "../terms";
import { figure } from "./figure";
import { draw, logAxis, logTicks, niceTicks, thinned, ticksFor } from "./plot";

interface Row extends RatioEstimate {
  name: string;
  place: number;
  colour: string;
  text: string;
}

const ROW = 64;

/** Evenly spaced ticks crowd at the high end of a logarithmic axis that spans more than this factor. */
const WIDE = 3;

function ratioTicks([low, high]: readonly [number, number], count: number): number[] {
  return high / low < WIDE ? niceTicks(low, high, count) : thinned(logTicks(low, high), count);
}

const bound = (value: number): string => ratio(value).replace(/\s*×$/, "");

export function ratioChart(comparisons: readonly Comparison[], higherIsBetter: boolean, level: 2 | 3): HTMLElement | null {
  const rows: Row[] = comparisons.flatMap((comparison, place) => {
    const estimate = comparison.estimate;
    if (!estimate) return [];
    const at = pointText(comparison.point);
    const name = `${comparison.a} ÷ ${comparison.b}${at ? ` · ${at}` : ""}`;
    const isDifference = comparison.verdict.outcome === "difference";
    const colour = isDifference ? "var(--accent)" : "var(--muted)";
    const text = `${name}: ${ratio(estimate.ratio)}, ${confidenceLevel(estimate.confidence)} confidence interval ${ratio(estimate.low)} to ${ratio(estimate.high)}, ${counted(estimate.blocks, "block")}`;
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
  // The outline keeps a number readable that lies on the line of no difference.
  const outline = { stroke: "var(--surface)", strokeWidth: 4 };
  const end = { y: (row: Row) => row.place + 0.64, fill: "var(--ink-soft)", fontSize: 12, ...outline };
  const words = { y: (row: Row) => row.place + 0.24, fontWeight: 650, fill: "var(--ink)", ...outline };
  return figure({
    title: rows.length === 1 ? terms`[[Ratio]] with [[confidence interval]]` : terms`[[Ratios|ratio]] with [[confidence intervals|confidence interval]]`,
    summary: rows.map((row) => row.text).join(". "),
    note: terms`The line is the estimated [[ratio]], the band its [[confidence interval]]. At 1 the two [[variants]] are equal. ${higherIsBetter ? "Higher values are better" : "Lower values are better"}.`,
    source: "verdict.json",
    id: "ratio",
    level,
    table: {
      head: ["Comparison", "Ratio", "Lower bound", "Upper bound", "Confidence level", "Blocks", "Method"],
      rows: rows.map((row) => [
        row.name,
        ratio(row.ratio),
        ratio(row.low),
        ratio(row.high),
        confidenceLevel(row.confidence),
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
          // Beside a comparison without a ratio, one that has it needs its name.
          comparisons.length === 1
            ? Plot.text(rows, { ...words, x: "ratio", text: (row: Row) => ratio(row.ratio), fontSize: 18, textAnchor: "middle" })
            : Plot.text(rows, { ...words, frameAnchor: "left", text: (row: Row) => `${row.name}   ${ratio(row.ratio)}`, fontSize: 13, textAnchor: "start" }),
        ],
      }),
  });
}
