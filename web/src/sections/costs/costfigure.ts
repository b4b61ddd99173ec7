// A figure of power or cost with its interval, as tables show it.

import { breakable, el, type Child } from "../../dom";
import { bounds, MISSING, quantity, sentenceCase } from "../../derive/format";
import type { CostFigure } from "../../costs";

/** What a throughput in this unit counts. */
export function workOf(unit: string | undefined): string {
  return unit === "MB/s" ? "MB" : "operations";
}

/** Sentences of results as a list. The names of servers keep their case. */
export function sentenceList(sentences: readonly string[]): Child {
  if (sentences.length === 0) return null;
  return el("ul", { class: "sentences" }, ...sentences.map((sentence) => el("li", {}, ...breakable(`${sentenceCase(sentence)}.`))));
}

/** A figure above its interval, in this unit; without one, both are plain numbers. */
export function figure(value: CostFigure | null, unit = ""): Child {
  if (!value) return MISSING;
  const { low, high } = value;
  const interval = low === null || high === null ? "no interval" : bounds(low, high, unit);
  return [quantity(value.value, unit), el("br"), el("small", {}, interval)];
}
