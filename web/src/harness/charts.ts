// Throughput and response time of each side over time. The table beside the charts has the same figures as text.

import uPlot from "uplot";
import type { RunView, SideTick } from "./run_view";

/** A chart of one figure. */
interface Chart {
  plot: uPlot | null;
  sides: string[];
  box: HTMLElement;
  title: string;
  value: (tick: SideTick) => number | null;
}

/** A color of the page as a canvas understands it. */
function color(name: string): string {
  const probe = document.createElement("span");
  probe.className = `color-${name}`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** One row for each time, one column for each side. */
export function columns(view: RunView, value: (tick: SideTick) => number | null): (number | null)[][] {
  const sides = [...view.sides.values()];
  const rows: { at: number; index: number; value: number | null }[] = [];
  sides.forEach((side, index) => {
    for (const tick of side.ticks) rows.push({ at: tick.at_s, index, value: value(tick) });
  });
  rows.sort((a, b) => a.at - b.at);
  return [rows.map((row) => row.at), ...sides.map((_, index) => rows.map((row) => (row.index === index ? row.value : null)))];
}

export class Charts {
  private readonly charts: Chart[];

  constructor(place: HTMLElement) {
    const chart = (title: string, value: Chart["value"]): Chart => {
      const box = document.createElement("div");
      box.className = "chart";
      box.setAttribute("role", "img");
      box.setAttribute("aria-label", `${title} over time; the table below has the newest values`);
      place.append(box);
      return { plot: null, sides: [], box, title, value };
    };
    this.charts = [
      chart("Throughput, operations a second", (tick) => tick.throughput_per_s),
      chart("99th percentile of the response time, ms", (tick) => (tick.p99_us === null ? null : tick.p99_us / 1000)),
    ];
    new ResizeObserver(() => {
      for (const { plot, box } of this.charts) plot?.setSize({ width: box.clientWidth, height: 180 });
    }).observe(place);
  }

  draw(view: RunView): void {
    const sides = [...view.sides.keys()];
    for (const chart of this.charts) {
      const data = columns(view, chart.value) as uPlot.AlignedData;
      if (chart.plot && chart.sides.join("\n") === sides.join("\n")) {
        chart.plot.setData(data);
        continue;
      }
      chart.plot?.destroy();
      chart.sides = sides;
      chart.plot = sides.length === 0 ? null : new uPlot(this.options(chart, sides), data, chart.box);
    }
  }

  private options(chart: Chart, sides: string[]): uPlot.Options {
    const ink = color("ink");
    const grid = { stroke: color("line"), width: 1 };
    const axis = { stroke: ink, grid, ticks: grid };
    return {
      title: chart.title,
      width: chart.box.clientWidth,
      height: 180,
      cursor: { show: false },
      legend: { show: false },
      scales: { x: { time: false } },
      axes: [{ ...axis, label: "seconds since the start" }, { ...axis, size: 70 }],
      // Dashes tell the sides apart without their colors.
      series: [{}, ...sides.map((name, index) => ({
        label: name, stroke: color(`series-${index % 7}`), width: 2, spanGaps: true, points: { show: false },
        dash: index === 0 ? [] : [4 * index, 3],
      }))],
    };
  }
}
