// CPU time and memory of each part of a server of several processes: its database, its cache, its own process.

import { el, table, type Child } from "../../dom";
import type { Cell } from "../../derive/cells";
import { bytes, number, percent, time } from "../../derive/format";
import { terms } from "../../terms";

/** A table of the parts of each variant; null where no server has companions. */
export function parts(cells: readonly Cell[]): Child {
  const rows = cells.flatMap(({ label, summary }) =>
    (summary?.parts ?? []).map(({ part, cpu_share, cpu_us, cores, peak_rss_bytes }) => [
      label,
      part,
      percent(cpu_share),
      cpu_us === undefined ? "–" : time(cpu_us),
      number(cores),
      bytes(peak_rss_bytes),
    ]),
  );
  if (rows.length === 0) return null;
  const columns = ["Variant", "Part", "Share of CPU time", "CPU time an operation", "Cores", "Memory at its peak"];
  return el(
    "div",
    { id: "parts" },
    table(terms`CPU by part: the [[valid]] trials`, columns, rows),
    el("p", { class: "note" }, "A part is a process of the server with all that it starts: its own, or a companion of its workload. All parts of a variant are its server."),
  );
}
