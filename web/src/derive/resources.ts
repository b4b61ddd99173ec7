// The saturated resource of a variant's trials: how often each was named, the median utilisation of every resource that
// was considered, and one typical trial whose evidence the page shows.

import type { Trial } from "../model";
import { median, valid } from "./cells";

export interface Resources {
  /** Each resource that was named, with its number of trials, the most frequent first. */
  saturated: { resource: string; trials: number }[];
  /** Valid trials that name a resource, or that name none as saturated. */
  trials: number;
  /** The median utilisation of each candidate. */
  utilisations: { resource: string; utilisation: number }[];
  /** The trial with the middle value among those of the most frequent resource. */
  typical: Trial | null;
}

export function resources(trials: readonly Trial[]): Resources {
  const withResource = valid(trials).filter((trial) => trial.saturated);
  const counts = new Map<string, number>();
  const shares = new Map<string, number[]>();
  for (const { saturated } of withResource) {
    if (!saturated) continue;
    counts.set(saturated.resource, (counts.get(saturated.resource) ?? 0) + 1);
    for (const { resource, utilisation } of saturated.candidates ?? []) {
      shares.set(resource, [...(shares.get(resource) ?? []), utilisation]);
    }
  }
  const saturated = [...counts].map(([resource, count]) => ({ resource, trials: count })).sort((a, b) => b.trials - a.trials);
  const utilisations = [...shares].map(([resource, values]) => ({ resource, utilisation: median(values) ?? 0 }));
  const alike = withResource.filter((trial) => trial.saturated?.resource === saturated[0]?.resource);
  const ascending = [...alike].sort((a, b) => (a.measured?.value ?? 0) - (b.measured?.value ?? 0));
  return { saturated, trials: withResource.length, utilisations, typical: ascending[ascending.length >> 1] ?? null };
}
