// CPU time an operation by mode, and what is in none of them, where the run measured it.

import { el, table, type Child } from "../../dom";
import type { Cell } from "../../derive/cells";
import { number, time } from "../../derive/format";
import type { CpuTime } from "../../model";
import { terms } from "../../terms";

/** A table of the variants' CPU time an operation; null where it was not measured. */
export function cpuTime(cells: readonly Cell[]): Child {
  const rows = cells.flatMap(({ label, summary, trials }) => {
    const modes = summary?.cpu_time_us;
    if (!modes) return [];
    const valid = trials.filter((trial) => trial.status === "valid").flatMap(({ cpu_time }) => (cpu_time ? [cpu_time] : []));
    const sum = (of: (trial: CpuTime) => number) => valid.reduce((all, trial) => all + of(trial), 0);
    const between = sum((trial) => trial.between_s) / Math.max(sum((trial) => trial.cpu_s), Number.EPSILON);
    return [[label, time(modes.user), time(modes.system), number(sum((trial) => trial.operations)), `${(100 * between).toFixed(1)} %`]];
  });
  if (rows.length === 0) return null;
  const columns = ["Variant", "User mode", "Kernel", "Operations", "Between slices"];
  return el(
    "div",
    {},
    table(terms`[[CPU time]] an operation: the [[median]] of the [[valid]] trials`, columns, rows),
    el("p", { class: "note" }, "The last column is CPU time that the server used between its slices, while others were loaded or connections were opened, as a share of what it used for its operations. It is not counted."),
  );
}
