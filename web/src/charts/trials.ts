// Each variant's median with its confidence interval, and every trial as a mark: filled where it is valid, hollow and crossed
// where it is not. Within a row the marks descend in the order of the trials, so that a drift is visible.

import * as Plot from "@observablehq/plot";
import { pointText, type Cell } from "../derive/cells";
import { bounds, counted, quantity, tick } from "../derive/format";
import type { SeriesStyle } from "../derive/palette";
import { hasTimeline } from "../derive/timeline";
import type { Trial } from "../model";
import { terms } from "../terms";
import { figure, legend } from "./figure";
import { draw, ticksFor } from "./plot";

interface Mark {
  trial: Trial;
  value: number;
  y: number;
  text: string;
}

/** Sizes in pixels. The label of a row is above its marks, or to their left where there are many rows. */
interface Layout {
  head: number;
  body: number;
  left: number;
}

function layoutOf(cells: readonly Cell[], width: number): Layout {
  if (cells.length > 6 && width >= 640) return { head: 0, body: 30, left: 320 };
  const most = Math.max(0, ...cells.map((cell) => cell.trials.length));
  return { head: 26, body: cells.length > 12 ? 26 : most > 40 ? 110 : 46, left: 12 };
}

/** One trial in words. */
function trialText(trial: Trial, unit: string): string {
  const value = trial.measured ? quantity(trial.measured.value, unit) : "no value";
  const why = trial.status === "valid" ? "" : ` – ${trial.status}: ${(trial.reasons ?? []).join("; ") || "no reason recorded"}`;
  return `Trial ${trial.number}, ${trial.variant}, block ${trial.block}: ${value}${why}`;
}

export function trialsChart(cells: readonly Cell[], group: (cell: Cell) => string, styleOf: (group: string) => SeriesStyle, measure: string, unit: string, source: string, hasBound: boolean): HTMLElement {
  const style = (cell: Cell): SeriesStyle => styleOf(group(cell));
  const withValue = cells.flatMap((cell) => cell.trials.filter((trial) => trial.measured));
  const invalid = withValue.filter((trial) => trial.status !== "valid").length;
  return figure({
    title: `Every trial: ${measure}`,
    summary: `${counted(withValue.length, "trial")} with a value, ${invalid} of them not valid. ${cells.map((cell) => cellText(cell, unit)).join("; ")}.`,
    note: terms`Each mark is one [[trial]], in the order of the run from top to bottom. The line is the [[median]] of the [[valid trials]], the band its [[confidence interval]]. Hollow, crossed marks are not valid and do not count${hasBound ? ", but for a verdict that says at least" : ""}.${withValue.some(hasTimeline) ? " Select a mark to see its trial over time." : ""}`,
    legend: legend([...new Set(cells.map(group))].map((name) => ({ name, style: styleOf(name) }))),
    source,
    id: "every-trial",
    table: {
      head: ["Trial", "Variant", "Block", "Value", "Status", "Reason"],
      rows: cells.flatMap((cell) =>
        cell.trials.map((trial) => [
          String(trial.number),
          cell.label,
          String(trial.block),
          quantity(trial.measured?.value, unit),
          trial.status,
          (trial.reasons ?? []).join("; "),
        ]),
      ),
    },
    draw: (width) => rows(cells, style, measure, unit, width, withValue.length > 120),
  });
}

/** A cell with its median and confidence interval in words. */
function cellText(cell: Cell, unit: string): string {
  const { median, interval } = cell.summary ?? {};
  if (median === null || median === undefined) return cell.label;
  return `${cell.label}: median ${quantity(median, unit)}${interval ? `, confidence interval ${bounds(interval.low, interval.high, unit)}` : ""}`;
}

