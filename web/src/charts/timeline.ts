// One trial over time: throughput, response time, errors and CPU time in panels above one time axis, with the phases as
// bands.

import * as Plot from "@observablehq/plot";
import { counted, number, responseTime, seconds, tick, timeTick } from "../derive/format";
import { bandAt, bands, cpuLines, cpuList, levelBands, phaseAt, phaseName, type Band, type CpuLine } from "../derive/timeline";
import type { Report, Tick, Trial } from "../model";
import { figure, legend } from "./figure";
import { draw, logAxis, logTicks, thinned, ticksFor } from "./plot";

type Drawing = SVGElement | HTMLElement;
type Marks = NonNullable<Plot.PlotOptions["marks"]>;

const LINE = { circle: "circle" as const };
const key = (name: string, colour: string, dash = ""): { name: string; style: { colour: string; symbol: "circle"; dash: string }; line: boolean } => ({
  name,
  style: { colour, symbol: LINE.circle, dash },
  line: true,
});

/** The server's CPU time has the variant's colour. */
function cpuStyles(colour: string): [CpuLine["what"], { colour: string; dash: string }][] {
  return [
    ["server", { colour, dash: "9 2 2 2" }],
    ["client's CPUs", { colour: "var(--ink-soft)", dash: "7 3" }],
    ["steal", { colour: "var(--bad)", dash: "2 3" }],
  ];
}

/** The readings of each meter: watts of different boundaries have panels of their own. */
interface MeterLine {
  label: string;
  points: { t_s: number; watts: number }[];
}

function meterLines(report: Report, trial: Trial): MeterLine[] {
  const read = report.watts?.[String(trial.number)];
  if (!read) return [];
  return (trial.power?.meters ?? []).flatMap(({ name, boundary }) => {
    const column = read.columns.find((one) => one.name === name);
    const points = (column?.values ?? []).flatMap((watts, row) => {
      const t_s = read.t_s[row];
      return watts === null || t_s === undefined ? [] : [{ t_s, watts }];
    });
    return points.length === 0 ? [] : [{ label: `${name}, W (${boundary})`, points }];
  });
}

/** Whether the telemetry of the trial is that of a machine without the client: the plan's CPUs are those of this one. */
function isOfOtherMachine({ files }: Trial): boolean {
  return Boolean(files?.client_telemetry) || Object.keys(files?.clients_telemetry ?? {}).length > 0;
}

