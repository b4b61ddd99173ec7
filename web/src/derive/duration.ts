// Durations of a plan, as texts such as `500ms` or `1m 30s`.

const UNITS: Record<string, number> = { ns: 1e-3, us: 1, ms: 1e3, s: 1e6, m: 60e6, h: 3_600e6 };

/** Such a text in microseconds; 0 for anything else. */
export function durationUs(text: string): number {
  const parts = [...text.matchAll(/(\d+)(ns|us|ms|s|m|h)\b/g)];
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * (UNITS[unit ?? ""] ?? 0), 0);
}
