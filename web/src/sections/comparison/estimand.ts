// What the answer is about: both ratios of each pair, what the method may be wrong by, and the answer of other sessions.

import { el, type Child } from "../../dom";
import { pointText } from "../../derive/cells";
import { percent, unbroken } from "../../derive/format";
import type { Comparison, Report, Sessions, Verdict } from "../../model";
import { terms } from "../../terms";

/** The most sessions and pairs that are listed. */
const MOST_LINES = 40;

/** The lines below the chart of ratios. A term is marked where it is first used. */
export function estimands({ verdict, sessions }: Report): Child[] {
  const pairs = (verdict?.comparisons ?? []).filter(({ estimate, means }) => estimate && means);
  const lines = [...pairs.map((pair, place) => ratios(pair, place === 0)), ...(verdict ? method(verdict) : []), ...(sessions ? ofSessions(sessions) : [])];
  const shown = lines.slice(0, MOST_LINES);
  return shown.length === 0 ? [] : [el("ul", { class: "sentences estimands" }, ...shown.map((line) => el("li", {}, ...line)))];
}

/** `1.012 (1.002–1.022)`. */
function interval(found: { ratio: number; low: number; high: number } | null | undefined): string {
  return found ? `${found.ratio.toFixed(3)} (${found.low.toFixed(3)}–${found.high.toFixed(3)})` : "";
}

function ratios({ a, b, point, estimate, means }: Comparison, isFirst: boolean): Child[] {
  const pair = `${at(pointText(point))}${a} / ${b}`;
  const [typical, mean] = [interval(estimate), interval(means)];
  return isFirst ? terms`${pair}: [[typical ratio]] ${typical}, [[ratio of means]] ${mean}.` : [`${pair}: typical ratio ${typical}, ratio of means ${mean}.`];
}

function method({ method = [] }: Verdict): Child[][] {
  if (method.length === 0) return [];
  const within = method.reduce((sum, error) => sum + error.within, 0);
  const each = method.map((error) => `${error.source} ${percent(error.within)}`).join(", ");
  return [terms`[[Method|method error]]: up to ${percent(within)}, which is in no interval (${each}).`];
}

function ofSessions({ pairs, runs, left_out = [] }: Sessions): Child[][] {
  const answers = pairs.map(({ point, sentence }) => [unbroken(`${at(pointText(point))}${sentence}.`)]);
  const of = runs.map(({ run, machine }, place) => {
    const rest = `${run}${machine ? ` ${machine}` : ""}.`;
    return place === 0 ? terms`[[Session]] ${rest}` : [`Session ${rest}`];
  });
  return [...answers, ...of, ...left_out.map(({ run, why }) => [`Session ${run} is left out: ${why}.`])];
}

/** A point before what is about it. */
function at(point: string): string {
  return point ? `${point}: ` : "";
}
