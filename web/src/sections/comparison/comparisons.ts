// The comparisons of the verdict: each ratio with its confidence interval, as a chart and as a sentence.

import { ratioChart } from "../../charts/ratio";
import { breakable, el, type Child } from "../../dom";
import { percent, unbroken } from "../../derive/format";
import { pointText } from "../../derive/cells";
import type { Report, Verdict } from "../../model";
import { estimands } from "./estimand";
import type { Section } from "../section";

/** A part of the answer in a comparison of variants. */
export function comparisons(verdict: Verdict, level: 2 | 3): Child[] {
  return [ratioChart(verdict.comparisons, verdict.higher_is_better, level), sentences(verdict)];
}

/** A section of its own in a sweep, which compares at every point. */
export function comparisonsSection(report: Report): Section | null {
  const { plan, verdict } = report;
  if (plan?.kind !== "sweep" || !verdict || verdict.comparisons.length === 0) return null;
  return { id: "comparisons", title: "Comparisons", short: "Ratios", body: [...comparisons(verdict, 3), ...estimands(report)] };
}

function sentences(verdict: Verdict): HTMLElement | null {
  const several = verdict.comparisons.length > 1;
  const texts = verdict.comparisons.map((comparison) => {
    const at = pointText(comparison.point);
    const least = comparison.smallest_difference;
    const power = least === null ? "" : ` A run of this size finds a difference of ${percent(least)} or more in 4 of 5 cases.`;
    const sentence = several || !verdict.sentence.startsWith(comparison.sentence) ? `${at ? `${at}: ` : ""}${comparison.sentence}.` : "";
    return unbroken(`${sentence}${power}`.trim());
  });
  const lines = texts.filter(Boolean);
  if (lines.length === 0) return null;
  return several ? el("ul", { class: "sentences" }, ...lines.map((line) => el("li", {}, ...breakable(line)))) : el("p", { class: "basis" }, ...lines.flatMap(breakable));
}
