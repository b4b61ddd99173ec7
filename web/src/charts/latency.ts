// Response time over offered load: a mark for each phase, a line for each variant, and the limits of the SLO.

import * as Plot from "@observablehq/plot";
import { number, percent, responseTime, tick, timeTick } from "../derive/format";
import { loadLine, type LoadPoint } from "../derive/load";
import type { SeriesStyle } from "../derive/palette";
import type { Limit } from "../derive/slo";
import { phaseName } from "../derive/timeline";
import { terms } from "../terms";
import { figure, legend } from "./figure";
import { draw, logAxis, logTicks, ticksFor } from "./plot";

export interface LoadSeries {
  name: string;
  style: SeriesStyle;
  points: LoadPoint[];
  /** The highest rate that is sustained within the objective, operations a second. */
  capacity: number | null;
}

export function latencyChart(series: readonly LoadSeries[], limits: readonly Limit[]): HTMLElement {
  const times = series.flatMap(({ points }) => points.flatMap((point) => [point.p50, point.p99])).filter((us) => us > 0);
  const all = [...times, ...limits.map((limit) => limit.us)];
  const low = all.reduce((least, us) => Math.min(least, us), Infinity) / 1.3;
  const high = all.reduce((most, us) => Math.max(most, us), 0) * 1.3;
  const ticks = logTicks(low, high);
  const lines = series.map((one) => ({ ...one, line: loadLine(one.points) }));
  const markText = (name: string, point: LoadPoint, statistic: "p50" | "p99"): string =>
    `${name}, trial ${point.trial}, ${phaseName(point.kind)}: ${statistic} ${responseTime(point[statistic], point.gaveUpFrom)} at ${number(point.offered)}/s offered, ${number(point.achieved)}/s achieved${point.late === null ? "" : `, ${percent(point.late)} late`}`;
  const p99 = (point: LoadPoint | undefined): string => responseTime(point?.p99, point?.gaveUpFrom);
  const ranges = series.map(({ name, points }) => `${name}: p99 from ${p99(points[0])} at ${number(points[0]?.offered)}/s to ${p99(points[points.length - 1])} at ${number(points[points.length - 1]?.offered)}/s`);
  return figure({
    title: terms`[[Response time]] over [[offered load]]`,
    summary: `${ranges.join(". ")}.${limits.map((limit) => ` Limit: ${limit.text}.`).join("")}`,
    note: terms`Each mark is one [[open-loop]] [[phase]] of a [[valid trial]]: filled for [[p99]], hollow for [[p50]]. Response times start at the intended start of an operation, so they do not suffer from [[coordinated omission]]. The lines connect the medians of phases at nearly the same load. A vertical line is a [[capacity]]: there, all operations of all trials together spend the budget of the [[SLO]]. One trial may spend more or less.`,
    legend: legend([
      ...series.map(({ name, style }) => ({ name, style })),
      { name: "p99", style: { colour: "var(--ink-soft)", symbol: "circle" as const, dash: "" }, line: true },
      { name: "p50", style: { colour: "var(--ink-soft)", symbol: "circle" as const, dash: "3 4" }, line: true },
    ]),
    source: "trials/*/trial.json",
    id: "latency-over-load",
    table: {
      head: ["Variant", "Trial", "Phase", "Offered", "Achieved", "p50", "p99", "Late"],
      rows: series.flatMap(({ name, points }) =>
        points.map((point) => [name, String(point.trial), phaseName(point.kind), `${number(point.offered)}/s`, `${number(point.achieved)}/s`, responseTime(point.p50, point.gaveUpFrom), p99(point), point.late === null ? "–" : percent(point.late)]),
      ),
    },
    draw: (width) =>
      draw(width, {
        height: Math.min(460, Math.max(300, width * 0.55)),
        marginLeft: 60,
        x: { nice: true, ticks: ticksFor(width), tickFormat: tick, label: "offered load, /s  →", zero: true },
        y: { type: "log", domain: [low, high], axis: null },
        marks: [
          logAxis("y", ticks, timeTick, "↑ response time"),
          Plot.gridY(ticks, { strokeOpacity: 0.12 }),
          limits.map((limit) => [
            Plot.ruleY([limit.us], { stroke: "var(--bad)", strokeDasharray: "5 4", strokeWidth: 1.5, className: "limit" }),
            Plot.text([limit.us], { y: (us: number) => us, frameAnchor: "left", textAnchor: "start", dx: 4, dy: -8, text: () => limit.text, fill: "var(--bad)", fontWeight: 600 }),
          ]),
          lines.flatMap(({ name, style, capacity }, row) =>
            capacity === null
              ? []
              : [
                  Plot.ruleX([capacity], { stroke: style.colour, strokeWidth: 1.5, strokeDasharray: "1 3", className: "capacity" }),
                  Plot.text([capacity], { x: (rate: number) => rate, frameAnchor: "top", dy: 4 + 14 * row, dx: -4, textAnchor: "end", text: (rate: number) => `${name}: capacity ${number(rate)}/s`, fill: style.colour, fontWeight: 600 }),
                ],
          ),
          lines.flatMap(({ name, style, points, line }) => [
            Plot.lineY(line, { x: "offered", y: "p50", stroke: style.colour, strokeWidth: 1.5, strokeDasharray: "3 4" }),
            Plot.lineY(line, { x: "offered", y: "p99", stroke: style.colour, strokeWidth: 2.5 }),
            Plot.dot(points, { x: "offered", y: "p50", r: 2.5, symbol: style.symbol, stroke: style.colour, strokeOpacity: 0.5, title: (point: LoadPoint) => markText(name, point, "p50"), className: "p50" }),
            Plot.dot(points, { x: "offered", y: "p99", r: 3, symbol: style.symbol, fill: style.colour, fillOpacity: 0.6, title: (point: LoadPoint) => markText(name, point, "p99"), className: "p99" }),
          ]),
        ],
      }),
  });
}
