// Every trial beside its variant's median; two modes and trials without a value are pointed out in words.

import { trialsChart } from "../charts/trials";
import { el, type Child } from "../dom";
import type { Cell } from "../derive/cells";
import { list, quantity } from "../derive/format";
import { spaced } from "../derive/slo";
import type { Look } from "../derive/palette";
import type { Report } from "../model";
import { counted } from "./counted";
import { nothing, type Section } from "./section";

export function trialsSection(report: Report, cells: Cell[], group: (cell: Cell) => string, look: (group: string) => Look): Section {
  const first = report.trials.find((trial) => trial.measured)?.measured;
  const measure = spaced(report.verdict?.measure ?? first?.what ?? "");
  const unit = report.verdict?.unit ?? first?.unit ?? "";
  const source = report.verdict ? "verdict.json and trials/*/trial.json" : "trials/*/trial.json";
  return {
    id: "trials",
    title: "Variants and their trials",
    short: "Trials",
    body: [
      first ? trialsChart(cells, group, look, measure, unit, source) : nothing("No trial came as far as a value."),
      ...modes(cells, unit),
      counted(cells),
      ...without(report),
    ],
  };
}

function modes(cells: readonly Cell[], unit: string): Child[] {
  const split = cells.filter((cell) => (cell.summary?.modes?.length ?? 0) > 1);
  return split.map((cell) => {
    const levels = (cell.summary?.modes ?? []).map((mode) => `${quantity(mode.centre, unit)} (trials ${list(mode.trials.map(String))})`);
    return el("div", { class: "notice", role: "note" }, el("p", {}, el("strong", {}, `${cell.label} has ${levels.length} modes`), `: its trials gather at ${list(levels)}. A median between them describes neither: find out what differs from start to start.`));
  });
}

function without({ trials }: Report): Child[] {
  const lost = trials.filter((trial) => !trial.measured);
  if (lost.length === 0) return [];
  const names = lost.map((trial) => `${trial.number} (${trial.variant}, ${trial.status})`);
  return [el("p", { class: "note" }, `Without a value: ${lost.length === 1 ? "trial" : "trials"} ${list(names)}. Why is said under `, el("a", { href: "#validity" }, "Validity"), ".")];
}
