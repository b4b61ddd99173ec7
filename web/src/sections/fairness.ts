// In what the sides differ, the gravest first, and what can still mislead.

import { source } from "../charts/figure";
import { el, folding, table } from "../dom";
import { variantNames } from "../derive/cells";
import type { DifferenceClass, Report } from "../model";
import { nothing, type Section } from "./section";

const CLASSES: Record<DifferenceClass, { order: number; name: string }> = {
  apples_to_oranges: { order: 0, name: "apples to oranges" },
  unexplained: { order: 1, name: "unexplained" },
  expected: { order: 2, name: "expected" },
  the_variant_itself: { order: 3, name: "what is compared" },
};

export function fairnessSection(report: Report): Section {
  const found = [...(report.verdict?.fairness ?? [])].sort((a, b) => (CLASSES[a.class]?.order ?? 9) - (CLASSES[b.class]?.order ?? 9));
  const grave = found.filter((difference) => difference.class === "apples_to_oranges");
  const names = variantNames(report).filter((name) => found.some((difference) => name in difference.values));
  const caveats = report.verdict?.caveats ?? [];
  return {
    id: "fairness",
    title: "Fairness",
    short: "Fairness",
    body: [
      grave.length > 0
        ? el("div", { class: "notice grave", role: "note" }, el("p", {}, el("strong", {}, "Apples to oranges"), `: the sides differ in ${grave.map((difference) => difference.key).join(", ")}. The verdict is about these differences too.`))
        : null,
      found.length > 0
        ? table(
            "In what the variants differ, the gravest first",
            ["Fact", "What it is", ...names, "What it means here"],
            found.map((difference) => [
              el("code", {}, difference.key),
              el("span", { class: `chip ${difference.class}` }, CLASSES[difference.class]?.name ?? String(difference.class)),
              ...names.map((name) => folding(difference.values[name] ?? "–")),
              difference.remark,
            ]),
          )
        : nothing(report.verdict ? "No difference between the sides was found." : "The fairness check is part of the verdict, which was not reached."),
      el("h3", {}, "What can still mislead"),
      caveats.length > 0 ? el("ul", { class: "caveats" }, ...caveats.map(({ text }) => el("li", {}, text))) : nothing("No caveat was recorded."),
      source("verdict.json"),
    ],
  };
}
