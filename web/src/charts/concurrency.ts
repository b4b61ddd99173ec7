// The one picture of a run of transfers: availability, time to first byte and memory over the transfers in progress, one above the
// other on the same axis, with the comfortable and the breaking point.

import * as Plot from "@observablehq/plot";
import type { Concurrency, ConcurrencyStep } from "../concurrency";
import { bytes, number, percent, tick, time, timeTick } from "../derive/format";
import { seriesStyle } from "../derive/palette";
import { el } from "../dom";
import { terms } from "../terms";
import { figure, legend } from "./figure";
import { draw, logAxis, logTicks, thinned, ticksFor } from "./plot";

interface Point {
  transfers: number;
  value: number;
  text: string;
}

interface Memory {
  name: string;
  of: (step: ConcurrencyStep) => number | undefined;
}

/** Each colour has a shape, so that colour is never the only sign. */
const MEMORY: readonly Memory[] = [
  { name: "server", of: (step) => step.server_bytes },
  { name: "kernel, both ends", of: (step) => step.kernel_bytes },
  { name: "client", of: (step) => step.client_bytes },
];

const MARGIN = 72;

/** Null where no step was held. */
export function concurrencyChart(found: Concurrency): HTMLElement | null {
  // Finer steps come after the break.
  const steps = [...found.steps].sort((a, b) => a.transfers - b.transfers);
  const [first, last] = [steps[0], steps[steps.length - 1]];
  if (!first || !last) return null;
  const x = { low: first.transfers / 1.15, high: last.transfers * 1.15 };
  const distinct = [...new Set(steps.map((step) => step.transfers))];
  const marks = [
    ...(found.comfortable_point === undefined ? [] : [{ at: found.comfortable_point, text: "comfortable", colour: "var(--good)" }]),
    ...(found.breaking_point === undefined ? [] : [{ at: found.breaking_point, text: "breaks", colour: "var(--bad)" }]),
    ...(found.client_limit === undefined ? [] : [{ at: found.client_limit, text: "client too slow", colour: "var(--ink)" }]),
  ];
  const points = (of: (step: ConcurrencyStep) => number | undefined, text: (value: number) => string): Point[] =>
    steps.flatMap((step) => {
      const value = of(step);
      return value === undefined ? [] : [{ transfers: step.transfers, value, text: `${number(step.transfers)} transfers: ${text(value)}` }];
    });
  const answered = points(({ first_byte }) => (first_byte.count > 0 ? first_byte.p99_us : undefined), (us) => `p99 to first byte ${time(us)}`);
  const memory = MEMORY.map((part, index) => ({ ...part, style: seriesStyle(index), points: points(part.of, (value) => `${part.name} ${bytes(value)}`) })).filter(
    ({ points: all }) => all.length > 0,
  );
  const most = Math.max(1, ...memory.flatMap(({ points: all }) => all.map(({ value }) => value)));
  const times = answered.map(({ value }) => Math.max(1, value));
  const [fastest, slowest] = [Math.min(...times) / 1.5, Math.max(...times) * 1.5];

  const rules = (isTop: boolean): Plot.Markish[] =>
    marks.map(({ at, text, colour }) => [
      Plot.ruleX([at], { stroke: colour, strokeDasharray: "5 4", strokeWidth: 1.5 }),
      isTop ? Plot.text([at], { x: at, frameAnchor: "top", lineAnchor: "bottom", dy: -10, text: () => `${text} ${tick(at)}`, fill: colour, fontWeight: 600 }) : null,
    ]);
  const line = (all: readonly Point[], index: number): Plot.Markish[] => {
    const style = seriesStyle(index);
    return [
      Plot.lineY(all, { x: "transfers", y: "value", stroke: style.colour, strokeWidth: 2, strokeDasharray: style.dash }),
      Plot.dot(all, { x: "transfers", y: "value", r: 4, symbol: style.symbol, fill: style.colour, stroke: "var(--surface)", title: "text" }),
    ];
  };
  const panel = (width: number, isTop: boolean, isBottom: boolean, y: Plot.ScaleOptions, own: Plot.Markish[]): SVGElement | HTMLElement =>
    draw(width, {
      height: 150 + (isTop ? 24 : 0) + (isBottom ? 24 : 0),
      marginLeft: MARGIN,
      marginTop: isTop ? 40 : 20,
      marginBottom: isBottom ? 40 : 12,
      x: { type: "log", domain: [x.low, x.high], axis: null },
      y,
      marks: [isBottom ? logAxis("x", thinned(distinct, ticksFor(width, 56)), tick, "transfers in progress, asked for  →") : null, rules(isTop), own],
    });

  return figure({
    title: terms`[[Availability]], [[time to first byte]] and memory over [[transfers]] in progress`,
    summary: steps.map((step) => `${number(step.transfers)} transfers: availability ${percent(step.availability)}, p99 to first byte ${step.first_byte.count > 0 ? time(step.first_byte.p99_us) : "none"}`).join(". "),
    note: terms`Each mark is a step that was held. The [[comfortable point]] is the most transfers with an availability of 99.9 % and a quick answer to new clients; at the [[breaking point]], availability is under the limit of the plan. A step in which no new client was answered has no time to first byte. Where the client was too slow for its pace, the step says nothing of the server.`,
    legend: legend(memory.map(({ name, style }) => ({ name: `memory: ${name}`, style }))),
    source: "concurrency.json",
    id: "concurrency-picture",
    table: { head: HEAD, rows: steps.map(row) },
    draw: (width) =>
      el(
        "div",
        { class: "panels" },
        panel(width, true, false, { domain: [0, 1], grid: true, ticks: 4, tickFormat: (share: number) => percent(share), label: "↑ availability" }, line(points((step) => step.availability, (share) => `availability ${percent(share)}`), 3)),
        answered.length > 0
          ? panel(width, false, false, { type: "log", domain: [fastest, slowest], axis: null }, [logAxis("y", thinned(logTicks(fastest, slowest), 5), timeTick, "↑ first byte, p99"), line(answered, 4)])
          : null,
        panel(width, false, true, { domain: [0, most * 1.05], grid: true, ticks: memoryTicks(most), tickFormat: bytes, label: "↑ memory" }, memory.map(({ points: all }, index) => line(all, index))),
      ),
  });
}

