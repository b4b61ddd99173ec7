// What all charts share: margins, quiet grids, axes in the units of the field, tips.

import * as Plot from "@observablehq/plot";
import { short, time } from "../format";

export { Plot };

/** Narrow charts have no room for long labels beside them. */
export const isNarrow = (width: number): boolean => width < 520;

/** A chart with the house's defaults. */
export function plot(options: Plot.PlotOptions & { width: number }): SVGElement | HTMLElement {
  return Plot.plot({
    marginLeft: isNarrow(options.width) ? 48 : 60,
    marginRight: 16,
    marginTop: 28,
    marginBottom: 38,
    className: "plot",
    ...options,
    style: { fontFamily: "inherit", fontSize: "12px", overflow: "visible", ...(options.style as object) },
  });
}

/** Lines of a grid and labels at the values 1, 2, 5 of each decade, as many as fit. */
export function decades(low: number, high: number): number[] {
  const all = (steps: number[]) => {
    const values: number[] = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
      for (const step of steps) values.push(step * 10 ** power);
    }
    return values.filter((value) => value >= low * 0.999 && value <= high * 1.001);
  };
  const fine = all([1, 2, 5]);
  return fine.length <= 9 ? fine : all([1]);
}

/** A logarithmic axis of times in microseconds over these values. */
export function timeScale(values: number[]): { domain: [number, number]; ticks: number[] } {
  const positive = values.filter((value) => value > 0);
  const low = Math.min(...positive, Infinity);
  const high = Math.max(...positive, -Infinity);
  if (!Number.isFinite(low)) return { domain: [1, 10], ticks: [1, 10] };
  const domain: [number, number] = [low / 1.15, Math.max(high * 1.15, low * 2)];
  return { domain, ticks: decades(...domain) };
}

export const timeTick = (us: number): string => time(us);
export const shortTick = (value: number): string => short(value);

/** The marks of a logarithmic axis of times. */
export function timeAxis(values: number[], label: string): { scale: Plot.ScaleOptions; marks: Plot.Markish[] } {
  const { domain, ticks } = timeScale(values);
  return {
    scale: { type: "log", domain, label: null },
    marks: [
      Plot.gridY(ticks, { stroke: "var(--grid)", strokeOpacity: 1 }),
      Plot.axisY(ticks, { tickFormat: timeTick, tickSize: 0, label: null }),
      axisTitle(label),
    ],
  };
}

/** The title of the vertical axis, above it, where it can be read without turning one's head. */
export function axisTitle(label: string): Plot.Markish {
  return Plot.text([label], {
    frameAnchor: "top-left",
    dx: -44,
    dy: -20,
    textAnchor: "start",
    fill: "var(--quiet)",
  });
}

/** A vertical axis of numbers with grid. */
export function numberAxis(label: string): Plot.Markish[] {
  return [
    Plot.gridY({ stroke: "var(--grid)", strokeOpacity: 1, ticks: 5 }),
    Plot.axisY({ tickFormat: shortTick, tickSize: 0, label: null, ticks: 5 }),
    axisTitle(label),
  ];
}

/** A tip in the colours of the page. */
export const TIP = { fill: "var(--raised)", stroke: "var(--line)", textPadding: 10, lineHeight: 1.3 } as const;
