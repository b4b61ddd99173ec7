// Response time over the percentile axis: each nine takes the same room, so that the tail is as plain as the middle.

import * as Plot from "@observablehq/plot";
import { time, timeTick } from "../derive/format";
import type { Look } from "../derive/palette";
import { at, percentileLine, position, positionText, SHARES } from "../derive/percentile";
import type { Limit } from "../derive/slo";
import type { QuantileCurve } from "../model";
import { figure, legend } from "./figure";
import { draw, logAxis, logTicks } from "./plot";

export interface QuantileSeries {
  name: string;
  look: Look;
  curve: QuantileCurve;
}

const READ = [0.5, 0.9, 0.99, 0.999, 0.9999];

export function percentileChart(series: readonly QuantileSeries[], limits: readonly Limit[], what: string, source: string): HTMLElement {
  const lines = series.map((one) => ({ ...one, line: percentileLine(one.curve) }));
  const times = [...lines.flatMap(({ line }) => line.map((point) => point.us)), ...limits.map((limit) => limit.us)];
  const low = times.reduce((least, us) => Math.min(least, us), Infinity) / 1.2;
  const high = times.reduce((most, us) => Math.max(most, us), 0) * 1.2;
  const ticks = logTicks(low, high);
  const places = SHARES.map(position);
  return figure({
    title: "Percentiles of response time",
    summary: lines.map(({ name, curve }) => `${name}: median ${time(at(curve, 0.5))}, 99 % ${time(at(curve, 0.99))}, 99.99 % ${time(at(curve, 0.9999))}`).join(". "),
    note: what,
    legend: legend(series.map(({ name, look }) => ({ name, look, line: true }))),
    source,
    id: "percentiles",
    table: {
      head: ["Variant", ...READ.map((share) => `${Number((share * 100).toFixed(2))} %`)],
      rows: series.map(({ name, curve }) => [name, ...READ.map((share) => time(at(curve, share)))]),
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
          lines.map(({ look, line }) => Plot.lineY(line, { x: "x", y: "us", stroke: look.colour, strokeWidth: 2.5, strokeDasharray: look.dash, className: "percentile-line" })),
          lines.map(({ name, look, curve }) =>
            Plot.dot(READ.flatMap((share) => {
              const us = at(curve, share);
              return us ? [{ share, us }] : [];
            }), {
              x: (point: { share: number }) => position(point.share),
              y: "us",
              r: 4,
              symbol: look.symbol,
              fill: look.colour,
              stroke: "var(--surface)",
              title: (point: { share: number; us: number }) => `${name}: ${Number((point.share * 100).toFixed(2))} % within ${time(point.us)}`,
            }),
          ),
        ],
      }),
  });
}
