// The users of a load: their walk and their pacing, as measured beside the declared, and the response times of each operation.

import { el, table, type Child } from "../../dom";
import { median, type Cell } from "../../derive/cells";
import { MISSING, number, time } from "../../derive/format";
import type { OperationTimes, UserWalk, WalkedOperation } from "../../model";
import { terms } from "../../terms";
import type { Section } from "../section";

/** The section of a run whose load has users; null for others. */
export function usersSection(cells: readonly Cell[]): Section | null {
  const walked = cells.flatMap((cell) => (cell.summary?.users ? [{ cell, walk: cell.summary.users }] : []));
  const [first, ...others] = walked;
  if (!first) return null;
  return {
    id: "users",
    title: terms`[[Users]]: their walk and their pacing`,
    short: "Users",
    body: [
      pacing(walked),
      ...ofVariant(first.cell, first.walk),
      ...others.map(({ cell, walk }) => el("details", {}, el("summary", {}, `The operations of ${cell.label}`), ...ofVariant(cell, walk))),
      el("p", { class: "note" }, "All figures are of the valid trials. Where a walk or its pacing is further from the declared than the scenario allows, a trial is invalid (gate “users”)."),
    ],
  };
}

function pacing(walked: readonly { cell: Cell; walk: UserWalk }[]): Child {
  const rows = walked.map(({ cell, walk }) => [
    cell.label,
    number(walk.count),
    walk.count_by_littles_law == null ? MISSING : walk.count_by_littles_law.toFixed(1),
    seconds(walk.declared_delay_s),
    seconds(walk.drawn_delay_s),
    seconds(walk.actual_delay_s),
    number(cell.summary?.users_per_core),
  ]);
  const columns = ["Variant", "Users", "By Little’s law", "Mean delay declared", "Drawn", "Actual", "Users a core"];
  return el(
    "div",
    {},
    table("How many users there were, and how long they waited between operations", columns, rows),
    el("p", { class: "note" }, "Users a core: as many as would use one second of CPU time a second, by the CPU time an operation here. Other limits of a server may come first."),
  );
}

function ofVariant(cell: Cell, walk: UserWalk): Child[] {
  const rows = walk.operations.map((operation) => {
    const times = responseTimes(cell, operation.name);
    const at = (of: (times: OperationTimes) => number): string => time(median(times.map(of)));
    return [
      operation.name,
      walk.begun > 0 ? `${((100 * operation.begun) / walk.begun).toFixed(1)} %` : MISSING,
      `${operation.declared_percent.toFixed(1)} %`,
      operation.delay,
      seconds(operation.actual_delay_s),
      at(({ response_time_us }) => response_time_us.p50),
      at(({ response_time_us }) => response_time_us.p90),
      at(({ response_time_us }) => response_time_us.p99),
      limit(operation),
    ];
  });
  const columns = ["Operation", "Share", "Declared", "Delay after it", "Actual mean", "p50", "p90", "p99", "Limit"];
  return [table(`The operations of ${cell.label}; response times are medians of the trials`, columns, rows), matrix(cell, walk), outside(cell, walk)];
}

/** What was done outside the mix; null where nothing was. */
function outside(cell: Cell, walk: UserWalk): Child {
  if (!walk.outside?.length) return null;
  const rows = walk.outside.map(({ name, due, requests, failed, mean_us }) => [name, due, number(requests), number(failed), mean_us === null ? MISSING : time(mean_us)]);
  return table(`Outside the mix of ${cell.label}: the server did this work, and it is in no other figure but its CPU time`, ["Operation", "Due", "Done", "Failed", "Mean response time"], rows);
}

/** The response times of an operation in the measurements of the valid trials. */
function responseTimes(cell: Cell, name: string): OperationTimes[] {
  const valid = cell.trials.filter((trial) => trial.status === "valid");
  const measured = valid.flatMap((trial) => trial.phases ?? []).filter((phase) => phase.kind === "measure");
  return measured.flatMap((phase) => phase.operations ?? []).filter((operation) => operation.name === name);
}

function limit({ limit: text, meets_limit: isMet }: WalkedOperation): string {
  if (!text) return "";
  return `${text} ${isMet ? "met" : "missed"}`;
}

/** What came after each operation: the darker, the more often. Null where the next operation does not depend on the one before. */
function matrix(cell: Cell, walk: UserWalk): Child {
  if (!walk.operations.some(({ declared_next_percent: row }) => (row?.length ?? 0) > 0)) return null;
  const cellOf = (from: WalkedOperation, to: number): Child => {
    const declared = from.declared_next_percent?.[to] ?? 0;
    const found = from.next_percent?.[to];
    if (declared === 0 && !found) return el("span", { class: "never" }, "·");
    const strength = Math.round(Math.min(found ?? 0, 100));
    return el("span", { class: "step", style: `--step: ${strength}%` }, found === undefined ? MISSING : found.toFixed(1), " ", el("small", {}, `(${number(declared)})`));
  };
  const rows = walk.operations.map((from) => [from.name, ...walk.operations.map((_, to) => cellOf(from, to))]);
  return table(`What came after each operation of ${cell.label}: per cent, and (declared)`, ["From \\ to", ...walk.operations.map(({ name }) => name)], rows);
}

function seconds(value: number | null | undefined): string {
  return value === null || value === undefined ? MISSING : time(value * 1e6);
}
