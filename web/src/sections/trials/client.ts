// What the client added to the operations of each trial, beside their response time. It was recorded with each operation.

import { el, table, type Child } from "../../dom";
import { percent, responseTime, time } from "../../derive/format";
import { terms } from "../../terms";
import type { Trial } from "../../model";

/** A table of each trial's measured phase; null where no trial has recorded it. */
export function clientPart(trials: readonly Trial[]): Child {
  const rows = trials.flatMap((trial) => {
    const phase = [...(trial.phases ?? [])].reverse().find(({ kind, client }) => kind === "measure" && client.delay_us);
    if (!phase?.client.delay_us) return [];
    const { response_time_us: response, gave_up_from_us: gaveUpFrom, client } = phase;
    const { delay_us: added } = phase.client;
    return [[String(trial.number), trial.variant, responseTime(response.p50, gaveUpFrom), responseTime(response.p99, gaveUpFrom), time(added.p50), time(added.p99), percent(client.stamped ?? 0)]];
  });
  if (rows.length === 0) return null;
  const columns = ["Trial", "Variant", "Response p50", "Response p99", "Client p50", "Client p99", "With timestamp"];
  const note = terms`The client's part of an operation is its [[lag]] and its [[pickup]]. An operation with a [[receive timestamp]] ends when the kernel has received the reply, so its [[response time]] is without the pickup.`;
  return el("details", {}, el("summary", {}, "The client's part"), el("p", {}, ...note), table("Response time and what the client added, in each trial's measured phase", columns, rows));
}
