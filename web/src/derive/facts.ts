// Facts of the sides as one table, and which of its rows differ.

import type { VariantFacts } from "../model";

export interface FactRow {
  key: string;
  /** By variant, in their order; null where the variant has no such fact. */
  values: (string | null)[];
  differs: boolean;
}

/** Every fact of every variant, a row each: the differing first, each part in the order of the names. */
export function factRows(variants: readonly VariantFacts[]): FactRow[] {
  const sides = variants.map((variant) => {
    const knobs = Object.entries(variant.knobs).map(([name, value]) => [`knob ${name}`, String(value)] as const);
    const named = (["version", "build", "allocator", "libc"] as const).map((name) => [name, variant[name]] as const);
    return new Map([...named, ...knobs, ...Object.entries(variant.facts)].filter(([, value]) => value !== ""));
  });
  const keys = [...new Set(sides.flatMap((side) => [...side.keys()]))];
  const rows = keys.map((key) => {
    const values = sides.map((side) => side.get(key) ?? null);
    return { key, values, differs: new Set(values).size > 1 };
  });
  return [...rows.filter((row) => row.differs), ...rows.filter((row) => !row.differs)];
}
