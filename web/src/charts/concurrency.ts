// The one picture of a run of transfers: availability, time to first byte and memory over the transfers in progress, one above the
// other on the same axis, with the comfortable and the breaking point.

import * as Plot from "@observablehq/plot";
import type { Concurrency, ConcurrencyStep, PlannedConcurrency } from "../concurrency";
import { durationUs } from "../derive/duration";
import { bytes, number, percent, shareBeside, tick, time, timeTick } from "../derive/format";
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

/** Names at the top are one below the other: points may be close. */
const NAME_HEIGHT = 16;

/** A number of transfers with a name in the picture. */
interface Named {
  at: number;
  text: string;
  colour: string;
}

/** More new clients than this part of them without an answer are not comfortable. */
const FEW_UNANSWERED = 0.01;

/** Availability, with as many digits as it takes to see on which side of comfort and of the break it is. */
const available = (share: number, plan: PlannedConcurrency | undefined): string =>
  shareBeside(share, [1, ...(plan ? [plan.comfort_availability, plan.until_availability] : [])]);

/** Null where no step was held. */
export function concurrencyChart(found: Concurrency, plan: PlannedConcurrency | undefined): HTMLElement | null {
  // Finer steps come after the break.
  const steps = [...found.steps].sort((a, b) => a.transfers - b.transfers);
  const [first, last] = [steps[0], steps[steps.length - 1]];
  if (!first || !last) return null;
  const x = { low: first.transfers / 1.15, high: last.transfers * 1.15 };
  const distinct = [...new Set(steps.map((step) => step.transfers))];
  const named = namedPoints(found);
  const points = (of: (step: ConcurrencyStep) => number | undefined, text: (value: number) => string): Point[] =>
    steps.flatMap((step) => {
      const value = of(step);
      return value === undefined ? [] : [{ transfers: step.transfers, value, text: `${number(step.transfers)} transfers: ${text(value)}` }];
    });
  const answered = points(({ first_byte }) => (first_byte.count > 0 ? first_byte.p99_us : undefined), (us) => `p99 to first byte ${time(us)}`);
  const unanswered = points(
    ({ probes, probes_failed }) => (probes_failed > probes * FEW_UNANSWERED ? probes_failed / probes : undefined),
    (share) => `${percent(share)} of the new clients were not answered`,
  );
  const memory = MEMORY.map((part, index) => ({ ...part, style: seriesStyle(index), points: points(part.of, (value) => `${part.name} ${bytes(value)}`) })).filter(
    ({ points: all }) => all.length > 0,
  );
  const most = Math.max(1, ...memory.flatMap(({ points: all }) => all.map(({ value }) => value)));
  const comfort = plan ? durationUs(plan.comfort_first_byte) : 0;
  const times = [...answered.map(({ value }) => Math.max(1, value)), ...(comfort > 0 ? [comfort] : [])];
  const [fastest, slowest] = [Math.min(...times) / 1.5, Math.max(...times) * 1.8];

  const isLeft = (at: number): boolean => Math.log(at / x.low) < Math.log(x.high / x.low) / 2;
  const names = named.map(({ at, text, colour }, place) =>
    Plot.text([at], { className: "named", x: at, frameAnchor: "top", lineAnchor: "bottom", textAnchor: isLeft(at) ? "start" : "end", dx: isLeft(at) ? -4 : 4, dy: -8 - NAME_HEIGHT * (named.length - 1 - place), text: () => text, fill: colour, fontWeight: 600 }),
  );
  // Where it is comfortable, and where it is broken: also without colour, by the rules and their names.
  const band = (from: number, to: number, fill: string): Plot.Markish => Plot.rect([0], { x1: from, x2: to, fill, fillOpacity: 0.09 });
  const behind: Plot.Markish[] = [
    found.comfortable_point === undefined ? null : band(x.low, found.comfortable_point, "var(--good)"),
    found.breaking_point === undefined ? null : band(found.breaking_point, x.high, "var(--bad)"),
    ...named.map(({ at, colour }) => Plot.ruleX([at], { stroke: colour, strokeDasharray: "5 4", strokeWidth: 1.5 })),
  ];
  const bound = (value: number, text: string, colour: string): Plot.Markish => [
    Plot.ruleY([value], { stroke: colour, strokeDasharray: "2 3" }),
    Plot.text([value], { y: value, frameAnchor: "left", textAnchor: "start", lineAnchor: "bottom", dx: 4, dy: -3, text: () => text, fill: colour, stroke: "var(--surface)", strokeWidth: 4 }),
  ];
  const line = (all: readonly Point[], index: number): Plot.Markish[] => {
    const style = seriesStyle(index);
    return [
      Plot.lineY(all, { x: "transfers", y: "value", stroke: style.colour, strokeWidth: 2, strokeDasharray: style.dash }),
      Plot.dot(all, { x: "transfers", y: "value", r: 4, symbol: style.symbol, fill: style.colour, stroke: "var(--surface)", title: "text" }),
    ];
  };
  const crosses = Plot.dot(unanswered, { className: "unanswered", x: "transfers", frameAnchor: "top", dy: 8, r: 5, symbol: "times", stroke: "var(--bad)", strokeWidth: 2, title: "text" });
  const panel = (width: number, isTop: boolean, isBottom: boolean, y: Plot.ScaleOptions, own: Plot.Markish[]): SVGElement | HTMLElement => {
    const marginTop = isTop ? 24 + NAME_HEIGHT * named.length : 20;
    return draw(width, {
      height: 130 + marginTop + (isBottom ? 24 : 0),
      marginLeft: MARGIN,
      marginTop,
      marginBottom: isBottom ? 40 : 12,
      x: { type: "log", domain: [x.low, x.high], axis: null },
      y,
      marks: [behind, isBottom ? logAxis("x", thinned(distinct, ticksFor(width, 56)), tick, "transfers in progress, asked for  →") : null, isTop ? names : null, own],
    });
  };

  return figure({
    title: terms`[[Availability]], [[time to first byte]] and memory over [[transfers]] in progress`,
    summary: steps.map((step) => `${number(step.transfers)} transfers: availability ${available(step.availability, plan)}, p99 to first byte ${step.first_byte.count > 0 ? time(step.first_byte.p99_us) : "none"}`).join(". "),
    note: terms`Each mark is a step that was held. Up to the [[comfortable point]], availability is 99.9 % or more and new clients are answered quickly; from the [[breaking point]] on, availability is under the limit of the plan. A cross: more than 1 % of the new clients were not answered, and have no time. Where the client was the limit, the step says nothing of the server.`,
    legend: legend(memory.map(({ name, style }) => ({ name: `memory: ${name}`, style }))),
    source: "concurrency.json",
    id: "concurrency-picture",
    table: { head: HEAD, rows: steps.map((step) => row(step, plan)) },
    draw: (width) =>
      el(
        "div",
        { class: "panels" },
        panel(width, true, false, { domain: [0, 1], grid: true, ticks: 4, tickFormat: (share: number) => percent(share), label: "↑ availability" }, [
          plan ? bound(plan.until_availability, `broken under ${percent(plan.until_availability)}`, "var(--bad)") : null,
          line(points((step) => step.availability, (share) => `availability ${available(share, plan)}`), 3),
        ]),
        times.length > 0
          ? panel(width, false, false, { type: "log", domain: [fastest, slowest], axis: null }, [
              logAxis("y", thinned(logTicks(fastest, slowest), 5), timeTick, "↑ first byte, p99"),
              comfort > 0 ? bound(comfort, `comfortable up to ${timeTick(comfort)}`, "var(--good)") : null,
              line(answered, 4),
              crosses,
            ])
          : null,
        panel(width, false, true, { domain: [0, most * 1.05], grid: true, ticks: memoryTicks(most), tickFormat: bytes, label: "↑ memory" }, memory.map(({ points: all }, index) => line(all, index))),
      ),
  });
}

