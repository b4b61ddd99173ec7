// Settings that all drawings share: margins, type, axes and grids.

import * as Plot from "@observablehq/plot";

export type Options = Plot.PlotOptions;

/** A drawing with the shared settings. */
export function draw(width: number, options: Options): SVGElement | HTMLElement {
  return Plot.plot({
    width,
    marginLeft: 56,
    marginRight: 16,
    marginTop: 20,
    marginBottom: 40,
    style: { background: "transparent", fontFamily: "inherit", fontSize: "12px", overflow: "visible" },
    ...options,
  });
}

/** How many ticks fit into a width. */
export function ticksFor(width: number, each = 90): number {
  return Math.max(2, Math.floor(width / each));
}

/** Every n-th tick, so that at most `count` remain. */
export function thinned(ticks: readonly number[], count: number): number[] {
  const every = Math.ceil(ticks.length / count);
  return ticks.filter((_, place) => place % every === 0);
}

/** About `count` round numbers from low to high. */
export function niceTicks(low: number, high: number, count: number): number[] {
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((times) => power * times >= rough) ?? 10);
  const ticks: number[] = [];
  for (let place = Math.ceil(low / step); place * step <= high; place += 1) ticks.push(Number((place * step).toPrecision(12)));
  return ticks;
}

/** The axis of a logarithmic scale with exactly these ticks. Plot's own axis omits some labels. */
export function logAxis(side: "x" | "y", ticks: readonly number[], text: (value: number) => string, label: string | null): Plot.Markish {
  const options = { text, label, tickSize: 4 };
  return side === "x" ? Plot.axisX(ticks, options) : Plot.axisY(ticks, options);
}

/** Powers of ten, with 2 and 5 between where they are few, for a logarithmic axis. */
export function logTicks(low: number, high: number): number[] {
  const powers: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) powers.push(10 ** power);
  const fine = powers.flatMap((power) => [power, 2 * power, 5 * power]);
  const inside = (ticks: number[]): number[] => ticks.filter((tick) => tick >= low && tick <= high);
  return inside(powers).length > 3 ? inside(powers) : inside(fine);
}
