// Response time by percentile, on an axis where each further nine has the same width, so that the tail is readable.

import * as Plot from "@observablehq/plot";
import { responseTime, timeTick } from "../derive/format";
import type { SeriesStyle } from "../derive/palette";
import { at, percentileLine, position, positionText, SHARES } from "../derive/percentile";
import type { Limit } from "../derive/slo";
import type { QuantileCurve } from "../model";
import type { Child } from "../dom";
import { terms } from "../terms";
import { figure, legend } from "./figure";
import { draw, logAxis, logTicks } from "./plot";

export interface QuantileSeries {
  name: string;
  style: SeriesStyle;
  curve: QuantileCurve;
  /** From this response time on, the curve is a lower bound; nothing where no operation timed out. */
  gaveUpFrom?: number | null | undefined;
}

/** The percentiles with a mark in the chart and a column in the table. */
const TABLE_SHARES = [0.5, 0.9, 0.99, 0.999, 0.9999];

/** `p99.9` for a share of 0.999. */
const name = (share: number): string => `p${Number((share * 100).toFixed(2))}`;

export function percentileChart(series: readonly QuantileSeries[], limits: readonly Limit[], note: Child, source: string): HTMLElement {
  const lines = series.map((one) => ({ ...one, line: percentileLine(one.curve) }));
  const times = [...lines.flatMap(({ line }) => line.map((point) => point.us)), ...limits.map((limit) => limit.us)];
  const low = times.reduce((least, us) => Math.min(least, us), Infinity) / 1.2;
  const high = times.reduce((most, us) => Math.max(most, us), 0) * 1.2;
  const ticks = logTicks(low, high);
  const places = SHARES.map(position);
  const text = ({ curve, gaveUpFrom }: QuantileSeries, share: number): string => responseTime(at(curve, share), gaveUpFrom);
  return figure({
    title: terms`Distribution of [[response times]] to [[p99.99]]`,
    summary: lines.map((one) => `${one.name}: p50 ${text(one, 0.5)}, p99 ${text(one, 0.99)}, p99.99 ${text(one, 0.9999)}`).join(". "),
    note,
    legend: legend(series.map(({ name, style }) => ({ name, style, line: true }))),
    source,
    id: "percentiles",
    table: {
      head: ["Variant", ...TABLE_SHARES.map(name)],
      rows: series.map((one) => [one.name, ...TABLE_SHARES.map((share) => text(one, share))]),
    },
    draw: (width) =>
      draw(width, {
        height: Math.min(440, Math.max(300, width * 0.5)),
        marginLeft: 60,
        marginRight: 28,
        x: { type: "log", domain: [1, position(1)], axis: null },
        y: { type: "log", domain: [low, high], axis: null },
        marks: [
          logAxis("y", ticks, timeTick, "↑ response time"),
          logAxis("x", width < 480 ? places.slice(1) : places, positionText, "percentile  →"),
          Plot.gridY(ticks, { strokeOpacity: 0.12 }),
          Plot.gridX(places, { strokeOpacity: 0.12 }),
          limits.map((limit) => [
            Plot.ruleY([limit.us], { stroke: "var(--bad)", strokeDasharray: "5 4", strokeWidth: 1.5 }),
            Plot.text([limit.us], { y: (us: number) => us, frameAnchor: "left", textAnchor: "start", dx: 4, dy: -8, text: () => limit.text, fill: "var(--bad)", fontWeight: 600 }),
          ]),
          lines.map(({ style, line }) => Plot.lineY(line, { x: "x", y: "us", stroke: style.colour, strokeWidth: 2.5, strokeDasharray: style.dash, className: "percentile-line" })),
          lines.map(({ name: variant, style, curve, gaveUpFrom }) =>
            Plot.dot(TABLE_SHARES.flatMap((share) => {
              const us = at(curve, share);
              return us ? [{ share, us }] : [];
            }), {
              x: (point: { share: number }) => position(point.share),
              y: "us",
              r: 4,
              symbol: style.symbol,
              fill: style.colour,
              stroke: "var(--surface)",
              title: (point: { share: number; us: number }) => `${variant}: ${name(point.share)} ${responseTime(point.us, gaveUpFrom)}`,
            }),
          ),
        ],
      }),
  });
}
