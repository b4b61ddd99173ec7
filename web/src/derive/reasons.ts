// Why trials do not count, each reason once with the trials that it holds for.

import type { Trial } from "../model";

export interface Reason {
  text: string;
  trials: Trial[];
}

/** The failures of gates first, as `gate: finding`, then reasons that no gate gave; the most frequent first. */
export function reasons(trials: readonly Trial[]): Reason[] {
  const found = new Map<string, Reason & { measured: Set<string> }>();
  const add = (text: string, trial: Trial, measured = ""): void => {
    const known = found.get(text) ?? { text, trials: [], measured: new Set() };
    known.trials.push(trial);
    if (measured) known.measured.add(measured);
    found.set(text, known);
  };
  for (const trial of trials.filter((one) => one.status !== "valid")) {
    const failed = (trial.gates ?? []).filter((gate) => gate.outcome === "failed");
    for (const gate of failed) add(`${gate.id} (allowed: ${gate.threshold}): ${gate.message}`, trial, gate.measured);
    const others = (trial.reasons ?? []).filter((reason) => !failed.some((gate) => reason.endsWith(gate.message)));
    for (const reason of others) add(reason, trial);
    if (failed.length + others.length === 0) add("no reason recorded", trial);
  }
  return [...found.values()]
    .map(({ text, trials: held, measured }) => ({ text: measured.size > 0 ? `${text} – measured ${some([...measured])}` : text, trials: held }))
    .sort((a, b) => b.trials.length - a.trials.length);
}

function some(words: readonly string[]): string {
  return words.length > 4 ? `${words.slice(0, 3).join(", ")} and ${words.length - 3} others` : words.join(", ");
}
