// The answer of a run that explains: a sentence for each server, in place of a verdict.

import { breakable, el, type Child } from "../../dom";
import { counted, date, list, sentenceCase, unbroken } from "../../derive/format";
import type { Report } from "../../model";
import { LONG_SENTENCE, question, state } from "../comparison/verdict";

/** Whether a run has an explanation, or was to have one, and no trials. */
export function isExplained({ plan, explanation, trials, verdict }: Report): boolean {
  return trials.length === 0 && !verdict && (explanation?.basis === "study" || plan?.kind === "explain");
}

export function answerSection(report: Report): HTMLElement {
  const { run, plan, explanation } = report;
  const sentences = explanation ? [...explanation.servers, ...(explanation.difference ? [explanation.difference] : [])].map(({ sentence }) => sentence) : [];
  const isLong = sentences.length > 1 || (sentences[0]?.length ?? 0) > LONG_SENTENCE;
  return el(
    "section",
    { id: "verdict", class: "verdict", "aria-labelledby": "verdict-title" },
    el("p", { class: "kicker" }, question(plan) ?? run.id),
    el("h1", { id: "verdict-title", class: isLong ? "long-sentence" : undefined }, ...lines(sentences)),
    explanation ? el("p", { class: "basis" }, basis(report)) : null,
    ...state(report),
  );
}

/** Each sentence on a line of its own. */
function lines(sentences: readonly string[]): Child[] {
  if (sentences.length === 0) return ["No explanation"];
  const words = (sentence: string): Child[] => breakable(unbroken(sentenceCase(sentence)));
  return sentences.length === 1 ? words(sentences[0] ?? "") : sentences.map((sentence) => el("span", { class: "line" }, ...words(sentence)));
}

function basis({ explanation }: Report): string {
  const servers = explanation?.servers ?? [];
  const slices = servers.reduce((sum, { held }) => sum + held.slices, 0);
  const pairs = servers.reduce((sum, { perturbations = [] }) => sum + perturbations.reduce((all, tried) => all + tried.pairs.length, 0), 0);
  const of = [counted(slices, "plain slice"), pairs > 0 ? counted(pairs, "pair") + " of slices with less of a resource" : ""];
  return `From ${list(of.filter(Boolean))}, ${date(explanation?.made_unix_ms ?? Number.NaN)}.`;
}