export function timelineChart(report: Report, trial: Trial, colour: string): HTMLElement {
  const ticks = trial.timeline ?? [];
  const phases = [...bands(trial.phases ?? []), ...levelBands(trial.power)];
  const meters = meterLines(report, trial);
  const end = Math.max(trial.duration_s, ...phases.map((band) => band.end), 0.1);
  const cpu = cpuLines(report.telemetry[String(trial.number)], cpuList(isOfOtherMachine(trial) ? "" : (report.plan?.cpus.client ?? "")));
  const errors = ticks.reduce((sum, one) => sum + one.failed, 0);
  const peak = ticks.reduce((most, one) => Math.max(most, one.throughput_per_s), 0);
  const panels = (width: number): Drawing[] => {
    const panel = (label: string, height: number, y: Plot.ScaleOptions, marks: Marks, first = false, last = false): Drawing =>
      draw(width, {
        height: height + (first ? 26 : 14) + (last ? 26 : 0),
        marginTop: first ? 34 : 22,
        marginBottom: last ? 34 : 8,
        marginLeft: 60,
        x: { domain: [0, end], ticks: ticksFor(width), tickFormat: (value: number) => (last ? `${value} s` : ""), tickSize: last ? 6 : 0, label: null },
        y: { grid: true, ticks: 3, label: `↑ ${label}`, ...y },
        ariaLabel: label,
        marks: [phaseBands(phases, width, end, first), marks],
      });
    const z = (one: Tick): number => bandAt(phases, one.t_s);
    const timesOf = (name: "p50_us" | "p99_us") => (one: Tick): number | null => one[name] || null;
    const times = ticks.flatMap((one) => [one.p50_us, one.p99_us]).filter((us): us is number => typeof us === "number" && us > 0);
    const low = times.reduce((least, us) => Math.min(least, us), Infinity) / 1.3;
    const high = times.reduce((most, us) => Math.max(most, us), 0) * 1.3;
    const shapes: Drawing[] = [
      panel("throughput, /s", 130, { zero: true, tickFormat: tick, nice: true }, [
        Plot.lineY(ticks, { x: "t_s", y: (one: Tick) => one.offered_per_s ?? null, z, stroke: "var(--ink-soft)", strokeDasharray: "3 3", curve: "step-after" }),
        Plot.areaY(ticks, { x: "t_s", y: "throughput_per_s", z, fill: colour, fillOpacity: 0.12 }),
        Plot.lineY(ticks, { x: "t_s", y: "throughput_per_s", z, stroke: colour, strokeWidth: 1.8, className: "throughput" }),
        Plot.ruleX(ticks, Plot.pointerX({ x: "t_s", stroke: "var(--ink)", strokeOpacity: 0.5 })),
        Plot.tip(ticks, Plot.pointerX({ x: "t_s", y: "throughput_per_s", fill: "var(--surface)", stroke: "var(--line)", title: tickText, anchor: "bottom" })),
      ], true),
    ];
    if (times.length > 0) {
      shapes.push(
        panel("response time", 120, { type: "log", domain: [low, high], axis: null, grid: false }, [
          logAxis("y", thinned(logTicks(low, high), 6), timeTick, "↑ response time"),
          Plot.gridY(thinned(logTicks(low, high), 6), { strokeOpacity: 0.12 }),
          Plot.lineY(ticks, { x: "t_s", y: timesOf("p50_us"), z, stroke: colour, strokeWidth: 1.5, strokeDasharray: "3 3" }),
          Plot.lineY(ticks, { x: "t_s", y: timesOf("p99_us"), z, stroke: colour, strokeWidth: 1.8 }),
        ]),
      );
    }
    const most = Math.max(1, ...ticks.map((one) => one.failed));
    shapes.push(
      panel("errors", 50, { domain: [0, most], tickFormat: tick, ticks: [0, most] }, [
        Plot.ruleX(ticks.filter((one) => one.failed > 0), { x: "t_s", y1: 0, y2: "failed", stroke: "var(--bad)", strokeWidth: 2 }),
        errors === 0 ? Plot.text(["none"], { frameAnchor: "middle", fill: "var(--ink-soft)", text: (word: string) => word }) : null,
      ], false, cpu.length === 0 && meters.length === 0),
    );
    if (cpu.length > 0) {
      shapes.push(
        panel("CPU, cores", 100, { zero: true, nice: true }, cpuStyles(colour).map(([what, style]) =>
          Plot.lineY(cpu.filter((line) => line.what === what), { x: "t_s", y: "cores", stroke: style.colour, strokeWidth: 1.6, strokeDasharray: style.dash, className: "cpu" }),
        ), false, meters.length === 0),
      );
    }
    meters.forEach(({ label, points }, at) => {
      shapes.push(
        panel(label, 80, { zero: true, nice: true }, [Plot.lineY(points, { x: "t_s", y: "watts", stroke: colour, strokeWidth: 1.6, className: "watts" })], false, at === meters.length - 1),
      );
    });
    return shapes;
  };
  return figure({
    title: `Trial ${trial.number}: ${trial.variant} over time`,
    summary: `Trial ${trial.number} of ${trial.variant} took ${seconds(trial.duration_s)}; throughput peaked at ${number(peak)}/s; ${errors === 0 ? "no operation failed" : `${counted(errors, "operation")} failed`}. Phases: ${phases.map((band) => band.label).join(", ")}.`,
    legend: legend([
      key("throughput, p99", colour),
      key("p50", colour, "3 3"),
      key("offered", "var(--ink-soft)", "3 3"),
      ...cpuStyles(colour).flatMap(([what, style]) => (cpu.some((line) => line.what === what) ? [key(`CPU: ${what}`, style.colour, style.dash)] : [])),
    ]),
    note: [
      phases.length > 0 ? `The bands, from the left: ${phases.map((band) => band.label).join(", ")}.` : "",
      (trial.ticks_merged ?? 1) > 1 ? `Each point combines ${trial.ticks_merged} recorded points: their mean throughput, and the worst of their p50 and p99.` : "",
    ].join(" ").trim() || undefined,
    source: [`${trial.folder}/trial.json`, trial.files?.telemetry, trial.files?.power].filter(Boolean).join(" and "),
    id: "timeline",
    table: {
      head: ["Second", "Throughput", "Offered", "p50", "p99", "Errors", "Phase"],
      rows: ticks.map((one) => {
        const phase = phaseAt(trial.phases ?? [], one.t_s, one.offered_per_s);
        return [seconds(one.t_s), `${number(one.throughput_per_s)}/s`, one.offered_per_s ? `${number(one.offered_per_s)}/s` : "–", responseTime(one.p50_us, one.gave_up_from_us), responseTime(one.p99_us, one.gave_up_from_us), number(one.failed), phase ? phaseName(phase.kind) : ""];
      }),
    },
    draw: (width) => {
      const box = document.createElement("div");
      box.className = "panels";
      box.append(...panels(width));
      return box;
    },
  });
}

function tickText(one: Tick): string {
  const offered = one.offered_per_s ? `, offered ${number(one.offered_per_s)}/s` : "";
  return `${seconds(one.t_s)}: ${number(one.throughput_per_s)}/s${offered}\np50 ${responseTime(one.p50_us, one.gave_up_from_us)}, p99 ${responseTime(one.p99_us, one.gave_up_from_us)}\nerrors ${number(one.failed)}`;
}

function phaseBands(phases: readonly Band[], width: number, end: number, hasLabels: boolean): Marks {
  const fits = (band: Band): boolean => ((band.end - band.start) / end) * (width - 76) > band.label.length * 6.4;
  const fill = (band: Band): string => (band.kind === "measure" ? "var(--accent)" : "var(--ink)");
  return [
    Plot.rectX(phases, { x1: "start", x2: "end", fill, fillOpacity: (band: Band) => (band.kind === "measure" ? 0.14 : 0.05), insetLeft: 0.5, insetRight: 0.5, className: "phase" }),
    hasLabels ? Plot.text(phases.filter(fits), { x: (band: Band) => (band.start + band.end) / 2, frameAnchor: "top", dy: -13, text: "label", fill: "var(--ink-soft)", fontSize: 11 }) : null,
  ];
}