/** Up to five ticks at powers of two, which have short names. */
function memoryTicks(most: number): number[] {
  const step = 2 ** Math.ceil(Math.log2(most / 4));
  return Array.from({ length: Math.floor((most * 1.05) / step) + 1 }, (_, at) => at * step);
}

export const HEAD: string[] = ["Transfers", "In progress", "Availability", "First byte p50", "p99", "max", "Pace", "Stalled", "Failed", "Server CPU", "Server each", "Kernel each", "Client each", "Advanced twice"];

/** A step as a row of the table. */
export function row(step: ConcurrencyStep): string[] {
  const each = (value: number | undefined): string => (value === undefined ? "–" : bytes(value / Math.max(1, step.in_progress)));
  const us = (value: number): string => (step.first_byte.count > 0 ? time(value) : "–");
  return [
    number(step.transfers),
    number(step.in_progress),
    percent(step.availability),
    us(step.first_byte.p50_us),
    us(step.first_byte.p99_us),
    us(step.first_byte.max_us),
    percent(step.pace_share),
    percent(step.stalled_share),
    number(Object.values(step.errors).reduce((sum, count) => sum + count, 0)),
    step.server_cpu_cores === undefined ? "–" : step.server_cpu_cores.toFixed(2),
    each(step.server_bytes),
    each(step.kernel_bytes),
    each(step.client_bytes),
    step.advances ? `${number(step.advances.twice)} of ${number(step.advances.transfers)}` : "–",
  ];
}
