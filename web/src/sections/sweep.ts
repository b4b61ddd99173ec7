// A sweep: a chart for each axis, the law's parameters, and in words where the law was refused.

import { curveName, lawRow, sweepChart } from "../charts/sweep";
import { el, table } from "../dom";
import { spaced } from "../derive/slo";
import { looks, type Look } from "../derive/palette";
import { refusal } from "../derive/usl";
import type { Report } from "../model";
import type { Section } from "./section";

/** `look` gives the groups along the main axis theirs, as elsewhere on the page. */
export function sweepSection({ verdict }: Report, main: string | null, lookOf: (group: string) => Look): Section | null {
  const curves = (verdict?.curves ?? []).filter((curve) => curve.points.length > 0);
  if (!verdict || curves.length === 0) return null;
  const axes = [...new Set(curves.map((curve) => curve.axis))];
  const body = axes.flatMap((axis) => {
    const along = curves.filter((curve) => curve.axis === axis);
    const look = axis === main ? lookOf : looks(along.map(curveName));
    const laws = along.map((curve) => lawRow(curve, verdict.unit)).filter((row): row is string[] => row !== null);
    const refused = along.flatMap((curve) => (curve.usl?.outcome === "refused" ? [`${curveName(curve)}: ${refusal(curve.usl.reason)}`] : []));
    return [
      sweepChart(axis, along, (curve) => look(curveName(curve)), spaced(verdict.measure), verdict.unit),
      laws.length > 0 ? table("The universal scalability law, X(N) = γN ÷ (1 + α(N − 1) + βN(N − 1))", ["Curve", "γ, at a load of one", "α, contention", "β, coherency", "Peak at", "Peak", "Typical distance"], laws) : null,
      refused.length > 0 ? el("div", { class: "note" }, el("p", {}, "The law was not fitted:"), el("ul", {}, ...refused.map((line) => el("li", {}, line)))) : null,
    ];
  });
  return { id: "sweep", title: "Along the axes", short: "Sweep", body };
}
