// The percentile axis as HdrHistogram plots it: a share p lies at 1 / (1 − p) on a logarithmic scale. Each further nine
// (90 %, 99 %, 99.9 %) takes the same width.

import type { QuantileCurve } from "../model";

/** The largest share on the axis. */
export const LAST_SHARE = 0.9999;
/** The ticks of the axis. */
export const SHARES = [0, 0.5, 0.9, 0.99, 0.999, LAST_SHARE];

/** Where a share lies on the axis: 1 for 0, 10 for 0.9, 10,000 for 0.9999. */
export function position(share: number): number {
  return 1 / (1 - Math.min(share, LAST_SHARE));
}

/** `99.9 %` for the place that a share of 0.999 has. */
export function positionText(place: number): string {
  return `${Number((100 * (1 - 1 / place)).toFixed(3))}%`;
}

/** The points of a curve up to the last share. Times of zero are left out, because their axis is logarithmic too. */
export function percentileLine(curve: QuantileCurve): { share: number; x: number; us: number }[] {
  const line = curve.filter(([share, us]) => share <= LAST_SHARE + 1e-9 && us > 0);
  return line.map(([share, us]) => ({ share, x: position(share), us }));
}

/** The smallest recorded time with at least this share at or below it; null where the curve ends earlier. */
export function at(curve: QuantileCurve, share: number): number | null {
  return curve.find(([below]) => below >= share - 1e-9)?.[1] ?? null;
}
