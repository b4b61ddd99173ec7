// Whether a run has an answer: what a reader needs first depends on it.

import type { Report } from "../model";

/** Whether a comparison of the verdict is more than inconclusive. A sweep, whose curves need no ratio, has one with any valid trial. */
export function hasAnswer({ plan, trials, verdict }: Report): boolean {
  if (!verdict) return false;
  if (plan?.kind === "sweep" || verdict.comparisons.length === 0) return trials.some(({ status }) => status === "valid");
  return verdict.comparisons.some(({ verdict: found }) => found.outcome !== "inconclusive");
}
