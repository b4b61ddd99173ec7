// A matrix of gates by trials: the gates in the order of their first occurrence, with each trial's outcome.

import type { Gate, Trial } from "../model";

export interface GateRow {
  id: string;
  /** By trial, in the order of the trials; null where the trial ended before this gate. */
  outcomes: (Gate | null)[];
}

export function gateRows(trials: readonly Trial[]): GateRow[] {
  const ids = [...new Set(trials.flatMap((trial) => (trial.gates ?? []).map((gate) => gate.id)))];
  return ids.map((id) => ({ id, outcomes: trials.map((trial) => trial.gates?.find((gate) => gate.id === id) ?? null) }));
}
