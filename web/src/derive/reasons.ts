// Why trials are not valid: each reason once, with its trials.

import type { Trial } from "../model";

export interface Reason {
  text: string;
  trials: Trial[];
}

/** Failed gates as `gate (allowed: …): message`, and reasons that no gate gave. The most frequent comes first. */
export function reasons(trials: readonly Trial[]): Reason[] {
  const byText = new Map<string, Reason & { measured: Set<string> }>();
  const add = (text: string, trial: Trial, measured = ""): void => {
    const known = byText.get(text) ?? { text, trials: [], measured: new Set() };
    known.trials.push(trial);
    if (measured) known.measured.add(measured);
    byText.set(text, known);
  };
  for (const trial of trials.filter((one) => one.status !== "valid")) {
    const failed = (trial.gates ?? []).filter((gate) => gate.outcome === "failed");
    for (const gate of failed) add(`${gate.id} (allowed: ${gate.threshold}): ${gate.message}`, trial, gate.measured);
    const others = (trial.reasons ?? []).filter((reason) => !failed.some((gate) => reason.endsWith(gate.message)));
    for (const reason of others) add(reason, trial);
    if (failed.length + others.length === 0) add("no reason recorded", trial);
  }
  return [...byText.values()]
    .map(({ text, trials: affected, measured }) => ({ text: measured.size > 0 ? `${text} – measured ${firstFew([...measured])}` : text, trials: affected }))
    .sort((a, b) => b.trials.length - a.trials.length);
}

function firstFew(words: readonly string[]): string {
  return words.length > 4 ? `${words.slice(0, 3).join(", ")} and ${words.length - 3} others` : words.join(", ");
}
