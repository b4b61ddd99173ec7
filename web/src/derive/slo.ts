// Finds the limits on response time in the text of an SLO, such as `p99<5ms` or `p50<1ms,p99<=5ms`, to draw them.
// Whether a trial meets its SLO is decided when it runs.

export interface Limit {
  text: string;
  /** `p99`, `mean` or `max`. */
  statistic: string;
  us: number;
}

const UNITS: Record<string, number> = { ns: 1e-3, us: 1, "µs": 1, ms: 1e3, s: 1e6 };

/** The limits in an SLO's text. Parts that limit no time are ignored. */
export function limits(slo: string | null | undefined): Limit[] {
  const found = (slo ?? "").matchAll(/(p\d+(?:\.\d+)?|mean|max)\s*<=?\s*(\d+(?:\.\d+)?)\s*(ns|us|µs|ms|s)\b/g);
  return [...found].flatMap(([text, statistic, value, unit]) => {
    const factor = UNITS[unit ?? ""];
    return statistic && factor ? [{ text: spaced(text), statistic, us: Number(value) * factor }] : [];
  });
}

/** `p99<5ms` with spaces: `p99 < 5 ms`. */
export function spaced(slo: string): string {
  return slo.replace(/\s*(<=?)\s*/g, " $1 ").replace(/(\d)(ns|us|µs|ms|s)\b/g, "$1 $2").replace("<=", "≤");
}
