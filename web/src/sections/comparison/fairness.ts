// Differences between the variants, the most serious first, and the caveats of the run.

import { source } from "../../charts/figure";
import { el, folding, stacked, type Child } from "../../dom";
import { counted } from "../../derive/format";
import { variantNames } from "../../derive/cells";
import { terms } from "../../terms";
import type { Difference, DifferenceClass, Report } from "../../model";
import { nothing, type Section } from "../section";

const CLASSES: Record<DifferenceClass, { order: number; name: string }> = {
  apples_to_oranges: { order: 0, name: "apples to oranges" },
  unexplained: { order: 1, name: "unexplained" },
  expected: { order: 2, name: "expected" },
  the_variant_itself: { order: 3, name: "the variant itself" },
};

export function fairnessSection(report: Report): Section {
  const differences = [...(report.verdict?.fairness ?? [])].sort((a, b) => (CLASSES[a.class]?.order ?? 9) - (CLASSES[b.class]?.order ?? 9));
  const serious = differences.filter((difference) => difference.class === "apples_to_oranges");
  const names = variantNames(report).filter((name) => differences.some((difference) => name in difference.values));
  // What is expected is many rows with one reason, and asks nothing of a reader.
  const expected = differences.filter((difference) => difference.class === "expected");
  const first = differences.filter((difference) => difference.class !== "expected");
  const caveats = report.verdict?.caveats ?? [];
  return {
    id: "fairness",
    title: terms`[[Fairness]]`,
    short: "Fairness",
    body: [
      serious.length > 0
        ? el("div", { class: "notice serious", role: "note" }, el("p", {}, el("strong", {}, ...terms`[[Apples to oranges]]`), `: the variants differ in ${serious.map((difference) => difference.key).join(", ")}. The verdict includes the effect of these differences.`))
        : null,
      first.length > 0
        ? stacked(
            "Differences between the variants, the most serious first",
            ["Fact", "Class", ...names, "Effect"],
            first.map((difference) => [
              el("code", {}, difference.key),
              el("span", { class: `chip ${difference.class}` }, CLASSES[difference.class]?.name ?? String(difference.class)),
              ...values(difference, names),
              difference.remark,
            ]),
          )
        : null,
      ...[...byRemark(expected)].map(([remark, group]) => expectedOnes(remark, group, names)),
      differences.length > 0
        ? null
        : nothing(report.verdict ? "The variants do not differ in any recorded fact." : "The run reached no verdict, and the fairness check is part of it."),
      el("h3", {}, ...terms`[[Caveats]]: what can still mislead`),
      caveats.length > 0 ? el("ul", { class: "caveats" }, ...caveats.map(({ text }) => el("li", {}, text))) : nothing("No known caveat applies."),
      source("verdict.json"),
    ],
  };
}

function values(difference: Difference, names: readonly string[]): Child[] {
  return names.map((name) => folding(difference.values[name] ?? "–"));
}

function byRemark(differences: readonly Difference[]): Map<string, Difference[]> {
  const groups = new Map<string, Difference[]>();
  for (const difference of differences) groups.set(difference.remark, [...(groups.get(difference.remark) ?? []), difference]);
  return groups;
}

/** Expected differences with one reason, folded. */
function expectedOnes(remark: string, group: readonly Difference[], names: readonly string[]): HTMLElement {
  const title = `${counted(group.length, "expected difference")} (${group.map(({ key }) => key).join(", ")}): ${remark}`;
  const rows = group.map((difference) => [el("code", {}, difference.key), ...values(difference, names)]);
  return el("details", {}, el("summary", {}, title), stacked("Expected differences", ["Fact", ...names], rows));
}
