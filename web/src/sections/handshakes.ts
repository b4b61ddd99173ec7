// TLS handshakes of each trial, where its connections are secured: how many, how many resumed, how long they took.

import { el, table, type Child } from "../dom";
import { number, percent, time } from "../derive/format";
import type { Trial } from "../model";

/** A table of the trials' last phases with handshakes; nothing where there is no TLS. */
export function handshakes(trials: readonly Trial[]): Child {
  const rows = trials.flatMap((trial) => {
    const phase = [...(trial.phases ?? [])].reverse().find(({ tls }) => (tls?.handshakes ?? 0) > 0);
    if (!phase?.tls) return [];
    const { handshakes: all, resumed, handshake_us: took } = phase.tls;
    return [[String(trial.number), trial.variant, number(all / phase.length_s), percent(resumed / all), time(took.p50), time(took.p99)]];
  });
  if (rows.length === 0) return null;
  const columns = ["Trial", "Variant", "Handshakes a second", "Resumed", "p50", "p99"];
  return el("details", {}, el("summary", {}, "TLS handshakes, apart from connecting"), table("TLS handshakes of each trial's last phase", columns, rows));
}
