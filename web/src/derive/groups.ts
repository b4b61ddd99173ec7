// Groups the cells of a sweep that differ only in their place on its longest axis. A group has one style and one line in
// a chart. In a comparison every variant is a group.

import type { SweepPoint, Report } from "../model";
import { pointText, type Cell } from "./cells";

/** The axis with the most values; null in a comparison. */
export function mainAxis(report: Report): string | null {
  const axes = [...(report.plan?.sweep ?? [])].sort((a, b) => b.values.length - a.values.length);
  return axes[0]?.vary ?? null;
}

/** A group's name: the variant and the fixed values of the other axes. */
export function groupName(variant: string, fixed: SweepPoint | undefined): string {
  const at = pointText(Object.fromEntries(Object.entries(fixed ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))));
  return at ? `${variant} · ${at}` : variant;
}

/** The name of a cell's group. */
export function groupOf(cell: Cell, axis: string | null): string {
  return groupName(cell.variant, Object.fromEntries(Object.entries(cell.point).filter(([name]) => name !== axis)));
}

/** The cell with the best median of each group, in the groups' order; the first cell where a group has no median. */
export function bestOfEach(cells: readonly Cell[], axis: string | null, higherIsBetter: boolean): Cell[] {
  const best = new Map<string, Cell>();
  const score = (cell: Cell): number => (cell.summary?.median ?? -Infinity) * (higherIsBetter ? 1 : -1);
  for (const cell of cells) {
    const name = groupOf(cell, axis);
    const known = best.get(name);
    if (!known || (cell.summary?.median != null && (known.summary?.median == null || score(cell) > score(known)))) best.set(name, cell);
  }
  return [...best.values()];
}
