// The TLS handshakes of each trial: how many per second, the share of resumed sessions, and their times.

import { el, table, type Child } from "../../dom";
import { number, percent, time } from "../../derive/format";
import type { Trial } from "../../model";

/** A table of each trial's last phase with handshakes; null without TLS. */
export function handshakes(trials: readonly Trial[]): Child {
  const rows = trials.flatMap((trial) => {
    const phase = [...(trial.phases ?? [])].reverse().find(({ tls }) => (tls?.handshakes ?? 0) > 0);
    if (!phase?.tls) return [];
    const { handshakes: all, resumed, handshake_us: took } = phase.tls;
    return [[String(trial.number), trial.variant, number(all / phase.length_s), percent(resumed / all), time(took.p50), time(took.p99)]];
  });
  if (rows.length === 0) return null;
  const columns = ["Trial", "Variant", "Handshakes per second", "Resumed sessions", "p50", "p99"];
  return el("details", {}, el("summary", {}, "TLS handshakes"), table("TLS handshakes in each trial's last phase, without the time to open the TCP connection", columns, rows));
}
