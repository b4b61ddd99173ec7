// Groups the trials into cells: one variant, and in a sweep one point of its axes. Finds the verdict's summary of each
// cell. How a cell looks is left to palette.ts.

import type { Report, SweepPoint, Trial, VariantSummary } from "../model";

export interface Cell {
  key: string;
  variant: string;
  point: SweepPoint;
  label: string;
  trials: Trial[];
  summary: VariantSummary | null;
}

/** `threads=2, connections=64`; empty in a comparison. */
export function pointText(point: SweepPoint | undefined): string {
  return Object.entries(point ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");
}

/** The same key for the same variant and point, in whatever order the point's axes are written. */
export function cellKey(variant: string, point: SweepPoint | undefined): string {
  return JSON.stringify([variant, Object.entries(point ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))]);
}

/** The cells in the verdict's order, then those that occur in trials only. */
export function cells(report: Report): Cell[] {
  const byKey = new Map<string, Cell>();
  const cell = (variant: string, point: SweepPoint | undefined): Cell => {
    const key = cellKey(variant, point);
    const known = byKey.get(key);
    if (known) return known;
    const at = pointText(point);
    const made = { key, variant, point: point ?? {}, label: at ? `${variant} · ${at}` : variant, trials: [], summary: null };
    byKey.set(key, made);
    return made;
  };
  for (const summary of report.verdict?.variants ?? []) cell(summary.name, summary.point).summary = summary;
  if (report.plan?.kind === "compare") for (const { name } of report.plan.variants) cell(name, undefined);
  for (const trial of report.trials) cell(trial.variant, trial.point).trials.push(trial);
  return [...byKey.values()];
}

/** Names of the variants, in the plan's order, then those that occur in trials only. */
export function variantNames(report: Report): string[] {
  const planned = report.plan?.variants.map((variant) => variant.name) ?? [];
  return [...new Set([...planned, ...report.trials.map((trial) => trial.variant)])];
}

/** The valid trials. */
export function valid(trials: readonly Trial[]): Trial[] {
  return trials.filter((trial) => trial.status === "valid");
}

export function median(values: readonly number[]): number | null {
  const ascending = [...values].sort((a, b) => a - b);
  const middle = ascending.length >> 1;
  const upper = ascending[middle];
  if (upper === undefined) return null;
  return ascending.length % 2 ? upper : (upper + (ascending[middle - 1] ?? upper)) / 2;
}
