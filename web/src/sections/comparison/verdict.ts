// The answer: the verdict in a sentence, what it is based on, and the state of a run that is not complete.

import { breakable, el, type Child } from "../../dom";
import { counted, date, sentenceCase, unbroken } from "../../derive/format";
import { valid } from "../../derive/cells";
import { spaced } from "../../derive/slo";
import type { Plan, Report, Resumption, Run } from "../../model";
import { terms } from "../../terms";
import { comparisons } from "./comparisons";
import { estimands } from "./estimand";
import { glance } from "./glance";

/** A longer sentence has a smaller font. */
export const LONG_SENTENCE = 110;
/** A longer list of problems is folded. */
const MAX_OPEN_PROBLEMS = 4;

/** What the state of the run means for the page; nothing for a finished run. */
function stateInWords({ id, state }: Run, plan: Plan | null): string | undefined {
  if (state === "unfinished" && plan?.kind === "explain") return "This run ended before its explanation. Repeat its command.";
  if (state === "unfinished" && plan?.kind === "concurrency") return "This run ended before its first step. Repeat its command.";
  const states: Record<string, string> = {
    running: "This run is still running. The page shows what has been measured so far.",
    interrupted: `This run was interrupted, so the verdict is based on a part of the planned blocks. \`showdown resume ${id}\` goes on with the run.`,
    unfinished: `This run ended before its verdict. The page shows what was measured; \`showdown resume ${id}\` goes on with the run.`,
    damaged: "A part of this run cannot be read. The page shows the rest.",
  };
  return states[state];
}

export function verdictSection(report: Report): HTMLElement {
  const { run, plan, verdict, tuning } = report;
  // The verdict of a search is that of its last step.
  const sentence = tuning?.sentence ?? verdict?.sentence ?? "No verdict";
  return el(
    "section",
    { id: "verdict", class: "verdict", "aria-labelledby": "verdict-title" },
    el("p", { class: "kicker" }, question(plan) ?? run.id),
    el("h1", { id: "verdict-title", class: sentence.length > LONG_SENTENCE ? "long-sentence" : undefined }, ...breakable(unbroken(sentenceCase(sentence)))),
    el("p", { class: "basis" }, ...basis(report)),
    ...state(report),
    glance(report),
    // A sweep has many comparisons, and its curves are easier to read. Its comparisons have a section of their own.
    ...(verdict && plan?.kind !== "sweep" ? [...comparisons(verdict, 2), ...estimands(report)] : []),
  );
}

/** The number of valid trials and of blocks. */
function basis({ plan, trials, verdict }: Report): Child[] {
  if (trials.length === 0) return ["No trial was measured."];
  const count = terms`${String(valid(trials).length)} of ${counted(trials.length, "trial")} [[valid]]`;
  if (!plan) return [...count, "."];
  const settled = verdict?.settled_after_blocks;
  const blocks = settled ? terms`${String(settled)} complete [[blocks]] of at most ${String(plan.blocks)}` : terms`${String(plan.blocks)} planned [[blocks]]`;
  const added = Math.max(...trials.map((trial) => trial.block)) - (settled ?? plan.blocks);
  return [...count, ", in ", ...blocks, added > 0 ? `, with ${counted(added, "spare block")} to replace invalid trials.` : "."];
}

/** The workload, the operation and the measure. */
export function question(plan: Plan | null): string | null {
  if (!plan) return null;
  const measures: Record<string, string> = {
    max_throughput: "throughput in a closed loop",
    max_bytes: "bytes per second in a closed loop",
    one_by_one: "operations per hour, one at a time",
    capacity: "capacity",
    latency_curve: "response time over offered load",
    cpu_time: "CPU time an operation",
    user_cpu_time: "CPU time an operation of the users",
    user_latency: "response time of the users",
    breaking_point: "downloads in progress at the breaking point",
  };
  // What is measured then follows from the question.
  const own: Record<string, string> = { explain: "what limits", concurrency: "downloads in progress" };
  const measure = own[plan.kind] ?? (measures[plan.measure.metric] ?? plan.measure.metric);
  const slo = !own[plan.kind] && "slo" in plan.measure && plan.measure.slo ? ` at ${spaced(plan.measure.slo)}` : "";
  const workload = plan.workload.replace(/\/workload\.toml$/, "").split("/").pop() || plan.workload;
  return [workload, plan.on_op, measure + slo].filter(Boolean).join("  ·  ");
}

/** The files that cannot be read; a long list is folded. */
function problemList(problems: Report["run"]["problems"]): HTMLElement {
  const list = el("ul", {}, ...problems.map(({ file, text }) => el("li", {}, el("code", {}, file), " ", text)));
  return problems.length > MAX_OPEN_PROBLEMS ? el("details", {}, el("summary", {}, `${counted(problems.length, "file")} cannot be read`), list) : list;
}

/** When the run went on after an interruption, and what had changed. */
function resumption({ at_unix_ms, block, kept_trials, changes = [] }: Resumption): string {
  const changed = changes.map(({ fact, was, is }) => `${fact} was ${was}, now ${is}`).join("; ");
  const when = `The run was interrupted, and resumed on ${date(at_unix_ms)} with block ${block}, after ${counted(kept_trials, "trial")}.`;
  return changed ? `${when} Changed since it began: ${changed}.` : when;
}

/** What qualifies the whole page: the state of the run, and files that cannot be read. */
export function state({ run, plan, facts, verdict }: Report): Child[] {
  const lines = [
    run.imported ? "This run was imported: nobody has checked its numbers. To check them, run its plan again." : null,
    stateInWords(run, plan),
    verdict?.replaced ? `${verdict.replaced}.` : null,
    run.state === "finished" && verdict && !verdict.complete
      ? "The run ended early, so the verdict is based on a part of the planned blocks."
      : null,
    ...(facts?.resumed ?? []).map(resumption),
  ];
  const notes = lines.filter((line): line is string => Boolean(line));
  if (notes.length === 0 && run.problems.length === 0) return [];
  return [
    el(
      "div",
      { class: "notice", role: "note" },
      ...notes.map((line) => el("p", {}, line)),
      run.problems.length > 0
        ? problemList(run.problems)
        : null,
    ),
  ];
}