function rows(cells: readonly Cell[], style: (cell: Cell) => SeriesStyle, measure: string, unit: string, width: number, small: boolean): SVGElement | HTMLElement {
  const { head, body, left } = layoutOf(cells, width);
  const row = head + body;
  const height = cells.length * row;
  const beside = head === 0;
  const apart = beside || cells.some((cell) => pointText(cell.point));
  const labelY = (_: Cell, place: number): number => place * row + (beside ? row / 2 : 14);
  const alone = new Set(cells.map((cell) => cell.variant)).size === 1;
  const drawn = cells.map((cell, place): Mark[] => {
    const measured = cell.trials.filter((trial) => trial.measured);
    return measured.map((trial, order) => ({
      trial,
      value: trial.measured?.value ?? 0,
      y: place * row + head + 6 + ((order + 0.5) / measured.length) * (body - 12),
      text: trialText(trial, unit),
    }));
  });
  const marksOf = (place: number, counts: boolean): Mark[] => (drawn[place] ?? []).filter((mark) => (mark.trial.status === "valid") === counts);
  const span = (place: number): { y1: () => number; y2: () => number } => ({ y1: () => place * row + head + (beside ? 3 : 0), y2: () => place * row + row - (beside ? 3 : 4) });
  const shared = { x: "value", y: "y", title: "text", href: (mark: Mark) => (hasTimeline(mark.trial) ? `#trial-${mark.trial.number}` : null) };
  return draw(width, {
    height: height + 64,
    marginLeft: left,
    marginRight: 20,
    marginTop: 4,
    marginBottom: 44,
    x: { nice: true, ticks: ticksFor(width - left), tickFormat: tick, label: `${measure}, ${unit}  →`, labelAnchor: "right" },
    y: { domain: [height, 0], axis: null },
    marks: [
      Plot.gridX({ ticks: ticksFor(width - left), strokeOpacity: 0.12 }),
      Plot.ruleY(cells.slice(1), { y: (_: Cell, place: number) => (place + 1) * row, strokeOpacity: 0.12 }),
      cells.map(({ summary }, place) => {
        if (!summary) return null;
        const stroke = style(cells[place] as Cell).colour;
        return [
          summary.interval ? Plot.rect([summary.interval], { x1: "low", x2: "high", ...span(place), fill: stroke, fillOpacity: 0.2, className: "interval" }) : null,
          (summary.modes ?? []).map((mode) => Plot.ruleX([mode], { x: "centre", ...span(place), stroke, strokeWidth: 1.5, strokeDasharray: "2 3", className: "mode" })),
          summary.median === null ? null : Plot.ruleX([summary.median], { x: (median: number) => median, ...span(place), stroke, strokeWidth: 3, className: "median" }),
        ];
      }),
      cells.map((cell, place) => {
        const { symbol, colour } = style(cell);
        return [
          Plot.dot(marksOf(place, true), { ...shared, symbol, r: small ? 3 : 4.5, fill: colour, stroke: "var(--surface)", strokeWidth: 1, className: "trial valid" }),
          Plot.dot(marksOf(place, false), { ...shared, symbol, r: small ? 3.5 : 5, fill: "var(--surface)", stroke: colour, strokeWidth: 1.5, className: "trial invalid" }),
          Plot.dot(marksOf(place, false), { x: "value", y: "y", r: small ? 4 : 6, symbol: "times", stroke: "var(--bad)", strokeWidth: 2, pointerEvents: "none", className: "cross" }),
        ];
      }),
      Plot.text(cells, {
        frameAnchor: "left",
        dx: beside ? -left + 4 : 0,
        y: labelY,
        text: (cell: Cell) => label(cell, unit, apart, alone),
        textAnchor: "start",
        fontWeight: 600,
        fontSize: apart ? 12 : 13,
        fill: "var(--ink)",
        textOverflow: "ellipsis",
        lineWidth: (beside ? left - 100 : apart ? width - 120 : width - 40) / 14,
      }),
      apart
        ? Plot.text(cells, { frameAnchor: beside ? "left" : "right", dx: beside ? -10 : 0, y: labelY, text: (cell: Cell) => quantity(cell.summary?.median, unit), textAnchor: "end", fontSize: 12, fill: "var(--ink)" })
        : null,
    ],
  });
}

/** The label of a row: without the variant's name where there is only one, and without the median where it has its own place. */
function label(cell: Cell, unit: string, apart: boolean, alone: boolean): string {
  const { median, interval } = cell.summary ?? {};
  const at = pointText(cell.point);
  const name = alone && at ? at : cell.label;
  if (apart || median === null || median === undefined) return name;
  return `${name}   ${quantity(median, unit)}${interval ? ` (${bounds(interval.low, interval.high, unit)})` : ""}`;
}
