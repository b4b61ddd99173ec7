// Watts over the load, with a line for each variant, by meters of one boundary.

import * as Plot from "@observablehq/plot";
import { number, tick } from "../derive/format";
import { seriesStyles, type SeriesStyle } from "../derive/palette";
import type { LevelFigures, MeteredVariant } from "../costs";
import { figure, legend } from "./figure";
import { draw, ticksFor } from "./plot";

interface Point extends LevelFigures {
  variant: string;
}

export function wattsChart(boundary: string, variants: readonly MeteredVariant[], work: string, styleOfVariant: (variant: string) => SeriesStyle): HTMLElement {
  // A variant may have two meters of one boundary, such as two graphics cards.
  const several = new Set(variants.map(({ variant }) => variant)).size < variants.length;
  const name = ({ variant, meter }: MeteredVariant): string => (several ? `${variant}, ${meter.name}` : variant);
  const lines = variants.map((variant) => ({
    variant,
    name: name(variant),
    points: [...variant.levels].reverse().map((level): Point => ({ ...level, variant: name(variant) })),
  }));
  const ofLines = seriesStyles(lines.map(({ name: of }) => of));
  const style = (variant: MeteredVariant): SeriesStyle => (several ? ofLines(name(variant)) : styleOfVariant(variant.variant));
  const percent = (share: number): string => (share === 0 ? "idle" : `${Math.round(share * 100)} %`);
  return figure({
    title: `Watts by load (${boundary})`,
    summary: variants.map((variant) => `${name(variant)}: ${number(variant.watts_at_load.value)} W at the full load, ${number(variant.watts_idle?.value)} W in active idle`).join(". "),
    note: "The load is a share of each variant's own value, so equal shares are different numbers of operations. Bars are the 95 % confidence intervals of the trials.",
    legend: legend(lines.map(({ name: of, variant }) => ({ name: of, style: style(variant) }))),
    source: "trials/*/trial.json",
    id: `watts-${boundary}`,
    table: {
      head: ["Variant", "Load", `${work} a second`, "Watts"],
      rows: lines.flatMap(({ points }) => points.map((point) => [point.variant, percent(point.share), number(point.work_per_s), number(point.watts.value)])),
    },
    draw: (width) =>
      draw(width, {
        height: Math.min(360, Math.max(260, width * 0.4)),
        marginLeft: 60,
        marginTop: 32,
        x: { domain: [0, 1], inset: 10, ticks: ticksFor(width, 70), tickFormat: percent, label: "load  →" },
        y: { zero: true, nice: true, grid: true, tickFormat: tick, label: "↑ W" },
        marks: [
          Plot.ruleY([0], { strokeOpacity: 0.3 }),
          lines.flatMap(({ points, variant }) => [
            Plot.lineY(points, { x: "share", y: (point: Point) => point.watts.value, stroke: style(variant).colour, strokeWidth: 2, strokeDasharray: style(variant).dash }),
            Plot.ruleX(points.filter(({ watts }) => watts.low !== null), {
              x: "share",
              y1: (point: Point) => point.watts.low,
              y2: (point: Point) => point.watts.high,
              stroke: style(variant).colour,
              strokeWidth: 5,
              strokeOpacity: 0.3,
              strokeLinecap: "round",
            }),
            Plot.dot(points, {
              x: "share",
              y: (point: Point) => point.watts.value,
              r: 4,
              symbol: style(variant).symbol,
              fill: style(variant).colour,
              stroke: "var(--surface)",
              title: (point: Point) => `${point.variant}, ${percent(point.share)}: ${number(point.watts.value)} W, ${number(point.work_per_s)} ${work}/s`,
              className: "watts-point",
            }),
          ]),
        ],
      }),
  });
}
