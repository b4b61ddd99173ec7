// The answer: the verdict in a sentence, the state of the run where it is not whole, the ratio with its interval.

import { ratioChart } from "../charts/ratio";
import { el, type Child } from "../dom";
import { counted, percent, unbroken } from "../derive/format";
import { pointText, valid } from "../derive/cells";
import { spaced } from "../derive/slo";
import type { Plan, Report } from "../model";

const STATES: Record<string, string> = {
  running: "This run is not over yet: what stands here is what has been measured so far.",
  unfinished: "This run was stopped or cut off before its verdict: what stands here is what was measured.",
  damaged: "A part of this run cannot be read: what stands here is the rest.",
};

export function verdictSection(report: Report): HTMLElement {
  const { run, plan, verdict, trials } = report;
  const counts = valid(trials).length;
  return el(
    "section",
    { id: "verdict", class: "verdict", "aria-labelledby": "verdict-title" },
    el("p", { class: "kicker" }, question(plan) ?? run.id),
    el("h1", { id: "verdict-title" }, unbroken(verdict?.sentence ?? "No verdict was reached")),
    el("p", { class: "basis" }, trials.length === 0 ? "No trial was measured." : `${counted(counts, "valid trial")} of ${trials.length}${plan ? `, ${counted(plan.blocks, "block")} planned` : ""}.`),
    ...state(report),
    verdict ? ratioChart(verdict.comparisons, verdict.higher_is_better) : null,
    ...(verdict ? comparisons(report) : []),
  );
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

function comparisons({ verdict }: Report): Child[] {
  if (!verdict) return [];
  const several = verdict.comparisons.length > 1;
  const sentences = verdict.comparisons.map((comparison) => {
    const at = pointText(comparison.point);
    const least = comparison.smallest_difference;
    const power = least === null ? "" : ` A difference of ${percent(least)} would have been found in 4 of 5 such runs.`;
    const said = several || comparison.sentence !== verdict.sentence ? `${at ? `${at}: ` : ""}${comparison.sentence}.` : "";
    return `${said}${power}`.trim();
  });
  const said = sentences.filter(Boolean);
  if (said.length === 0) return [];
  return [several ? el("ul", { class: "sentences" }, ...said.map((text) => el("li", {}, unbroken(text)))) : el("p", { class: "basis" }, ...said.map(unbroken))];
}
