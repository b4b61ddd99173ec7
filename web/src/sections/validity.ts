// Gates by trials: what each trial passed, failed or could not be asked, and every failure in words.

import { rove } from "../charts/marks";
import { source } from "../charts/figure";
import { el, scroller, table, type Child } from "../dom";
import { counted, number, percent, unbroken } from "../derive/format";
import { gateRows } from "../derive/gates";
import { reasons, type Reason } from "../derive/reasons";
import type { Gate, Report, Trial } from "../model";
import { nothing, type Section } from "./section";

/** Columns that a sheet of paper has room for. */
const MOST_ON_PAPER = 40;

const SIGNS: Record<Gate["outcome"], { sign: string; word: string }> = {
  passed: { sign: "✓", word: "passed" },
  failed: { sign: "✕", word: "failed" },
  not_applicable: { sign: "–", word: "not applicable" },
};

export function validitySection(report: Report): Section {
  const rows = gateRows(report.trials);
  const bad = report.trials.filter((trial) => trial.status !== "valid").length;
  return {
    id: "validity",
    title: "Validity",
    short: "Validity",
    body: [
      el("p", { class: "lead" }, verdictOn(report.trials, bad)),
      bad > 0 ? el("ul", { class: "failures" }, ...reasons(report.trials).map(failure)) : null,
      rows.length > 0 ? matrix(report.trials, rows) : nothing("No gate was recorded."),
      rows.length > 0 ? el("details", {}, el("summary", {}, "What each gate found, and what it allows"), details(rows)) : null,
      counts(report.trials),
      source("trials/*/trial.json"),
    ],
  };
}

function verdictOn(trials: readonly Trial[], bad: number): string {
  if (trials.length === 0) return "No trial was measured.";
  if (bad === 0) return `All ${counted(trials.length, "trial")} passed every gate that applies.`;
  if (bad === trials.length) return `None of ${counted(trials.length, "trial")} counts, so nothing can be concluded.`;
  return `${bad} of ${counted(trials.length, "trial")} ${bad === 1 ? "does" : "do"} not count. The verdict is computed from the others only.`;
}

function failure({ text, trials }: Reason): HTMLElement {
  const links = trials.flatMap((trial, place) => [place > 0 ? ", " : "", el("a", { href: `#trial-${trial.number}` }, `${trial.number} ${trial.variant}`)]);
  return el("li", {}, unbroken(text), el("span", { class: "held" }, trials.length === 1 ? " – trial " : " – trials ", ...links));
}

function matrix(trials: readonly Trial[], rows: ReturnType<typeof gateRows>): HTMLElement {
  const stops: HTMLElement[] = [];
  const cell = (gate: Gate | null, trial: Trial): HTMLElement => {
    if (!gate) return el("td", { class: "unasked" }, el("span", { class: "unseen" }, "not reached"));
    const { sign, word } = SIGNS[gate.outcome] ?? SIGNS.not_applicable;
    const text = [`Trial ${trial.number}, ${gate.id} ${word}`, gate.measured && `measured ${gate.measured}`, gate.threshold && `allowed ${gate.threshold}`, gate.message].filter(Boolean).join(": ");
    const mark = el("span", { class: "sign", tabindex: stops.length === 0 ? 0 : -1, role: "img", "aria-label": text, title: text }, sign);
    stops.push(mark);
    return el("td", { class: gate.outcome }, mark);
  };
  const made = el(
    "table",
    { class: trials.length > MOST_ON_PAPER ? "matrix wide" : "matrix" },
    el("caption", {}, "Gates by trials: ✓ passed, ✕ failed, – not applicable. The arrow keys go from finding to finding."),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Gate"), ...trials.map((trial) => el("th", { scope: "col", class: trial.status, title: `${trial.variant}, block ${trial.block}: ${trial.status}` }, String(trial.number))))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, el("th", { scope: "row" }, row.id), ...row.found.map((gate, place) => cell(gate, trials[place] as Trial))))),
  );
  rove(made, stops);
  return scroller("Gates by trials", made);
}

function details(rows: ReturnType<typeof gateRows>): HTMLElement {
  return table(
    "Gates",
    ["Gate", "Passed", "Failed", "Not applicable", "Allowed", "Last finding"],
    rows.map(({ id, found }) => {
      const of = (outcome: Gate["outcome"]): string => String(found.filter((gate) => gate?.outcome === outcome).length);
      const last = found.filter((gate): gate is Gate => gate !== null).pop();
      return [id, of("passed"), of("failed"), of("not_applicable"), last?.threshold ?? "", [last?.measured, last?.message].filter(Boolean).join(": ")];
    }),
  );
}

function counts(trials: readonly Trial[]): Child {
  const rows = trials.flatMap((trial) =>
    (trial.counts ?? []).map(({ what, client, server }) => [String(trial.number), trial.variant, what, number(client), number(server), client > 0 ? percent(Math.abs(server - client) / client) : "–"]),
  );
  if (rows.length === 0) return null;
  return el("details", {}, el("summary", {}, "The server's own counts against the client's"), table("Counts", ["Trial", "Variant", "What", "Client", "Server", "Off by"], rows));
}
