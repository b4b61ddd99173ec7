// Gates by trials: which gates each trial passed or failed, and every failure in words.

import { roveFocus } from "../charts/marks";
import { source } from "../charts/figure";
import { el, scroller, table, type Child } from "../dom";
import { counted, number, percent, unbroken } from "../derive/format";
import { gateRows } from "../derive/gates";
import { hasBound } from "../derive/bound";
import { reasons, type Reason } from "../derive/reasons";
import { hasTimeline } from "../derive/timeline";
import type { Gate, Refusal, Report, Trial } from "../model";
import { terms } from "../terms";
import { nothing, type Section } from "./section";

/** A sheet of paper has room for this many columns. */
const MAX_ON_PAPER = 40;

const SIGNS: Record<Gate["outcome"], { sign: string; word: string }> = {
  passed: { sign: "✓", word: "passed" },
  failed: { sign: "✕", word: "failed" },
  noted: { sign: "!", word: "noted" },
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
      el("p", { class: "lead" }, ...summary(report.trials, bad), hasBound(report.verdict) ? BOUND : null),
      bad > 0 ? el("ul", { class: "failures" }, ...reasons(report.trials).map((reason) => failure(reason, report.trials.length))) : null,
      rows.length > 0 ? matrix(report.trials, rows) : nothing("No trial recorded a gate."),
      rows.length > 0 ? el("details", {}, el("summary", {}, "Thresholds and measured values of each gate"), details(rows)) : null,
      refusals(report.verdict?.refusals ?? []),
      counts(report.trials),
      source("trials/*/trial.json"),
    ],
  };
}

function summary(trials: readonly Trial[], bad: number): Child[] {
  if (trials.length === 0) return ["No trial was measured."];
  if (trials.length === 1) return bad === 0 ? terms`The only trial is [[valid]]: it passed every [[gate]] that applies.` : terms`The only trial is not [[valid]], so there is no [[verdict]]. Its failed [[gates]] are:`;
  const noted = trials.some(({ gates }) => gates?.some(({ outcome }) => outcome === "noted")) ? " What was beyond a limit and is only noted has an exclamation mark." : "";
  if (bad === 0) return terms`All ${counted(trials.length, "trial")} are [[valid]]: no [[gate]] failed.${noted}`;
  if (bad === trials.length) return terms`None of ${counted(trials.length, "trial")} is [[valid]], so there is no [[verdict]]. The failed [[gates]] are:`;
  return terms`${String(bad)} of ${counted(trials.length, "trial")} ${bad === 1 ? "is" : "are"} not [[valid]], because of a failed [[gate]] or because no value was measured. The [[verdict]] uses the valid trials only.`;
}

/** What a verdict that is a bound uses besides the valid trials. */
const BOUND = " Where the verdict is \"at least\", trials that failed nothing but the gate client count, too: as the least that their servers carried.";

function failure({ text, trials }: Reason, all: number): HTMLElement {
  if (trials.length === all && all > 1) return el("li", {}, unbroken(text), el("span", { class: "affected" }, " – all trials"));
  const links = trials.flatMap((trial, place) => [place > 0 ? ", " : "", trialLink(trial, `${trial.number}\u00a0${trial.variant}`)]);
  return el("li", {}, unbroken(text), el("span", { class: "affected" }, trials.length === 1 ? " – trial " : " – trials ", ...links));
}

/** A trial leads to its time line, where it has one. */
function trialLink(trial: Trial, text: string): Child {
  return hasTimeline(trial) ? el("a", { href: `#trial-${trial.number}` }, text) : text;
}

function matrix(trials: readonly Trial[], rows: ReturnType<typeof gateRows>): HTMLElement {
  const stops: HTMLElement[] = [];
  const cell = (gate: Gate | null, trial: Trial): HTMLElement => {
    if (!gate) return el("td", { class: "not_reached" }, el("span", { class: "unseen" }, "not reached"));
    const { sign, word } = SIGNS[gate.outcome] ?? SIGNS.not_applicable;
    const text = [`Trial ${trial.number}, ${gate.id} ${word}`, gate.measured && `measured ${gate.measured}`, gate.threshold && `allowed ${gate.threshold}`, gate.message].filter(Boolean).join(": ");
    const mark = el("span", { class: "sign", tabindex: stops.length === 0 ? 0 : -1, role: "img", "aria-label": text, title: text }, sign);
    stops.push(mark);
    return el("td", { class: gate.outcome }, mark);
  };
  const made = el(
    "table",
    { class: trials.length > MAX_ON_PAPER ? "matrix wide" : "matrix" },
    el("caption", {}, el("span", {}, ...terms`[[Gates]] by [[trials]]: ✓ passed, ✕ failed, ! beyond the limit, and noted only, – not applicable. The arrow keys move between the cells.`)),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Gate"), ...trials.map((trial) => el("th", { scope: "col", class: trial.status, title: `${trial.variant}, block ${trial.block}: ${trial.status}` }, String(trial.number))))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, el("th", { scope: "row" }, row.id), ...row.outcomes.map((gate, place) => cell(gate, trials[place] as Trial))))),
  );
  roveFocus(made, stops);
  return scroller("Gates by trials", made);
}

function details(rows: ReturnType<typeof gateRows>): HTMLElement {
  return table(
    "Gates",
    ["Gate", "Passed", "Failed", "Noted", "Not applicable", "Allowed", "Last measured"],
    rows.map(({ id, outcomes }) => {
      const count = (outcome: Gate["outcome"]): string => String(outcomes.filter((gate) => gate?.outcome === outcome).length);
      const last = outcomes.filter((gate): gate is Gate => gate !== null).pop();
      return [id, count("passed"), count("failed"), count("noted"), count("not_applicable"), last?.threshold ?? "", [last?.measured, last?.message].filter(Boolean).join(": ")];
    }),
  );
}

const REFUSED: Record<Refusal["when"], string> = {
  always: "invalid",
  unless_disturbed: "invalid, unless other programs or the hypervisor disturb the machine",
  never: "noted: it meets all servers of the block alike, and the interval has the scatter",
};

/** What makes a trial of this run invalid, and what is only noted. */
function refusals(rows: readonly Refusal[]): Child {
  if (rows.length === 0) return null;
  const cells = rows.map(({ gate, limit, why, when }) => [gate, limit, REFUSED[when] ?? when, why]);
  return el("details", {}, el("summary", {}, "What makes a trial invalid, and why"), table("What makes a trial invalid, and why", ["Gate", "What exceeds it", "In this run", "Why such a trial does not count"], cells));
}

function counts(trials: readonly Trial[]): Child {
  const rows = trials.flatMap((trial) =>
    (trial.counts ?? []).map(({ counter, client, unanswered = 0, server }) => {
      // The server may have carried out what it did not answer.
      const expected = Math.min(Math.max(server, client - unanswered), client);
      const difference = client > 0 ? percent(Math.abs(server - expected) / client) : "–";
      return [String(trial.number), trial.variant, counter, number(client), number(unanswered), number(server), difference];
    }),
  );
  if (rows.length === 0) return null;
  return el("details", {}, el("summary", {}, "Operations counted by the server and by the client"), table("Operations counted by the server and by the client", ["Trial", "Variant", "Counter", "Client", "Without a reply", "Server", "Difference"], rows));
}
