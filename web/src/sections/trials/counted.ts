// What the drivers count besides operations: messages, sessions, refusals by code, deadlocks.

import { el, table, type Child } from "../../dom";
import type { Cell } from "../../derive/cells";
import { number } from "../../derive/format";
import { terms } from "../../terms";

/** The table has at most this many rows. */
const MAX_ROWS = 60;

/** A table of the variants' counters; null without any. */
export function counted(cells: readonly Cell[]): Child {
  const rows = cells.flatMap(({ label, summary }) =>
    Object.entries(summary?.counters_per_s ?? {}).map(([what, perSecond]) => [label, what, number(perSecond), number(Math.round(perSecond * 3600))]),
  );
  if (rows.length === 0) return null;
  const columns = ["Variant", "Counter", "Per second", "Per hour"];
  const rest = rows.length - MAX_ROWS;
  return el(
    "details",
    { open: rows.length <= 12 },
    el("summary", {}, "Counters"),
    table(terms`[[Counters]] of the driver, over the valid trials`, columns, rows.slice(0, MAX_ROWS)),
    rest > 0 ? el("p", { class: "note" }, `${number(rest)} more are in verdict.json, as counters_per_s.`) : null,
  );
}
