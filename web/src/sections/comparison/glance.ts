// The answer at a glance, for a reader who has one screen of time: by how much, how sure, on what, at what CPU time, and what next.

import { number, percent, ratio, time } from "../../derive/format";
import { breakable, el, type Child } from "../../dom";
import type { Comparison, Report, VariantSummary, Verdict } from "../../model";
import { hasAnswer } from "../../derive/answer";

/** Null where the run has no verdict of its own kind: a sweep, or a search for tunings, whose sections have the answer. */
export function glance(report: Report): HTMLElement | null {
  const { plan, verdict, tuning } = report;
  if (!verdict || tuning || plan?.kind !== "compare") return null;
  const rows: [string, Child][] = [
    ["By how much", howMuch(verdict)],
    ["How sure", howSure(verdict.comparisons)],
    ["On what", onWhat(report)],
    ["At what CPU time", atWhatCpuTime(verdict.variants)],
    ["What next", whatNext(report)],
  ];
  const shown = rows.filter(([, child]) => child !== null);
  return el("dl", { class: "glance" }, ...shown.map(([term, child]) => el("div", {}, el("dt", {}, term), el("dd", {}, child))));
}

function lines(texts: readonly string[]): Child {
  if (texts.length === 0) return null;
  return texts.flatMap((text, at) => [at > 0 ? el("br") : null, ...breakable(text)]);
}

/** The ratio with the larger value first, as the sentence has it. A bound has no ratio: its sentence says what is known. */
function howMuch({ comparisons, metric, higher_is_better }: Verdict): Child {
  const better = higher_is_better ? "" : "; less is better";
  const texts = comparisons.flatMap(({ a, b, estimate, sentence, verdict }) => {
    if (!estimate) return verdict.outcome === "difference" ? [sentence] : [];
    const [high, low, times] = estimate.ratio >= 1 ? [a, b, estimate.ratio] : [b, a, 1 / estimate.ratio];
    if (verdict.outcome === "difference") return [`${high}: ${ratio(times)} ${low}'s ${metric}${better}`];
    const shown = verdict.outcome === "inconclusive" ? "not decided" : "no difference is shown";
    return [`${high} and ${low}: ${shown} (measured ${ratio(times)})`];
  });
  return lines(texts);
}

function howSure(comparisons: readonly Comparison[]): Child {
  const texts = comparisons.flatMap(({ a, b, estimate, verdict }) => {
    const pair = comparisons.length > 1 ? `${a} and ${b}: ` : "";
    if (!estimate) return verdict.outcome === "difference" ? [`${pair}only a lower bound is known; its confidence is in the sentence`] : [];
    const [low, high] = estimate.ratio >= 1 ? [estimate.low, estimate.high] : [1 / estimate.high, 1 / estimate.low];
    return [`${pair}with ${percent(estimate.confidence)} confidence between ${ratio(low)} and ${ratio(high)}, from ${estimate.blocks} starts of each`];
  });
  return lines(texts.length > 0 ? texts : ["nothing is claimed: there is no verdict"]);
}

/** The machine of the servers, which the sentence of later versions has too. */
function onWhat({ verdict, facts }: Report): Child {
  const processor = facts?.host["cpu.model"] ?? facts?.host.cpu;
  const machine = verdict?.machine?.replace(/^on /, "") ?? processor;
  return machine ? lines([machine]) : null;
}

function atWhatCpuTime(variants: readonly VariantSummary[]): Child {
  const costs = variants.flatMap(({ name, cpu_time_us }) => (cpu_time_us ? [`${name}: ${time(cpu_time_us.user + cpu_time_us.system)} of CPU time an operation`] : []));
  return lines(costs);
}

function whatNext(report: Report): Child {
  const { run, verdict } = report;
  if (!hasAnswer(report)) return [el("a", { href: "#validity" }, "Validity"), " says what disturbed the trials, and what to do"];
  const confirm = el("code", {}, `showdown confirm ${run.id}`);
  const failed = verdict?.variants.filter(({ invalid }) => invalid > 0).map(({ name, invalid }) => `${number(invalid)} of ${name}`) ?? [];
  const read = failed.length > 0 ? [`; trials that do not count (${failed.join(", ")}) are under `, el("a", { href: "#validity" }, "Validity")] : [];
  return [confirm, " measures it again in another session", ...read];
}