/** The points of the answer. */
function namedPoints({ comfortable_point, breaking_point, client_limit }: Concurrency): Named[] {
  return [
    ...(comfortable_point === undefined ? [] : [{ at: comfortable_point, text: `comfortable up to ${number(comfortable_point)}`, colour: "var(--good)" }]),
    ...(breaking_point === undefined ? [] : [{ at: breaking_point, text: `breaks at ${number(breaking_point)}`, colour: "var(--bad)" }]),
    ...(client_limit === undefined ? [] : [{ at: client_limit, text: `client the limit at ${number(client_limit)}`, colour: "var(--ink)" }]),
  ];
}

/** Up to five ticks at powers of two, which have short names. */
function memoryTicks(most: number): number[] {
  const step = 2 ** Math.ceil(Math.log2(most / 4));
  return Array.from({ length: Math.floor((most * 1.05) / step) + 1 }, (_, at) => at * step);
}

export const HEAD: string[] = ["Transfers", "In progress", "Availability", "First byte p50", "p99", "max", "Pace", "Stalled", "Failed", "Reads late, p99", "Server CPU", "Server each", "Kernel each", "Client each", "Advanced twice"];

/** A step as a row of the table. */
export function row(step: ConcurrencyStep, plan: PlannedConcurrency | undefined): string[] {
  const each = (value: number | undefined): string => (value === undefined ? "–" : bytes(value / Math.max(1, step.in_progress)));
  const us = (value: number): string => (step.first_byte.count > 0 ? time(value) : "–");
  return [
    number(step.transfers),
    number(step.in_progress),
    available(step.availability, plan),
    us(step.first_byte.p50_us),
    us(step.first_byte.p99_us),
    us(step.first_byte.max_us),
    percent(step.pace_share),
    percent(step.stalled_share),
    number(Object.values(step.errors).reduce((sum, count) => sum + count, 0)),
    `${time(step.client_late_p99_us)} of ${time(step.client_late_limit_us)}`,
    step.server_cpu_cores === undefined ? "–" : step.server_cpu_cores.toFixed(2),
    each(step.server_bytes),
    each(step.kernel_bytes),
    each(step.client_bytes),
    step.advances ? `${number(step.advances.twice)} of ${number(step.advances.transfers)}` : "–",
  ];
}
