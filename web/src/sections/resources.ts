// Which resource was full, for each variant, with the measurements that say so.

import { el, type Child } from "../dom";
import type { Cell } from "../derive/cells";
import { bytes, counted, number, percent } from "../derive/format";
import type { Look } from "../derive/palette";
import { resources } from "../derive/resources";
import { source } from "../charts/figure";
import { nothing, type Section } from "./section";

/** More variants than this are told in the trials' files only. */
const MOST = 12;

export function resourceSection(cells: readonly Cell[], look: (cell: Cell) => Look): Section {
  const cards = cells.slice(0, MOST).flatMap((cell) => {
    const found = resources(cell.trials);
    return found.trials > 0 ? [card(cell, look(cell), found)] : [];
  });
  const rest = cells.length - MOST;
  return {
    id: "full",
    title: "Which resource was full",
    short: "Resources",
    body:
      cards.length > 0
        ? [
            el("div", { class: "cards" }, ...cards),
            rest > 0 ? el("p", { class: "note" }, `And ${counted(rest, "more point")} of the sweep, in the files of their trials.`) : null,
            source("trials/*/trial.json"),
          ]
        : [nothing("No trial says which resource was full.")],
  };
}

function card(cell: Cell, { colour }: Look, found: ReturnType<typeof resources>): HTMLElement {
  const [top, ...others] = found.named;
  const full = top && top.resource !== "none";
  const usage = found.witness?.server;
  return el(
    "article",
    { class: "card", style: `--series: ${colour}` },
    el("h3", {}, cell.label),
    el("p", { class: "full" }, el("strong", {}, full ? top.resource : "nothing was full"), full ? ` was full in ${top.trials} of ${counted(found.trials, "valid trial")}` : ""),
    others.length > 0 ? el("p", {}, `In the others: ${others.map((one) => `${one.resource} (${one.trials})`).join(", ")}.`) : null,
    bars(found.used),
    found.witness?.saturated
      ? el("div", {}, el("p", { class: "note" }, `Evidence, from trial ${found.witness.number}:`), el("ul", { class: "evidence" }, ...found.witness.saturated.evidence.map((line) => el("li", {}, line))))
      : null,
    usage
      ? el("p", { class: "note" }, `The server took ${number(usage.cores)} cores, at most ${bytes(usage.peak_rss_bytes)} of memory, ${counted(usage.processes, "process", "processes")}, ${counted(usage.threads, "thread")}, ${counted(usage.descriptors, "descriptor")}.`)
      : null,
  );
}

function bars(used: readonly { resource: string; utilisation: number }[]): Child {
  if (used.length === 0) return null;
  return el(
    "ul",
    { class: "bars", "aria-label": "How full each resource was, median of the valid trials" },
    ...used.map(({ resource, utilisation }) => {
      const share = Math.min(1, Math.max(0, utilisation));
      return el(
        "li",
        {},
        el("span", { class: "name" }, resource),
        el("span", { class: share >= 0.9 ? "bar near" : "bar", "aria-hidden": "true" }, el("span", { style: `width: ${(share * 100).toFixed(1)}%` })),
        el("span", { class: "value" }, percent(utilisation)),
      );
    }),
  );
}
