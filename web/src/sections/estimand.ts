// What the answer is about: both ratios of each pair, what the method may be wrong by, and the answer of other sessions.

import { el, type Child } from "../dom";
import { pointText } from "../derive/cells";
import { percent, unbroken } from "../derive/format";
import type { Comparison, Report, Sessions, Verdict } from "../model";
import { terms } from "../terms";

/** The most sessions and pairs that are listed. */
const MOST_LINES = 40;

/** The lines below the chart of ratios. */
export function estimands({ verdict, sessions }: Report): Child[] {
  const lines = [...(verdict ? [...verdict.comparisons.map(ratios), method(verdict)] : []), ...(sessions ? ofSessions(sessions) : [])];
  const shown = lines.filter((line): line is Child[] => line !== null).slice(0, MOST_LINES);
  return shown.length === 0 ? [] : [el("ul", { class: "sentences" }, ...shown.map((line) => el("li", {}, ...line)))];
}

/** `1.012 (1.002–1.022)`. */
function interval({ ratio, low, high }: { ratio: number; low: number; high: number }): string {
  return `${ratio.toFixed(3)} (${low.toFixed(3)}–${high.toFixed(3)})`;
}

function ratios({ a, b, point, estimate, means }: Comparison): Child[] | null {
  if (!estimate || !means) return null;
  const at = pointText(point);
  return terms`${at ? `${at}: ` : ""}${a} / ${b}: [[typical ratio]] ${interval(estimate)}, [[ratio of means]] ${interval(means)}.`;
}

function method({ method = [] }: Verdict): Child[] | null {
  if (method.length === 0) return null;
  const within = method.reduce((sum, error) => sum + error.within, 0);
  const each = method.map((error) => `${error.source} ${percent(error.within)}`).join(", ");
  return terms`[[Method|method error]]: up to ${percent(within)}, which is in no interval (${each}).`;
}

function ofSessions({ pairs, runs, left_out = [] }: Sessions): Child[][] {
  const at = (text: string): string => (text ? `${text}: ` : "");
  const answers = pairs.map(({ point, sentence }) => [unbroken(`${at(pointText(point))}${sentence}.`)]);
  const of = runs.map(({ run, machine }) => [...terms`[[Session]] ${run}`, machine ? ` ${machine}.` : "."]);
  const others = left_out.map(({ run, why }) => [`Session ${run} is left out: ${why}.`]);
  return [...answers, ...of, ...others];
}
