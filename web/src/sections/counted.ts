// What the drivers counted besides operations: messages, sessions, refusals by code, deadlocks.

import { el, table, type Child } from "../dom";
import type { Cell } from "../derive/cells";
import { number } from "../derive/format";

/** More rows than this are told in the trials' files only. */
const MOST = 60;

/** A table of the variants' counts; nothing where there are none. */
export function counted(cells: readonly Cell[]): Child {
  const rows = cells.flatMap(({ label, summary }) =>
    Object.entries(summary?.counted_per_s ?? {}).map(([what, perSecond]) => [label, what, number(perSecond), number(Math.round(perSecond * 3600))]),
  );
  if (rows.length === 0) return null;
  const columns = ["Variant", "Counted", "A second", "An hour"];
  const rest = rows.length - MOST;
  return el(
    "details",
    { open: rows.length <= 12 },
    el("summary", {}, "Counted besides operations"),
    table("Counted besides operations, over the trials that count", columns, rows.slice(0, MOST)),
    rest > 0 ? el("p", { class: "note" }, `${number(rest)} more are in verdict.json, as counted_per_s.`) : null,
  );
}
