// Which resource was saturated in each variant's trials, with the evidence.

import { el, type Child } from "../../dom";
import type { Cell } from "../../derive/cells";
import { bytes, capital, counted, number, percent } from "../../derive/format";
import type { SeriesStyle } from "../../derive/palette";
import { resources, type Resources } from "../../derive/resources";
import { source } from "../../charts/figure";
import type { ServerUsage } from "../../model";
import { terms } from "../../terms";
import type { Section } from "../section";

/** The section has at most this many cards. */
const MAX_CARDS = 12;
/** From this utilisation on a bar has the variant's colour. */
const NEARLY_SATURATED = 0.9;

export function resourceSection(cells: readonly Cell[], style: (cell: Cell) => SeriesStyle): Section | null {
  const cards = cells.slice(0, MAX_CARDS).flatMap((cell) => {
    const ofCell = resources(cell.trials);
    return ofCell.trials > 0 ? [card(cell, style(cell), ofCell)] : [];
  });
  if (cards.length === 0) return null;
  const rest = cells.length - MAX_CARDS;
  return {
    id: "saturation",
    title: terms`[[Saturated resources|saturated]]`,
    short: "Resources",
    body: [
      el("p", {}, ...terms`The bars are the median [[utilisation]] of each resource, over the valid trials.`),
      el("div", { class: "cards" }, ...cards),
      rest > 0 ? el("p", { class: "note" }, `${counted(rest, "more point")} of the sweep: see the files of their trials.`) : null,
      source("trials/*/trial.json"),
    ],
  };
}

function card(cell: Cell, { colour }: SeriesStyle, { saturated, trials, utilisations, typical }: Resources): HTMLElement {
  const [first, ...others] = saturated;
  const isSaturated = first && first.resource !== "none";
  return el(
    "article",
    { class: "card", style: `--series: ${colour}` },
    el("h3", {}, cell.label),
    el(
      "p",
      { class: "saturated" },
      el("strong", {}, isSaturated ? capital(first.resource) : "No resource"),
      ` was saturated in ${first && others.length > 0 ? `${first.trials} of ` : ""}${counted(trials, "valid trial")}.`,
    ),
    others.length > 0 ? el("p", {}, `In the other trials: ${others.map(({ resource, trials: count }) => `${resource} (${count})`).join(", ")}.`) : null,
    bars(utilisations),
    typical?.saturated
      ? el("div", {}, el("p", { class: "note" }, `Evidence from trial ${typical.number}:`), el("ul", { class: "evidence" }, ...typical.saturated.evidence.map((line) => el("li", {}, line))))
      : null,
    typical?.server ? el("p", { class: "note" }, usageText(typical.server)) : null,
  );
}

function usageText({ cores, peak_rss_bytes, processes, threads, descriptors }: ServerUsage): string {
  const parts = [
    `${number(cores)} ${cores === 1 ? "core" : "cores"}`,
    `${bytes(peak_rss_bytes)} of memory at its peak`,
    counted(processes, "process", "processes"),
    counted(threads, "thread"),
    counted(descriptors, "descriptor"),
  ];
  return `The server used ${parts.join(", ")}.`;
}

function bars(utilisations: readonly { resource: string; utilisation: number }[]): Child {
  if (utilisations.length === 0) return null;
  return el(
    "ul",
    { class: "bars", "aria-label": "Median utilisation of each resource" },
    ...utilisations.map(({ resource, utilisation }) => {
      const share = Math.min(1, Math.max(0, utilisation));
      return el(
        "li",
        {},
        el("span", { class: "name" }, resource),
        el("span", { class: share >= NEARLY_SATURATED ? "bar near" : "bar", "aria-hidden": "true" }, el("span", { style: `width: ${(share * 100).toFixed(1)}%` })),
        el("span", { class: "value" }, percent(utilisation)),
      );
    }),
  );
}
