// The answer: the verdict in a sentence, the state of the run where it is not whole, what was compared.

import { breakable, el, type Child } from "../dom";
import { capital, counted, unbroken } from "../derive/format";
import { valid } from "../derive/cells";
import { spaced } from "../derive/slo";
import type { Plan, Report } from "../model";
import { comparisons } from "./comparisons";

const STATES: Record<string, string> = {
  running: "This run is not over yet: what stands here is what has been measured so far.",
  unfinished: "This run was stopped or cut off before its verdict: what stands here is what was measured.",
  damaged: "A part of this run cannot be read: what stands here is the rest.",
};

export function verdictSection(report: Report): HTMLElement {
  const { run, plan, verdict } = report;
  return el(
    "section",
    { id: "verdict", class: "verdict", "aria-labelledby": "verdict-title" },
    el("p", { class: "kicker" }, question(plan) ?? run.id),
    el("h1", { id: "verdict-title" }, ...breakable(unbroken(heading(verdict?.sentence ?? "No verdict was reached")))),
    el("p", { class: "basis" }, basis(report)),
    ...state(report),
    // Those of a sweep are many, and its curves say more at a glance: they have a section of their own.
    ...(verdict && plan?.kind !== "sweep" ? comparisons(verdict, 2) : []),
  );
}

/** How many trials it rests on, and in how many blocks they were held. */
function basis({ plan, trials }: Report): string {
  if (trials.length === 0) return "No trial was measured.";
  const count = `${counted(valid(trials).length, "valid trial")} of ${trials.length}`;
  if (!plan) return `${count}.`;
  const added = Math.max(...trials.map((trial) => trial.block)) - plan.blocks;
  return `${count}, ${counted(plan.blocks, "block")} planned${added > 0 ? ` and ${added} added for trials that do not count` : ""}.`;
}

/** The verdict's own words begin with a capital; most sentences begin with a name, which stays as it is written. */
function heading(sentence: string): string {
  return sentence.replace(/^(inconclusive|no difference shown)/, capital);
}

function question(plan: Plan | null): string | null {
  if (!plan) return null;
  const measures: Record<string, string> = {
    max_throughput: "throughput in a closed loop",
    max_bytes: "bytes a second in a closed loop",
    one_by_one: "operations an hour, one at a time",
    capacity: "capacity",
    latency_curve: "latency over load",
  };
  const slo = "slo" in plan.measure && plan.measure.slo ? ` at ${spaced(plan.measure.slo)}` : "";
  const workload = plan.workload.replace(/\/workload\.toml$/, "").split("/").pop() || plan.workload;
  return [workload, plan.on_op, (measures[plan.measure.what] ?? plan.measure.what) + slo].filter(Boolean).join("  ·  ");
}

function state({ run, verdict }: Report): Child[] {
  const lines = [STATES[run.state], verdict && !verdict.complete ? "It does not rest on every block that was planned: the run was stopped early." : null];
  const notes = lines.filter((line): line is string => Boolean(line));
  if (notes.length === 0 && run.problems.length === 0) return [];
  return [
    el(
      "div",
      { class: "notice", role: "note" },
      ...notes.map((line) => el("p", {}, line)),
      run.problems.length > 0
        ? el("ul", {}, ...run.problems.map(({ file, text }) => el("li", {}, el("code", {}, file), " ", text)))
        : null,
    ),
  ];
}
