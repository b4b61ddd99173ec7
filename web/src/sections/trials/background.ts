// The background load of each trial, where the plan has one: offered and achieved load, errors and response times.

import { el, table, type Child } from "../../dom";
import { number, responseTime } from "../../derive/format";
import { terms } from "../../terms";
import type { Trial } from "../../model";

/** A table with a row for each trial that has a background load; null without any. */
export function background(trials: readonly Trial[]): Child {
  const rows = trials.flatMap((trial) => {
    const load = trial.background;
    if (!load) return [];
    const failed = Object.values(load.errors).reduce((sum, count) => sum + count, 0);
    const { p50, p99 } = load.response_time_us;
    return [[String(trial.number), trial.variant, number(load.offered_per_s ?? 0), number(load.throughput_per_s), number(failed), responseTime(p50, load.gave_up_from_us), responseTime(p99, load.gave_up_from_us)]];
  });
  if (rows.length === 0) return null;
  const columns = ["Trial", "Variant", "Offered per second", "Achieved per second", "Errors", "p50", "p99"];
  return el("details", {}, el("summary", {}, "Background load"), table(terms`[[Background load]] of each trial`, columns, rows));
}
