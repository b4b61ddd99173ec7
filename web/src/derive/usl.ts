// The universal scalability law of a sweep: its curve, or in words why it was not fitted.
// The formula is that of crates/stats/src/laws/usl.rs: X(N) = γN / (1 + α(N − 1) + βN(N − 1)), after Gunther.

import type { UslFit, UslRefusal } from "../model";
import { number, percent } from "./format";

/** The throughput that the law predicts at a load. */
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

/** Why there is no fit, and what would help. */
export function refusal(reason: UslRefusal): string {
  switch (reason.kind) {
    case "not_positive":
      return `point ${reason.index + 1} has a load or a throughput that is not above zero`;
    case "too_few_loads":
      return `${reason.loads} different loads are too few: sweep over at least ${reason.needed}`;
    case "no_curvature":
      return `throughput grows linearly, with ${percent(reason.loss)} lost at the largest load: sweep over larger loads`;
    case "poor_fit":
      return `the points lie ${percent(reason.relative_error)} from the best curve, so the law does not describe them`;
    case "no_peak":
      return `throughput levels off at ${number(reason.ceiling)} and has no peak`;
    case "peak_beyond_range":
      return `its peak, at ${number(reason.peak_load)}, lies too far beyond the largest measured load, ${number(reason.largest_load)}: sweep over larger loads`;
    default:
      return "the reason is unknown to this version of the page";
  }
}
