// Why trials are not valid: each kind of reason once, with its trials.

import type { Gate, Trial } from "../model";
import { counted } from "./format";

export interface Reason {
  text: string;
  trials: Trial[];
}

interface Kind extends Reason {
  texts: Set<string>;
  measured: Set<string>;
}

/**
 * Failed gates as `gate: message (allowed: …)`, and reasons that no gate gave. The most frequent comes first. Reasons that
 * differ only in numbers and in details in brackets are one kind, with the text of its first trial.
 */
export function reasons(trials: readonly Trial[]): Reason[] {
  const kinds = new Map<string, Kind>();
  const add = (text: string, trial: Trial, measured = ""): void => {
    const key = kindOf(text);
    const kind = kinds.get(key) ?? { text, texts: new Set<string>(), trials: [], measured: new Set<string>() };
    kind.texts.add(text);
    if (kind.trials[kind.trials.length - 1] !== trial) kind.trials.push(trial);
    if (measured) kind.measured.add(measured);
    kinds.set(key, kind);
  };
  for (const trial of trials.filter((one) => one.status !== "valid")) {
    const failed = (trial.gates ?? []).filter((gate) => gate.outcome === "failed");
    // What is counted in broken rules says nothing that the message does not.
    for (const gate of failed) add(withLimit(gate), trial, COUNTS_RULES.test(gate.threshold) ? "" : gate.measured);
    const others = (trial.reasons ?? []).filter((reason) => !failed.some((gate) => reason.endsWith(gate.message)));
    for (const reason of others) add(reason, trial);
    if (failed.length + others.length === 0) add("no reason recorded", trial);
  }
  return [...kinds.values()].map(({ trials: affected, ...kind }) => ({ text: textOf(kind, affected), trials: affected })).sort((a, b) => b.trials.length - a.trials.length);
}

/** The gate's message. Its limit is named where it is a quantity: a gate that counts broken rules names each of them. */
function withLimit({ id, message, threshold }: Gate): string {
  return threshold && !COUNTS_RULES.test(threshold) ? `${id}: ${message} (allowed: ${threshold})` : `${id}: ${message}`;
}

const COUNTS_RULES = /^0 rules/;

/** The text without numbers and without brackets, the inner ones first. */
function kindOf(text: string): string {
  let kind = text.replace(/\d+(?:[.,]\d+)*/g, "0");
  for (let before = ""; before !== kind; ) {
    before = kind;
    kind = kind.replace(/\([^()]*\)/g, "");
  }
  return kind;
}

function textOf({ text, texts, measured }: Omit<Kind, "trials">, [first]: readonly Trial[]): string {
  const parts = [text];
  if (texts.size > 1 && first) parts.push(`(the values of trial ${first.number})`);
  if (measured.size > 0) parts.push(`– measured ${firstFew([...measured])}`);
  return parts.join(" ");
}

function firstFew(values: readonly string[]): string {
  return values.length > 4 ? `${values.slice(0, 3).join(", ")} and ${counted(values.length - 3, "other value")}` : values.join(", ");
}
