// A run of transfers: the answer, the one picture, the steps, what ran out, the recovery, and what bounds the machine. The order is
// that of the terminal.

import { concurrencyChart, HEAD, row } from "../charts/concurrency";
import { source } from "../charts/figure";
import type { Concurrency, PlannedConcurrency } from "../concurrency";
import { bytes, capital, counted, date, number, sentenceCase, seconds, unbroken } from "../derive/format";
import { breakable, el, table, type Child } from "../dom";
import type { Report } from "../model";
import { terms } from "../terms";
import { nothing, type Section } from "./section";
import { question, state } from "./comparison/verdict";

/** Whether a run raises the number of transfers, or was to do so. */
export function isOfTransfers({ plan, concurrency }: Report): boolean {
  return Boolean(concurrency) || plan?.kind === "concurrency";
}

/** The answer, in place of a verdict. */
export function transfersAnswer(report: Report): HTMLElement {
  const { run, plan, concurrency: found } = report;
  return el(
    "section",
    { id: "verdict", class: "verdict", "aria-labelledby": "verdict-title" },
    el("p", { class: "kicker" }, question(plan) ?? run.id),
    el("h1", { id: "verdict-title", class: "long-sentence" }, ...(found ? breakable(unbroken(sentenceCase(found.sentence))) : ["No step was held"])),
    found ? el("p", { class: "basis" }, `${capital(counted(found.steps.length, "step"))}, each client at ${bytes(found.pace_bytes_per_s)}/s, from ${counted(found.processes, "process", "processes")}, ${date(found.made_unix_ms)}.`) : null,
    ...state(report),
  );
}

/** The sections of such a run. */
export function transfersSections({ concurrency: found, plan }: Report): Section[] {
  if (!found) return [{ id: "steps", title: "Steps", short: "Steps", body: [nothing("No step was held.")] }];
  return [
    { id: "picture", title: "Where to stop", short: "Picture", body: [concurrencyChart(found, plan?.concurrency) ?? nothing("No step was held.")] },
    { id: "steps", title: "Steps", short: "Steps", body: steps(found, plan?.concurrency) },
    { id: "ran-out", title: "What ran out", short: "What ran out", body: ranOut(found) },
    { id: "limits", title: "What the machines can hold", short: "Limits", body: limits(found) },
  ];
}

function steps(found: Concurrency, plan: PlannedConcurrency | undefined): Child[] {
  const seen = [...found.steps].reverse().find((step) => step.read_interval_s !== undefined)?.read_interval_s;
  return [
    el("p", { class: "basis" }, ...terms`In the order of time. Every client of a [[transfer]] reads about every ${seconds(seen ?? found.read_interval_s)}; memory is for each transfer in progress. Reads that are later than they may be make the [[client]] the limit: the step says nothing of the server.`),
    table("The steps, in the order of time", HEAD, found.steps.map((step) => row(step, plan))),
    el("p", { class: "note" }, `Ended: ${found.ended}.`),
    source("concurrency.json"),
  ];
}

function ranOut({ ran_out = [], recovery }: Concurrency): Child[] {
  const after = recovery
    ? recovery.answered_after_s === undefined
      ? `After the break at ${number(recovery.after_transfers)}, new clients were not answered within a second for ${seconds(recovery.watched_s)}.`
      : `After the break at ${number(recovery.after_transfers)}, all clients left; new ones were answered within a second again after ${seconds(recovery.answered_after_s)}.`
    : null;
  return [
    ran_out.length === 0 ? nothing("Nothing ran out.") : null,
    ...ran_out.map(({ what, sentence, evidence, remedy }, at) =>
      el(
        "article",
        { class: "suspect" },
        el("h3", {}, el("span", { class: `chip ${at === 0 ? "bad" : "unsure"}` }, what), " ", capital(sentence)),
        el("ul", { class: "evidence" }, ...evidence.map((line) => el("li", {}, line))),
        el("p", { class: "remedies-head" }, `What could be done: ${remedy}.`),
      ),
    ),
    after ? el("p", { class: "lead" }, after) : null,
  ];
}

function limits({ limits: bounds, settings = [], chosen = {} }: Concurrency): Child[] {
  const knobs = Object.entries(chosen);
  return [
    bounds.length > 0
      ? table(
          "What bounds the number of transfers, before the run",
          ["Limit", "Value", "Allows", "How to allow more"],
          bounds.map(({ name, value, allows, is_changed, remedy }) => [name, value, is_changed ? "changed for the run" : number(allows), remedy]),
        )
      : nothing("Both ends of the transfers were elsewhere: nothing bounded them on the machine of the run."),
    settings.length > 0
      ? table("Kernel settings that were changed and put back", ["Setting", "Before and after", "During the run"], settings.map(({ name, from, to }) => [name, from, to]))
      : null,
    knobs.length > 0 ? table("Settings of the server for so many connections", ["Knob", "Value"], knobs) : null,
    source("concurrency.json"),
  ];
}
