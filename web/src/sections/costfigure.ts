// A figure of power or cost with its interval, as tables show it.

import { breakable, el, type Child } from "../dom";
import { MISSING, number, sentenceCase } from "../derive/format";
import type { CostFigure } from "../costs";

/** What a throughput in this unit counts. */
export function workOf(unit: string | undefined): string {
  return unit === "MB/s" ? "MB" : "operations";
}

/** Sentences of results as a list. The names of servers keep their case. */
export function sentenceList(sentences: readonly string[]): Child {
  if (sentences.length === 0) return null;
  return el("ul", { class: "sentences" }, ...sentences.map((sentence) => el("li", {}, ...breakable(`${sentenceCase(sentence)}.`))));
}

/** A figure above its interval. */
export function figure(value: CostFigure | null, write: (value: number) => string = number): Child {
  if (!value) return MISSING;
  const { low, high } = value;
  const interval = low === null || high === null ? "no interval" : `${write(low)}–${write(high)}`;
  return [write(value.value), el("br"), el("small", {}, interval)];
}
