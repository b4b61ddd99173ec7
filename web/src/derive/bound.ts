// Whether a verdict is a bound: "at least 1.97 ×", because the client was the limit for one of the two. How it is found is left to
// the verdict (docs/decisions/0028).

import type { Verdict } from "../model";

/** A comparison that shows a difference without a ratio is a bound. */
export function hasBound(verdict: Verdict | null): boolean {
  return (verdict?.comparisons ?? []).some(({ verdict: { outcome }, estimate }) => outcome === "difference" && !estimate);
}
