// How much the copies of a server disturb each other, where the run measured it.

import { el, table, type Child } from "../../dom";
import type { Cell } from "../../derive/cells";
import { number, percent, responseTime } from "../../derive/format";
import { terms } from "../../terms";

/** A table of the variants whose copies were loaded alone and together; null where that was not measured. */
export function neighbours(cells: readonly Cell[]): Child {
  const rows = cells.flatMap(({ label, summary }) => {
    const effect = summary?.neighbours;
    if (!effect) return [];
    const p99 = (us: number | null): string => (us === null ? "–" : responseTime(us, effect.gave_up_from_us));
    const slowed = `${percent(effect.slowed)}${effect.client_limited > 0 ? " or more" : ""}`;
    return [[label, `${number(effect.alone_per_s)}/s`, `${number(effect.beside_per_s)}/s`, slowed, p99(effect.alone_p99_us), p99(effect.beside_p99_us)]];
  });
  if (rows.length === 0) return null;
  const columns = ["Variant", "Alone", "All loaded", "Slowed by", "p99 alone", "p99, all loaded"];
  return el(
    "div",
    {},
    table(terms`One [[instance]] alone, and beside its neighbours: medians over all copies of the [[valid]] trials`, columns, rows),
    el("p", { class: "note" }, "Each copy of the server was loaded by a closed loop, alone and at the same time as all others. “Or more”: the client was the limit of a copy."),
  );
}
