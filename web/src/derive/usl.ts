// The universal scalability law as the archive holds it: its curve, and in words why it was refused.
// The formula is that of crates/stats/src/usl.rs: X(N) = γN / (1 + α(N − 1) + βN(N − 1)), after Gunther.

import type { UslFit, UslRefusal } from "../model";
import { number, percent } from "./format";

/** Throughput that the law gives at a load. */
export function predict(fit: UslFit, load: number): number {
  return (fit.gamma * load) / (1 + fit.alpha * (load - 1) + fit.beta * load * (load - 1));
}

/** Points of the curve, evenly spaced on a logarithmic axis. */
export function curve(fit: UslFit, from: number, to: number, count = 80): { at: number; value: number }[] {
  const first = Math.max(1, from);
  const step = Math.log(Math.max(to, first) / first) / (count - 1);
  return Array.from({ length: count }, (_, place) => {
    const at = first * Math.exp(step * place);
    return { at, value: predict(fit, at) };
  });
}

/** Why there is no fit, with what would help. */
export function refusal(reason: UslRefusal): string {
  switch (reason.kind) {
    case "not_positive":
      return `point ${reason.index + 1} has a load or a throughput that is not above zero`;
    case "too_few_loads":
      return `${reason.loads} different loads are too few, ${reason.needed} are needed: vary over more`;
    case "no_curvature":
      return `throughput grows in a straight line (${percent(reason.loss)} lost at the largest load): measure larger loads`;
    case "poor_fit":
      return `the points lie ${percent(reason.relative_error)} from the best curve: something else than the law is at work`;
    case "no_peak":
      return `throughput levels off towards ${number(reason.ceiling)} and has no peak`;
    case "peak_beyond_range":
      return `its peak, at ${number(reason.peak_load)}, lies too far beyond the largest load measured, ${number(reason.largest_load)}: measure larger loads`;
    default:
      return "for a reason that this page does not know";
  }
}
