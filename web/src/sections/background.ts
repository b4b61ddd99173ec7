// The fixed load that ran beside each trial, where the plan has one: what was asked of it, and how it fared.

import { el, table, type Child } from "../dom";
import { number, time } from "../derive/format";
import type { Trial } from "../model";

/** A table of the trials' background loads; nothing where there are none. */
export function background(trials: readonly Trial[]): Child {
  const rows = trials.flatMap((trial) => {
    const load = trial.background;
    if (!load) return [];
    const failed = Object.values(load.errors).reduce((sum, count) => sum + count, 0);
    const { p50, p99 } = load.response_time_us;
    return [[String(trial.number), trial.variant, number(load.offered_per_s ?? 0), number(load.achieved_per_s), number(failed), time(p50), time(p99)]];
  });
  if (rows.length === 0) return null;
  const columns = ["Trial", "Variant", "Offered a second", "Done a second", "Failed", "p50", "p99"];
  return el("details", {}, el("summary", {}, "The background load"), table("The load beside each trial", columns, rows));
}
