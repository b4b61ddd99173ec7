// What the variants cost, where the report was made with a file of targets; and published figures of the same workload, for scale.

import { publishedChart } from "../../charts/published";
import { breakable, el, table, type Child } from "../../dom";
import { MISSING, capital, number } from "../../derive/format";
import type { Cost, CostPower, PublishedFigure, VariantCost } from "../../costs";
import type { Report } from "../../model";
import { figure, sentenceList, workOf } from "./costfigure";
import type { Section } from "../section";

export function costSection({ cost }: Report): Section | null {
  if (!cost) return null;
  const body: Child[] = [
    sentenceList([...cost.comparisons, ...cost.over_load].map(({ sentence }) => sentence)),
    el("p", { class: "basis" }, basis(cost)),
    table(
      "Cost of the variants, with the 95 % confidence interval of the measurement",
      ["Figure", ...cost.variants.map(({ variant }) => el("span", {}, ...breakable(variant)))],
      rows(cost),
    ),
    el("p", { class: "note" }, "SWaP = performance / (rack units × watts at load). The cost of a million operations assumes that the server carries its whole performance in its hours at load."),
    missing(cost),
    sentenceList(cost.notes),
    publishedChart(cost.variants, cost.published),
    published(cost.published),
  ];
  return { id: "cost", title: "Cost", short: "Cost", body };
}

/** What the figures rest on, from the file of targets. */
function basis(cost: Cost): string {
  const parts = [
    cost.life_years === null ? "" : `life ${number(cost.life_years)} years`,
    cost.hours_at_load_a_day >= 24 ? "at load all day" : `at load ${number(cost.hours_at_load_a_day)} h a day`,
    cost.pue === null ? "" : `PUE ${number(cost.pue)}`,
    cost.price_per_kwh === null ? "" : `${number(cost.price_per_kwh)} ${cost.currency}/kWh`,
    cost.grid_intensity_g_per_kwh === null ? "" : `${number(cost.grid_intensity_g_per_kwh)} g CO2e/kWh`,
  ];
  return `From the file of targets: ${parts.filter(Boolean).join(", ")}.`;
}

/** A row for each figure that a variant has, and a column for each variant: variants are few, and their figures many. */
function rows({ variants, currency }: Cost): Child[][] {
  const [first, ...others] = new Set(variants.map(({ unit }) => unit));
  const work = workOf(others.length === 0 ? first : undefined);
  const row = (head: string, cell: (variant: VariantCost) => Child): Child[] => [head, ...variants.map(cell)];
  const all = [
    row("Machine", ({ target }) => target),
    row("Performance", ({ performance, unit }) => figure(performance, unit)),
    row("Power at load", ({ power_at_load }) => power(power_at_load)),
    row("Power idle", ({ power_idle }) => power(power_idle)),
    row(`${capital(work)} a joule`, ({ operations_per_joule }) => figure(operations_per_joule)),
    row("SWaP", ({ swap }) => figure(swap)),
    row("Energy a year, kWh", ({ energy_kwh_a_year }) => number(energy_kwh_a_year)),
    row(`Energy cost a year, ${currency}`, ({ energy_cost_a_year }) => number(energy_cost_a_year)),
    row(`Total cost over the life, ${currency}`, ({ total_cost }) => number(total_cost)),
    row(`Cost of a million ${work}, ${currency}`, ({ cost_of_a_million }) => figure(cost_of_a_million)),
    row("Carbon a year, kg", ({ carbon_kg_a_year }) => number(carbon_kg_a_year)),
    row(`Carbon of a million ${work}, g`, ({ carbon_g_of_a_million }) => figure(carbon_g_of_a_million)),
  ];
  return all.filter(([, ...cells]) => cells.some((cell) => cell !== MISSING));
}

/** Watts with their boundary; those without a meter are an estimate. */
function power(value: CostPower | null): Child {
  if (!value) return MISSING;
  return [`${number(value.watts)} W ${value.boundary}`, el("br"), el("small", {}, value.is_estimate ? `estimate: ${value.source}` : value.source)];
}

/** Each reason once, with the figures that it keeps from being computed. */
function missing({ variants }: Cost): Child {
  const figures = new Map<string, Set<string>>();
  for (const { figure, why } of variants.flatMap((variant) => variant.missing)) {
    figures.set(why, (figures.get(why) ?? new Set()).add(figure));
  }
  if (figures.size === 0) return null;
  const line = ([why, names]: [string, Set<string>]): Child => el("li", {}, `No ${[...names].join(", ")}: ${why}.`);
  return el("ul", { class: "sentences" }, ...[...figures].map(line));
}

function published(figures: readonly PublishedFigure[]): Child {
  if (figures.length === 0) return null;
  const rows = figures.map(({ year, system, metric, value, variant, client, caveat }) => [
    `${year} ${system ?? "several machines"}`,
    /^[\d,.]+$/.test(value) ? `${value} ${metric}` : `${metric}: ${value}`,
    variant ?? MISSING,
    client ?? MISSING,
    caveat ?? MISSING,
  ]);
  return el(
    "details",
    {},
    el("summary", {}, "Published figures of this workload, for scale"),
    el("p", { class: "note" }, "Other machines, clients and versions, years ago: for the order of magnitude only."),
    table("Published figures", ["Year and machine", "Figure", "Variant", "Client", "Caveat"], rows),
  );
}
