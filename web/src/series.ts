// What belongs together in a chart: a variant, in a sweep at a point; each with its colour, symbol and dash.

import type { Phase, Point, Run, Trial } from "./data";

/** As many as there are colours in style/colours.css; further ones begin anew, with another symbol. */
const COLOURS = 8;
const SYMBOLS = ["circle", "diamond2", "triangle", "square2", "star", "hexagon", "wye", "cross"] as const;
const DASHES = ["", "6 3", "2 3", "8 3 2 3"] as const;

/** The colour of the variant in that place of the plan. */
export function colour(place: number): string {
  return `var(--series-${Math.max(0, place) % COLOURS})`;
}

/** A symbol, so that colour is never the only difference. */
export function symbol(place: number): string {
  return SYMBOLS[Math.max(0, place) % SYMBOLS.length]!;
}

/** A dash for lines, likewise. */
export function dash(place: number): string {
  return DASHES[Math.max(0, place) % DASHES.length]!;
}

/** Names of the variants in the plan's order; without a plan as the trials name them. */
export function variants(run: Run): string[] {
  const names = run.plan?.variants.map((variant) => variant.name) ?? run.trials.map((trial) => trial.variant);
  return [...new Set(names)];
}

/** A point of a sweep in words: threads 2, connections 64. */
export function pointName(point: Point | undefined): string {
  return Object.entries(point ?? {})
    .map(([axis, value]) => `${axis} ${value}`)
    .join(", ");
}

/** A variant and its point in words. */
export function seriesName(variant: string, point: Point | undefined): string {
  const at = pointName(point);
  return at === "" ? variant : `${variant}, ${at}`;
}

/** The phase that a trial's value is from. */
export function central(trial: Trial): Phase | undefined {
  const last = (kind: Phase["kind"]) => trial.phases.findLast((phase) => phase.kind === kind);
  return last("measure") ?? last("curve_step") ?? last("closed_loop");
}

/** A trial in words, for lists and labels. */
export function trialName(trial: Trial): string {
  const status = trial.status === "valid" ? "" : ` · ${trial.status}`;
  return `Trial ${trial.number} · ${seriesName(trial.variant, trial.point)} · block ${trial.block}${status}`;
}
