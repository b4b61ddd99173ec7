// The facts of all variants as rows of one table, with the rows that differ first.

import type { VariantFacts } from "../model";

export interface FactRow {
  key: string;
  /** By variant, in their order; null where the variant has no such fact. */
  values: (string | null)[];
  differs: boolean;
}

/** One row for each fact of any variant: those that differ first, otherwise in the order of the facts. */
export function factRows(variants: readonly VariantFacts[]): FactRow[] {
  const byVariant = variants.map((variant) => {
    const knobs = Object.entries(variant.knobs).map(([name, value]) => [`knob ${name}`, String(value)] as const);
    const named = (["version", "build", "allocator", "libc"] as const).map((name) => [name, variant[name]] as const);
    return new Map([...named, ...knobs, ...Object.entries(variant.facts)].filter(([, value]) => value !== ""));
  });
  const keys = [...new Set(byVariant.flatMap((facts) => [...facts.keys()]))];
  const rows = keys.map((key) => {
    const values = byVariant.map((facts) => facts.get(key) ?? null);
    return { key, values, differs: new Set(values).size > 1 };
  });
  return [...rows.filter((row) => row.differs), ...rows.filter((row) => !row.differs)];
}
