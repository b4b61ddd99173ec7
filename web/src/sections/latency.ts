// Response time: over load, and over its percentiles.

import { latencyChart } from "../charts/latency";
import { percentileChart, type QuantileSeries } from "../charts/percentiles";
import { median, valid, type Cell } from "../derive/cells";
import { bestOfEach, mainAxis } from "../derive/groups";
import { loadPoints } from "../derive/load";
import type { Look } from "../derive/palette";
import { limits } from "../derive/slo";
import type { Report } from "../model";
import { background } from "./background";
import { handshakes } from "./handshakes";
import { nothing, type Section } from "./section";

/** More lines than this cannot be told apart. */
const MOST_LINES = 8;

function slo(report: Report): string | null | undefined {
  const measure = report.plan?.measure;
  return measure && "slo" in measure ? measure.slo : null;
}

export function loadSection(report: Report, cells: readonly Cell[], look: (cell: Cell) => Look): Section {
  const offered = cells.filter((cell) => loadPoints(cell.trials).length > 0);
  const few = offered.length > MOST_LINES ? bestOfEach(offered, mainAxis(report), report.verdict?.higher_is_better ?? true) : offered;
  const series = few.map((cell) => ({ name: cell.label, look: look(cell), points: loadPoints(cell.trials) }));
  return {
    id: "latency",
    title: "Latency over load",
    short: "Latency",
    body: [series.length > 0 ? latencyChart(series.slice(0, MOST_LINES), limits(slo(report))) : nothing(without(report, "No phase of a trial that counts offered a load in an open loop, so there is no latency over load to draw."))],
  };
}

export function percentileSection(report: Report, cells: readonly Cell[], look: (cell: Cell) => Look): Section {
  const shownCells = cells.length > MOST_LINES ? bestOfEach(cells, mainAxis(report), report.verdict?.higher_is_better ?? true) : cells;
  const merged = shownCells.flatMap((cell): QuantileSeries[] => {
    const curve = cell.summary?.response_time_curve_us ?? [];
    return curve.length > 1 ? [{ name: cell.label, look: look(cell), curve }] : [];
  });
  const single = merged.length === 0 ? shownCells.flatMap((cell) => middleTrial(cell, look(cell))) : [];
  const shown = [...merged, ...single];
  const few = shown.slice(0, MOST_LINES);
  const limit = limits(slo(report)).filter(({ statistic }) => statistic === "p99");
  const what = [
    merged.length > 0 ? "Response time of the trials that count, measured at each variant's own value, their histograms merged." : "No merged distribution was kept, so each line is one trial: the one with the middle value.",
    shownCells.length < cells.length ? "Of each curve of the sweep the point with the best median is drawn." : "",
    few.length < shown.length ? `Only ${few.length} of ${shown.length} lines are drawn.` : "",
    "Each nine takes the same room.",
  ];
  const source = merged.length > 0 ? "verdict.json, merged from trials/*/load.hlog" : "trials/*/trial.json";
  return {
    id: "distribution",
    title: "Percentiles to 99.99",
    short: "Percentiles",
    body: [few.length > 0 ? percentileChart(few, limit, what.filter(Boolean).join(" "), source) : nothing(without(report, "No distribution of response times was kept.")), handshakes(report.trials), background(report.trials)],
  };
}

/** What to say in place of a chart. */
function without(report: Report, otherwise: string): string {
  return valid(report.trials).length === 0 ? "No trial counts, so there is nothing to draw here; each trial by itself stands below." : otherwise;
}

function middleTrial(cell: Cell, look: Look): QuantileSeries[] {
  const trials = valid(cell.trials).filter((trial) => trial.measured && (trial.phases ?? []).some((phase) => (phase.response_time_curve_us?.length ?? 0) > 1));
  const middle = median(trials.map((trial) => trial.measured?.value ?? 0));
  const off = (value: number | undefined): number => Math.abs((value ?? 0) - (middle ?? 0));
  const trial = [...trials].sort((a, b) => off(a.measured?.value) - off(b.measured?.value))[0];
  const curve = trial?.phases?.filter((phase) => (phase.response_time_curve_us?.length ?? 0) > 1).pop()?.response_time_curve_us;
  return trial && curve ? [{ name: `${cell.label}, trial ${trial.number}`, look, curve }] : [];
}
