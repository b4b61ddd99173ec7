// Each variant's median with its interval, and every trial as a mark: filled where it counts, hollow and crossed
// where it does not. Within a row the marks go down in the order in which the trials ran, so that drift shows.

import * as Plot from "@observablehq/plot";
import type { Cell } from "../derive/cells";
import { counted, number, quantity, tick } from "../derive/format";
import type { Look } from "../derive/palette";
import type { Trial } from "../model";
import { figure, legend } from "./figure";
import { draw, ticksFor } from "./plot";

interface Mark {
  trial: Trial;
  value: number;
  y: number;
  text: string;
}

/** Heights in pixels: of a row, and of the words above its marks. */
const HEAD = 26;
const BODY = 46;

/** What a reader is told of one trial. */
export function trialText(trial: Trial, unit: string): string {
  const value = trial.measured ? quantity(trial.measured.value, unit) : "no value";
  const why = trial.status === "valid" ? "" : ` – ${trial.status}: ${(trial.reasons ?? []).join("; ") || "no reason recorded"}`;
  return `Trial ${trial.number}, ${trial.variant}, block ${trial.block}: ${value}${why}`;
}

export function trialsChart(cells: readonly Cell[], look: (cell: Cell) => Look, measure: string, unit: string, source: string): HTMLElement {
  const body = cells.length > 12 ? 26 : BODY;
  const row = HEAD + body;
  const height = cells.length * row;
  const marks = cells.map((cell, place) => {
    const seen = cell.trials.filter((trial) => trial.measured);
    return seen.map((trial, order): Mark => ({
      trial,
      value: trial.measured?.value ?? 0,
      y: place * row + HEAD + 6 + ((order + 0.5) / seen.length) * (body - 12),
      text: trialText(trial, unit),
    }));
  });
  const all = marks.flat();
  const invalid = all.filter((mark) => mark.trial.status !== "valid");
  const summaries = cells.flatMap((cell, place) => (cell.summary ? [{ cell, summary: cell.summary, place }] : []));
  const small = all.length > 120;
  const words = (cell: Cell): string => {
    const median = cell.summary?.median;
    const interval = cell.summary?.interval;
    if (median === null || median === undefined) return cell.label;
    return `${cell.label}   ${quantity(median, unit)}${interval ? ` (${number(interval.low)}–${number(interval.high)})` : ""}`;
  };
  return figure({
    title: `Every trial: ${measure}`,
    summary: `${counted(all.length, "trial")} with a value, ${counted(invalid.length, "of them that does not count").replace(/s$/, "")}. ${cells.map(words).join("; ")}.`,
    note: "A mark is a trial, from top to bottom in the order in which they ran. The line is the median of the trials that count, the band its confidence interval. Hollow and crossed marks do not count.",
    legend: legend([...new Map(cells.map((cell) => [cell.variant, cell])).values()].map((cell) => ({ name: cell.variant, look: look(cell) }))),
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
    draw: (width) =>
      draw(width, {
        height: height + 64,
        marginLeft: 12,
        marginRight: 20,
        marginTop: 4,
        marginBottom: 44,
        x: { nice: true, ticks: ticksFor(width), tickFormat: tick, label: `${measure}, ${unit}  →`, labelAnchor: "right" },
        y: { domain: [height, 0], axis: null },
        marks: [
          Plot.gridX({ ticks: ticksFor(width), strokeOpacity: 0.12 }),
          Plot.ruleY(cells.slice(1), { y: (_: Cell, place: number) => (place + 1) * row, strokeOpacity: 0.12 }),
          summaries
            .filter(({ summary }) => summary.interval)
            .map(({ cell, summary, place }) =>
              Plot.rect([summary], {
                x1: () => summary.interval?.low ?? 0,
                x2: () => summary.interval?.high ?? 0,
                y1: () => place * row + HEAD,
                y2: () => place * row + row - 4,
                fill: look(cell).colour,
                fillOpacity: 0.2,
                className: "interval",
              }),
            ),
          summaries
            .filter(({ summary }) => summary.median !== null)
            .map(({ cell, summary, place }) =>
              Plot.ruleX([summary], {
                x: () => summary.median ?? 0,
                y1: () => place * row + HEAD,
                y2: () => place * row + row - 4,
                stroke: look(cell).colour,
                strokeWidth: 3,
                className: "median",
              }),
            ),
          summaries.flatMap(({ cell, summary, place }) =>
            (summary.modes ?? []).map((mode) =>
              Plot.ruleX([mode], {
                x: "centre",
                y1: () => place * row + HEAD,
                y2: () => place * row + row - 4,
                stroke: look(cell).colour,
                strokeDasharray: "2 3",
                className: "mode",
              }),
            ),
          ),
          cells.flatMap((cell, place) => [
            Plot.dot(marks[place]?.filter((mark) => mark.trial.status === "valid") ?? [], {
              x: "value",
              y: "y",
              r: small ? 3 : 4.5,
              symbol: look(cell).symbol,
              fill: look(cell).colour,
              stroke: "var(--surface)",
              strokeWidth: 1,
              title: "text",
              className: "trial valid",
            }),
            Plot.dot(marks[place]?.filter((mark) => mark.trial.status !== "valid") ?? [], {
              x: "value",
              y: "y",
              r: small ? 3.5 : 5,
              symbol: look(cell).symbol,
              fill: "var(--surface)",
              stroke: look(cell).colour,
              strokeWidth: 1.5,
              title: "text",
              className: "trial invalid",
            }),
          ]),
          Plot.dot(invalid, { x: "value", y: "y", r: small ? 4 : 6, symbol: "times", stroke: "var(--bad)", strokeWidth: 2, pointerEvents: "none", className: "cross" }),
          Plot.text(cells, {
            frameAnchor: "left",
            y: (_: Cell, place: number) => place * row + 14,
            text: words,
            textAnchor: "start",
            fontWeight: 600,
            fontSize: 13,
            fill: "var(--ink)",
            textOverflow: "ellipsis",
            lineWidth: (width - 40) / 13,
          }),
        ],
      }),
  });
}
