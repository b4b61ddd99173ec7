// The sides against each other: ratios with their intervals, in a drawing and in words.

import { ratioChart } from "../charts/ratio";
import { breakable, el, type Child } from "../dom";
import { percent, unbroken } from "../derive/format";
import { pointText } from "../derive/cells";
import type { Report, Verdict } from "../model";
import type { Section } from "./section";

/** Part of the answer where there is one comparison or a few. */
export function comparisons(verdict: Verdict, level: 2 | 3): Child[] {
  return [ratioChart(verdict.comparisons, verdict.higher_is_better, level), sentences(verdict)];
}

/** The same below the curves of a sweep, which has them at every point. */
export function comparisonsSection({ plan, verdict }: Report): Section | null {
  if (plan?.kind !== "sweep" || !verdict || verdict.comparisons.length === 0) return null;
  return { id: "comparisons", title: "Against each other", short: "Ratios", body: comparisons(verdict, 3) };
}

function sentences(verdict: Verdict): HTMLElement | null {
  const several = verdict.comparisons.length > 1;
  const said = verdict.comparisons.map((comparison) => {
    const at = pointText(comparison.point);
    const least = comparison.smallest_difference;
    const power = least === null ? "" : ` A difference of ${percent(least)} would have been found in 4 of 5 such runs.`;
    const sentence = several || comparison.sentence !== verdict.sentence ? `${at ? `${at}: ` : ""}${comparison.sentence}.` : "";
    return unbroken(`${sentence}${power}`.trim());
  });
  const lines = said.filter(Boolean);
  if (lines.length === 0) return null;
  return several ? el("ul", { class: "sentences" }, ...lines.map((line) => el("li", {}, ...breakable(line)))) : el("p", { class: "basis" }, ...lines.flatMap(breakable));
}
