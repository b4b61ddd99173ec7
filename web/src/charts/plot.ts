// What all drawings share: margins, type, and the look of axes and grids.

import * as Plot from "@observablehq/plot";

export type Options = Plot.PlotOptions;

/** A drawing in the house's style. */
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

/** How many ticks a width has room for. */
export function ticksFor(width: number, each = 90): number {
  return Math.max(2, Math.floor(width / each));
}

/** Powers of ten, with 2 and 5 between where they are few, for a logarithmic axis. */
export function logTicks(low: number, high: number): number[] {
  const powers: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) powers.push(10 ** power);
  const fine = powers.flatMap((power) => [power, 2 * power, 5 * power]);
  const inside = (ticks: number[]): number[] => ticks.filter((tick) => tick >= low && tick <= high);
  return inside(powers).length > 3 ? inside(powers) : inside(fine);
}
