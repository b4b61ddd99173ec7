// Gates by trials: the ids in the order in which they were first seen, and what each trial's gate found.

import type { Gate, Trial } from "../model";

export interface GateRow {
  id: string;
  /** By trial, in the order of the trials; null where the trial never came to this gate. */
  found: (Gate | null)[];
  failed: number;
}

export function gateRows(trials: readonly Trial[]): GateRow[] {
  const ids = [...new Set(trials.flatMap((trial) => (trial.gates ?? []).map((gate) => gate.id)))];
  return ids.map((id) => {
    const found = trials.map((trial) => trial.gates?.find((gate) => gate.id === id) ?? null);
    return { id, found, failed: found.filter((gate) => gate?.outcome === "failed").length };
  });
}
