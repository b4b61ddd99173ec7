// Every trial beside its variant's median, and notes about modes and about trials without a value.

import { trialsChart } from "../../charts/trials";
import { el, type Child } from "../../dom";
import { hasBound } from "../../derive/bound";
import { median, type Cell } from "../../derive/cells";
import { counted as numberOf, list, quantity } from "../../derive/format";
import { spaced } from "../../derive/slo";
import type { SeriesStyle } from "../../derive/palette";
import type { Report } from "../../model";
import { terms } from "../../terms";
import { counted } from "./counted";
import { cpuTime } from "./cputime";
import { neighbours } from "./neighbours";
import { parts } from "./parts";
import { nothing, type Section } from "../section";

export function trialsSection(report: Report, cells: Cell[], group: (cell: Cell) => string, style: (group: string) => SeriesStyle): Section {
  const first = report.trials.find((trial) => trial.measured)?.measured;
  const measure = spaced(report.verdict?.metric ?? first?.metric ?? "");
  const unit = report.verdict?.unit ?? first?.unit ?? "";
  const source = report.verdict ? "verdict.json and trials/*/trial.json" : "trials/*/trial.json";
  return {
    id: "trials",
    title: terms`[[Trials]] by [[variant]]`,
    short: "Trials",
    body: [
      first ? trialsChart(cells, group, style, measure, unit, source, hasBound(report.verdict)) : nothing("No trial has a value."),
      ...notValid(cells, unit),
      ...modes(cells, unit),
      cpuTime(cells),
      parts(cells),
      neighbours(cells),
      counted(cells),
      ...withoutValue(report),
    ],
  };
}

function modes(cells: readonly Cell[], unit: string): Child[] {
  const split = cells.filter((cell) => (cell.summary?.modes?.length ?? 0) > 1);
  return split.map((cell) => {
    const levels = (cell.summary?.modes ?? []).map((mode) => `${quantity(mode.centre, unit)} (trials ${list(mode.trials.map(String))})`);
    return el("div", { class: "notice", role: "note" }, el("p", {}, el("strong", {}, `${cell.label} has ${levels.length} `, ...terms`[[modes]]`), `: its trials gather at ${list(levels)}. A median between them describes neither. Find out what differs between starts of the server.`));
  });
}

/** The medians of variants of which no trial counts, in grey. */
function notValid(cells: readonly Cell[], unit: string): Child[] {
  const rows = cells.flatMap(({ label, summary }) => {
    const middle = summary && summary.median === null ? median(summary.values.map(({ value }) => value)) : null;
    return middle === null ? [] : [`${label}: ${quantity(middle, unit)}, not valid (${numberOf(summary?.values.length ?? 0, "trial")}, and none counts)`];
  });
  return rows.map((row) => el("p", { class: "note never" }, row));
}

function withoutValue({ trials }: Report): Child[] {
  const missing = trials.filter((trial) => !trial.measured);
  if (missing.length === 0) return [];
  const names = missing.map((trial) => `${trial.number} (${trial.variant}, ${trial.status})`);
  return [el("p", { class: "note" }, `No value: ${missing.length === 1 ? "trial" : "trials"} ${list(names)}. The reasons are under `, el("a", { href: "#validity" }, "Validity"), ".")];
}
