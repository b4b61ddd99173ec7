// The limits on response time in the text of an objective, such as `p99<5ms` or `p50<1ms,p99<=5ms`.
// Whether a trial meets it was judged when it ran; here it is only drawn.

export interface Limit {
  text: string;
  /** `p99`, `mean`, `max`, as the objective says it. */
  statistic: string;
  us: number;
}

const UNITS: Record<string, number> = { ns: 1e-3, us: 1, "µs": 1, ms: 1e3, s: 1e6 };

/** The limits in an objective's text; parts that limit no time are passed over. */
export function limits(slo: string | null | undefined): Limit[] {
  const found = (slo ?? "").matchAll(/(p\d+(?:\.\d+)?|mean|max)\s*<=?\s*(\d+(?:\.\d+)?)\s*(ns|us|µs|ms|s)\b/g);
  return [...found].flatMap(([text, statistic, value, unit]) => {
    const factor = UNITS[unit ?? ""];
    return statistic && factor ? [{ text: spaced(text), statistic, us: Number(value) * factor }] : [];
  });
}

/** `p99<5ms` as people write it: `p99 < 5 ms`. */
export function spaced(slo: string): string {
  return slo.replace(/\s*(<=?)\s*/g, " $1 ").replace(/(\d)(ns|us|µs|ms|s)\b/g, "$1 $2").replace("<=", "≤");
}
