// Gates by trials: what each trial passed, failed or could not be asked, and every failure in words.

import { rove } from "../charts/marks";
import { source } from "../charts/figure";
import { el, scroller, table, type Child } from "../dom";
import { counted, number, percent, sentence, unbroken } from "../derive/format";
import { gateRows } from "../derive/gates";
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
  const bad = report.trials.filter((trial) => trial.status !== "valid");
  return {
    id: "validity",
    title: "Validity",
    short: "Validity",
    body: [
      el("p", { class: "lead" }, report.trials.length === 0 ? "No trial was measured." : bad.length === 0 ? `All ${counted(report.trials.length, "trial")} passed every gate that applies.` : `${bad.length} of ${counted(report.trials.length, "trial")} ${bad.length === 1 ? "does" : "do"} not count. The verdict is computed from the others only.`),
      bad.length > 0 ? el("ul", { class: "failures" }, ...bad.map(failure)) : null,
      rows.length > 0 ? matrix(report.trials, rows) : nothing("No gate was recorded."),
      rows.length > 0 ? el("details", {}, el("summary", {}, "What each gate found, and what it allows"), details(rows)) : null,
      counts(report.trials),
      source("trials/*/trial.json"),
    ],
  };
}

function failure(trial: Trial): HTMLElement {
  const failed = (trial.gates ?? []).filter((gate) => gate.outcome === "failed");
  const words = failed.map((gate) => `${gate.id}: ${unbroken(gate.measured)} (allowed: ${unbroken(gate.threshold)}). ${sentence(unbroken(gate.message))}`);
  const said = words.length > 0 ? words : (trial.reasons ?? []).map(sentence);
  return el("li", {}, el("a", { href: `#trial-${trial.number}` }, `Trial ${trial.number}, ${trial.variant}`), `, ${trial.status}`, ` – ${said.join(" ") || "no reason recorded"}`);
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
