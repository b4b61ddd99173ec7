// The measured value along one axis of a sweep: medians, ranges, and the universal scalability law where it was fitted.

import * as Plot from "@observablehq/plot";
import { capital, number, percent, quantity, tick } from "../derive/format";
import { groupName } from "../derive/groups";
import type { SeriesStyle } from "../derive/palette";
import { curve as uslCurve } from "../derive/usl";
import type { SweepCurve } from "../model";
import { terms } from "../terms";
import { figure, legend } from "./figure";
import { draw, logAxis, thinned, ticksFor } from "./plot";

type At = SweepCurve["points"][number];

export function curveName(curve: SweepCurve): string {
  return groupName(curve.variant, curve.fixed);
}

export function sweepChart(axis: string, curves: readonly SweepCurve[], style: (curve: SweepCurve) => SeriesStyle, measure: string, unit: string, higherIsBetter: boolean): HTMLElement {
  const places = curves.flatMap((curve) => curve.points.map((point) => point.at));
  const [low, high] = [Math.min(...places), Math.max(...places)];
  const wide = low > 0 && high / low >= 16;
  const distinct = [...new Set(places)].sort((a, b) => a - b);
  const ticksAt = (width: number): number[] => thinned(distinct, ticksFor(width, 48));
  const laws = curves.flatMap((curve) => (curve.usl?.outcome === "fitted" ? [{ curve, line: uslCurve(curve.usl, low, high), fit: curve.usl }] : []));
  return figure({
    title: `${capital(measure)} by ${axis}`,
    summary: curves
      .map((curve) => {
        const best = curve.points.reduce<At | null>((so, point) => (so && (higherIsBetter ? so.median >= point.median : so.median <= point.median) ? so : point), null);
        return `${curveName(curve)}: ${higherIsBetter ? "highest" : "lowest"} ${quantity(best?.median, unit)} at ${axis}=${number(best?.at)}`;
      })
      .join(". "),
    note: terms`Each mark is the [[median]] of the [[valid trials]], and each bar their range. ${laws.length > 0 ? terms`The dashed line is the [[universal scalability law]], fitted to the medians.` : null}`,
    legend: legend(curves.map((curve) => ({ name: curveName(curve), style: style(curve) }))),
    source: "verdict.json",
    table: {
      head: ["Curve", axis, "Median", "Minimum", "Maximum"],
      rows: curves.flatMap((curve) => curve.points.map((point) => [curveName(curve), number(point.at), quantity(point.median, unit), quantity(point.min, unit), quantity(point.max, unit)])),
    },
    draw: (width) =>
      draw(width, {
        height: Math.min(440, Math.max(300, width * 0.5)),
        marginLeft: 60,
        marginTop: 32,
        x: { type: wide ? "log" : "linear", axis: null, inset: 8 },
        y: { zero: true, nice: true, grid: true, tickFormat: tick, label: `↑ ${unit}` },
        marks: [
          logAxis("x", ticksAt(width), tick, `${axis}  →`),
          Plot.ruleY([0], { strokeOpacity: 0.3 }),
          laws.map(({ curve, line }) => Plot.lineY(line, { x: "at", y: "value", stroke: style(curve).colour, strokeWidth: 1.5, strokeDasharray: "6 4", className: "law" })),
          curves.flatMap((curve) => [
            laws.some((law) => law.curve === curve) ? null : Plot.lineY(curve.points, { x: "at", y: "median", stroke: style(curve).colour, strokeWidth: 2 }),
            Plot.ruleX(curve.points, { x: "at", y1: "min", y2: "max", stroke: style(curve).colour, strokeWidth: 5, strokeOpacity: 0.3, strokeLinecap: "round" }),
            Plot.dot(curve.points, {
              x: "at",
              y: "median",
              r: 4.5,
              symbol: style(curve).symbol,
              fill: style(curve).colour,
              stroke: "var(--surface)",
              title: (point: At) => `${curveName(curve)}, ${axis}=${number(point.at)}: ${quantity(point.median, unit)} (${quantity(point.min, unit)} to ${quantity(point.max, unit)})`,
              className: "sweep-point",
            }),
          ]),
          laws
            .filter(({ fit }) => fit.peak_load >= low && fit.peak_load <= high)
            .map(({ curve, fit }) => [
              Plot.ruleX([fit], { x: "peak_load", y1: 0, y2: "peak_throughput", stroke: style(curve).colour, strokeDasharray: "2 3" }),
              Plot.text([fit], { x: "peak_load", y: "peak_throughput", dy: -12, text: () => `peak at ${number(Math.round(fit.peak_load))}`, fill: style(curve).colour, fontWeight: 600, stroke: "var(--surface)", strokeWidth: 3 }),
            ]),
        ],
      }),
  });
}

/** The parameters of the law as a row of a table; null where it was not fitted. */
export function lawRow(curve: SweepCurve, unit: string): string[] | null {
  const usl = curve.usl;
  if (usl?.outcome !== "fitted") return null;
  return [
    curveName(curve),
    quantity(usl.gamma, unit),
    percent(usl.alpha),
    usl.beta.toPrecision(3),
    number(Math.round(usl.peak_load)),
    quantity(usl.peak_throughput, unit),
    percent(usl.relative_error),
  ];
}
