// Published figures of the workload beside what the run measured, on a logarithmic scale: for the order of magnitude only.

import * as Plot from "@observablehq/plot";
import { number, tick } from "../derive/format";
import type { PublishedFigure, VariantCost } from "../costs";
import { figure } from "./figure";
import { draw, ticksFor } from "./plot";

interface Mark {
  name: string;
  value: number;
  isMeasured: boolean;
}

/** A single figure of operations a second, such as `5,718`. A list of figures over an axis is not one. */
function rate({ metric, value }: PublishedFigure): number | null {
  const found = /^[\d,]+(\.\d+)?$/.test(value) ? Number(value.replaceAll(",", "")) : NaN;
  return /^(requests|ops|operations|transactions)\/s$/.test(metric) && found > 0 ? found : null;
}

/** Null where the run measured no operations a second, or nobody has published any. */
export function publishedChart(variants: readonly VariantCost[], published: readonly PublishedFigure[]): HTMLElement | null {
  const measured = variants.flatMap(({ variant, unit, performance }): Mark[] => (unit === "/s" && performance ? [{ name: `${variant} (this run)`, value: performance.value, isMeasured: true }] : []));
  const others = published.flatMap((one): Mark[] => {
    const value = rate(one);
    const name = `${one.year} ${one.system ?? "several machines"}${one.variant ? `, ${one.variant}` : ""}`;
    return value === null ? [] : [{ name, value, isMeasured: false }];
  });
  if (measured.length === 0 || others.length === 0) return null;
  // The same machine may have several figures: each is a mark in its row.
  const marks = [...measured, ...others];
  const names = [...new Set(marks.map(({ name }) => name))];
  const short = (name: string, most: number): string => (name.length > most ? `${name.slice(0, most - 1)}…` : name);
  return figure({
    title: "Operations a second, for scale",
    summary: marks.map(({ name, value }) => `${name}: ${number(value)}/s`).join(". "),
    note: "Other machines, clients and versions, years ago: for the order of magnitude only. Filled marks are of this run.",
    source: "published.toml of showdown, and verdict.json",
    id: "published",
    table: { head: ["Figure", "Operations a second"], rows: marks.map(({ name, value }) => [name, `${number(value)}/s`]) },
    draw: (width) => {
      const labels = Math.min(260, Math.round(width * 0.42));
      return draw(width, {
        height: 48 + 22 * names.length,
        marginLeft: labels,
        marginTop: 28,
        x: { type: "log", grid: true, tickFormat: tick, ticks: ticksFor(width - labels, 90), label: "operations a second  →", inset: 8 },
        y: { domain: names, label: null, tickSize: 0, tickFormat: (name: string) => short(name, Math.round(labels / 7)) },
        marks: [
          Plot.ruleY(names, { strokeOpacity: 0.12 }),
          Plot.dot(marks, {
            x: "value",
            y: "name",
            r: 5,
            fill: ({ isMeasured }: Mark) => (isMeasured ? "var(--accent)" : "var(--surface)"),
            stroke: ({ isMeasured }: Mark) => (isMeasured ? "var(--accent)" : "var(--ink-soft)"),
            strokeWidth: 1.6,
            title: ({ name, value }: Mark) => `${name}: ${number(value)}/s`,
            className: "published-point",
          }),
        ],
      });
    },
  });
}
