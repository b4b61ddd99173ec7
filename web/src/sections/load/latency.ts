// Response times: over offered load, and by percentile.

import type { Child } from "../../dom";
import { latencyChart } from "../../charts/latency";
import { percentileChart, type QuantileSeries } from "../../charts/percentiles";
import { median, valid, type Cell } from "../../derive/cells";
import { bestOfEach, mainAxis } from "../../derive/groups";
import { loadPoints } from "../../derive/load";
import type { SeriesStyle } from "../../derive/palette";
import { limits } from "../../derive/slo";
import { terms } from "../../terms";
import type { Report } from "../../model";
import { background } from "../trials/background";
import { clientPart } from "../trials/client";
import { handshakes } from "../trials/handshakes";
import type { Section } from "../section";

/** With more lines than this, a reader cannot distinguish them. */
const MAX_LINES = 8;

function slo(report: Report): string | null | undefined {
  const measure = report.plan?.measure;
  return measure && "slo" in measure ? measure.slo : null;
}

export function loadSection(report: Report, cells: readonly Cell[], style: (cell: Cell) => SeriesStyle): Section | null {
  const offered = cells.filter((cell) => loadPoints(cell.trials).length > 0);
  const few = offered.length > MAX_LINES ? bestOfEach(offered, mainAxis(report), report.verdict?.higher_is_better ?? true) : offered;
  // Where the value is a capacity, it is a rate on the chart's axis.
  const capacity = (cell: Cell): number | null => (report.plan?.measure.metric === "capacity" ? cell.summary?.median ?? null : null);
  if (few.length === 0) return null;
  const series = few.map((cell) => ({ name: cell.label, style: style(cell), points: loadPoints(cell.trials), capacity: capacity(cell) }));
  return {
    id: "latency",
    title: terms`[[Response time]] under load`,
    short: "Load",
    body: [latencyChart(series.slice(0, MAX_LINES), limits(slo(report)))],
  };
}

export function percentileSection(report: Report, cells: readonly Cell[], style: (cell: Cell) => SeriesStyle): Section | null {
  const shownCells = cells.length > MAX_LINES ? bestOfEach(cells, mainAxis(report), report.verdict?.higher_is_better ?? true) : cells;
  const merged = shownCells.flatMap((cell): QuantileSeries[] => {
    const curve = cell.summary?.response_time_curve_us ?? [];
    return curve.length > 1 ? [{ name: cell.label, style: style(cell), curve, gaveUpFrom: cell.summary?.gave_up_from_us }] : [];
  });
  const single = merged.length === 0 ? shownCells.flatMap((cell) => middleTrial(cell, style(cell))) : [];
  const shown = [...merged, ...single];
  const few = shown.slice(0, MAX_LINES);
  const beside = [clientPart(report.trials), handshakes(report.trials), background(report.trials)];
  if (few.length === 0 && beside.every((part) => part === null)) return null;
  const limit = limits(slo(report)).filter(({ statistic }) => statistic === "p99");
  const note: Child[] = [
    merged.length > 0 ? terms`[[Percentiles]] of the [[response time]] in the [[measured phase]] of all [[valid trials]]. Their histograms are merged. ` : terms`The verdict has no merged distribution, so each line is one [[trial]]: the one with the middle value. `,
    merged.length > 0 && slo(report) ? terms`The measured phase of a [[capacity]] has all operations that fell due at about that rate. ` : "",
    shownCells.length < cells.length ? "For each curve of the sweep, the chart shows the point with the best median. " : "",
    few.length < shown.length ? `The chart shows ${few.length} of ${shown.length} lines. ` : "",
    few.some(({ gaveUpFrom }) => typeof gaveUpFrom === "number") ? "Times with ≥ are lower bounds: operations had no answer when the client gave them up. " : "",
    "Each further nine (90 %, 99 %, 99.9 %) has the same width.",
  ];
  const source = merged.length > 0 ? "verdict.json, merged from trials/*/load.hlog" : "trials/*/trial.json";
  return {
    id: "distribution",
    title: terms`[[Response time]] by [[percentile]]`,
    short: "Percentiles",
    body: [few.length > 0 ? percentileChart(few, limit, note, source) : null, ...beside],
  };
}

function middleTrial(cell: Cell, style: SeriesStyle): QuantileSeries[] {
  const trials = valid(cell.trials).filter((trial) => trial.measured && (trial.phases ?? []).some((phase) => (phase.response_time_curve_us?.length ?? 0) > 1));
  const middle = median(trials.map((trial) => trial.measured?.value ?? 0));
  const off = (value: number | undefined): number => Math.abs((value ?? 0) - (middle ?? 0));
  const trial = [...trials].sort((a, b) => off(a.measured?.value) - off(b.measured?.value))[0];
  const phase = trial?.phases?.filter((phase) => (phase.response_time_curve_us?.length ?? 0) > 1).pop();
  const curve = phase?.response_time_curve_us;
  return trial && curve ? [{ name: `${cell.label}, trial ${trial.number}`, style, curve, gaveUpFrom: phase?.gave_up_from_us }] : [];
}
