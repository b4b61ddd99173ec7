// Which resource was full, over the trials of a variant: how often each was named, how full each was, and the
// evidence of the trial that lies in the middle.

import type { Trial } from "../model";
import { median, valid } from "./cells";

export interface Resources {
  /** The resource named and in how many trials, most often first. */
  named: { resource: string; trials: number }[];
  /** Trials that say something of resources. */
  trials: number;
  /** The median share in use of each resource that was looked at. */
  used: { resource: string; utilisation: number }[];
  /** The trial that the evidence is taken from. */
  witness: Trial | null;
}

export function resources(trials: readonly Trial[]): Resources {
  const speaking = valid(trials).filter((trial) => trial.saturated);
  const tally = new Map<string, number>();
  const shares = new Map<string, number[]>();
  for (const { full } of speaking) {
    if (!full) continue;
    tally.set(full.resource, (tally.get(full.resource) ?? 0) + 1);
    for (const { resource, utilisation } of full.candidates ?? []) {
      shares.set(resource, [...(shares.get(resource) ?? []), utilisation]);
    }
  }
  const named = [...tally].map(([resource, count]) => ({ resource, trials: count })).sort((a, b) => b.trials - a.trials);
  const used = [...shares].map(([resource, values]) => ({ resource, utilisation: median(values) ?? 0 }));
  const typical = speaking.filter((trial) => trial.saturated?.resource === named[0]?.resource);
  const ascending = [...typical].sort((a, b) => (a.measured?.value ?? 0) - (b.measured?.value ?? 0));
  return { named, trials: speaking.length, used, witness: ascending[ascending.length >> 1] ?? null };
}
