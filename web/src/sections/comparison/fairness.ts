// Differences between the variants, the most serious first, and the caveats of the run.

import { source } from "../../charts/figure";
import { el, folding, table } from "../../dom";
import { variantNames } from "../../derive/cells";
import { terms } from "../../terms";
import type { DifferenceClass, Report } from "../../model";
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
  const caveats = report.verdict?.caveats ?? [];
  return {
    id: "fairness",
    title: terms`[[Fairness]]`,
    short: "Fairness",
    body: [
      serious.length > 0
        ? el("div", { class: "notice serious", role: "note" }, el("p", {}, el("strong", {}, ...terms`[[Apples to oranges]]`), `: the variants differ in ${serious.map((difference) => difference.key).join(", ")}. The verdict includes the effect of these differences.`))
        : null,
      differences.length > 0
        ? table(
            "Differences between the variants, the most serious first",
            ["Fact", "Class", ...names, "Effect"],
            differences.map((difference) => [
              el("code", {}, difference.key),
              el("span", { class: `chip ${difference.class}` }, CLASSES[difference.class]?.name ?? String(difference.class)),
              ...names.map((name) => folding(difference.values[name] ?? "–")),
              difference.remark,
            ]),
          )
        : nothing(report.verdict ? "The variants do not differ in any recorded fact." : "The run reached no verdict, and the fairness check is part of it."),
      el("h3", {}, ...terms`[[Caveats]]: what can still mislead`),
      caveats.length > 0 ? el("ul", { class: "caveats" }, ...caveats.map(({ text }) => el("li", {}, text))) : nothing("No known caveat applies."),
      source("verdict.json"),
    ],
  };
}
