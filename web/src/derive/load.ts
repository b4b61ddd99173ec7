// Response time over offered load: a point for each open-loop phase of the valid trials, and a line through them.
// Percentiles are never averaged over time. Each point is one phase's own, and the line joins medians of near loads.

import type { PhaseKind, Trial } from "../model";
import { median, valid } from "./cells";

export interface LoadPoint {
  trial: number;
  kind: PhaseKind;
  /** Offered operations a second. */
  offered: number;
  achieved: number;
  p50: number;
  p99: number;
  /** From this response time on, both are lower bounds; null where no operation timed out. */
  gaveUpFrom: number | null;
  /** Share of the operations that were late or failed, where the phase is a level of a search for the capacity. */
  late: number | null;
}

const KINDS: ReadonlySet<PhaseKind> = new Set(["search_step", "measure", "curve_step"]);

/** The points of the valid trials, by ascending load. */
export function loadPoints(trials: readonly Trial[]): LoadPoint[] {
  return valid(trials)
    .flatMap((trial) =>
      (trial.phases ?? [])
        .filter((phase) => KINDS.has(phase.kind) && phase.valid && phase.response_time_us.p99 > 0)
        .flatMap((phase) => {
          // A closed loop offers no load of its own.
          const offered = phase.offered_per_s;
          if (typeof offered !== "number") return [];
          const { p50, p99 } = phase.response_time_us;
          return [{ trial: trial.number, kind: phase.kind, offered, achieved: phase.throughput_per_s, p50, p99, gaveUpFrom: phase.gave_up_from_us ?? null, late: phase.spent?.late_share ?? null }];
        }),
    )
    .sort((a, b) => a.offered - b.offered);
}

/** Replaces points within `nearness` of the largest load by their medians, so that the line has no zigzags. */
export function loadLine(points: readonly LoadPoint[], nearness = 0.02): { offered: number; p50: number; p99: number }[] {
  const reach = nearness * (points[points.length - 1]?.offered ?? 0);
  const groups: LoadPoint[][] = [];
  for (const point of points) {
    const group = groups[groups.length - 1];
    if (group?.[0] && point.offered - group[0].offered <= reach) group.push(point);
    else groups.push([point]);
  }
  const of = (group: LoadPoint[], pick: (point: LoadPoint) => number): number => median(group.map(pick)) ?? 0;
  return groups.map((group) => ({
    offered: of(group, (point) => point.offered),
    p50: of(group, (point) => point.p50),
    p99: of(group, (point) => point.p99),
  }));
}
