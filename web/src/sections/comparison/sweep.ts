// A sweep: a chart for each axis, the parameters of the scalability law, and the reason where it was not fitted.

import { curveName, lawRow, sweepChart } from "../../charts/sweep";
import { el, table } from "../../dom";
import { spaced } from "../../derive/slo";
import { seriesStyles, type SeriesStyle } from "../../derive/palette";
import { refusal } from "../../derive/usl";
import type { Report } from "../../model";
import { terms } from "../../terms";
import type { Section } from "../section";

/** `styleOf` has the styles that the groups along the main axis have elsewhere on the page. */
export function sweepSection({ verdict }: Report, main: string | null, styleOf: (group: string) => SeriesStyle): Section | null {
  const curves = (verdict?.curves ?? []).filter((curve) => curve.points.length > 0);
  if (!verdict || curves.length === 0) return null;
  const axes = [...new Set(curves.map((curve) => curve.axis))];
  const body = axes.flatMap((axis) => {
    const along = curves.filter((curve) => curve.axis === axis);
    const style = axis === main ? styleOf : seriesStyles(along.map(curveName));
    const laws = along.map((curve) => lawRow(curve, verdict.unit)).filter((row): row is string[] => row !== null);
    const refused = along.flatMap((curve) => (curve.usl?.outcome === "refused" ? [`${curveName(curve)}: ${refusal(curve.usl.reason)}`] : []));
    return [
      sweepChart(axis, along, (curve) => style(curveName(curve)), spaced(verdict.metric), verdict.unit, verdict.higher_is_better),
      laws.length > 0 ? table(terms`[[Universal scalability law]]: X(N) = γN ÷ (1 + α(N − 1) + βN(N − 1))`, ["Curve", "γ, at N = 1", terms`α, [[contention]]`, terms`β, [[coherency]]`, "Peak at", "Peak", "Fit error"], laws) : null,
      refused.length > 0 ? el("div", { class: "note" }, el("p", {}, ...terms`The [[universal scalability law]] was not fitted:`), el("ul", {}, ...refused.map((line) => el("li", {}, line)))) : null,
    ];
  });
  return { id: "sweep", title: terms`[[Sweep]]`, short: "Sweep", body };
}
