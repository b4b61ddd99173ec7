// Which cells belong together in a sweep: those that differ only in where they lie on its longest axis. They share
// a look, and one line of a chart. In a comparison every variant is a group of its own.

import type { Point, Report } from "../model";
import { pointText, type Cell } from "./cells";

/** The axis with the most values; null in a comparison. */
export function mainAxis(report: Report): string | null {
  const axes = [...(report.plan?.sweep ?? [])].sort((a, b) => b.values.length - a.values.length);
  return axes[0]?.vary ?? null;
}

/** A group's name: the variant and where it is held. */
export function groupName(variant: string, fixed: Point | undefined): string {
  const at = pointText(Object.fromEntries(Object.entries(fixed ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))));
  return at ? `${variant} · ${at}` : variant;
}

/** The name of a cell's group. */
export function groupOf(cell: Cell, axis: string | null): string {
  return groupName(cell.variant, Object.fromEntries(Object.entries(cell.point).filter(([name]) => name !== axis)));
}

/** Of each group the cell with the best median, in the groups' order; a group without a median gives its first. */
export function bestOfEach(cells: readonly Cell[], axis: string | null, higherIsBetter: boolean): Cell[] {
  const best = new Map<string, Cell>();
  const worth = (cell: Cell): number => (cell.summary?.median ?? -Infinity) * (higherIsBetter ? 1 : -1);
  for (const cell of cells) {
    const name = groupOf(cell, axis);
    const known = best.get(name);
    if (!known || (cell.summary?.median != null && (known.summary?.median == null || worth(cell) > worth(known)))) best.set(name, cell);
  }
  return [...best.values()];
}
