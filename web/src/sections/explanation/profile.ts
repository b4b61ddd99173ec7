// Where the CPU time of a server goes: its flame graph and its functions.

import { flameChart, flameLegend } from "../../charts/flame";
import { figure } from "../../charts/figure";
import { flameTree, foldedName, type FlameNode } from "../../derive/flame";
import { counted, number, percent } from "../../derive/format";
import { breakable, el, table, type Child } from "../../dom";
import type { CpuProfile, FlameData, FrameCost } from "../../explained";
import { terms } from "../../terms";

/** Functions of the open table, and of the folded one. */
const SHOWN = 12;
const FOLDED = 200;

/** A time so short that nanoseconds count: `0.0158 µs`. */
export function us(value: number): string {
  return `${number(value)}\u00a0µs`;
}

/** What watching cost; nothing where that is not known. */
export function throughputWhileWatching(ratio: number | null | undefined): string {
  return ratio === null || ratio === undefined ? "" : `Throughput while watching was ${percent(ratio)} of that without.`;
}

/** A function with its file, unless its name has that already. */
export function functionName({ frame, module }: { frame: string; module: string }): string {
  return module === "" || frame.startsWith("[") ? frame : `${frame} (${module})`;
}

export function profileParts(profile: CpuProfile, flame: FlameData | undefined, variant: string, id: string): Child[] {
  const ratio = profile.throughput_ratio;
  const cost = ratio === null || ratio === undefined ? "" : `; throughput while profiling ${percent(ratio)} of that without`;
  const lost = profile.lost > 0 ? `; ${counted(profile.lost, "sample")} lost` : "";
  return [
    el("h3", {}, "Where the CPU time goes"),
    el("p", {}, ...terms`[[CPU time]] of an operation: ${us(profile.cpu_us)} (${counted(profile.samples, "sample")}${lost}${cost}).`),
    el("p", { class: "note" }, `Sampled: ${profile.level}.`),
    flame && flame.samples > 0 ? flameFigure(profile, flame, variant, id) : null,
    functions(profile, variant),
  ];
}

/** The CPU time an operation that a sample of a flame graph stands for, microseconds. */
export function usPerSample(profile: CpuProfile, { samples }: FlameData): number {
  return inSamples(profile) / Math.max(1, samples);
}

/** The CPU time an operation that samples account for, microseconds. */
function inSamples({ cpu_us, waking_us, kernel_us, rest_us }: CpuProfile): number {
  return cpu_us - (waking_us ?? 0) - (kernel_us ?? 0) - rest_us;
}

/** What was omitted so that the page is small. */
export function omitted({ least_samples, samples }: FlameData): string {
  if (least_samples === 0) return "";
  return ` Functions with less than ${percent(least_samples / samples)} of the samples are omitted: the file has them.`;
}

/** The files of the functions by name: folded stacks have names only. */
function modules(frames: readonly FrameCost[]): (node: FlameNode) => string {
  const files = new Map<string, string[]>();
  for (const { frame, module } of frames) {
    const name = foldedName(frame);
    files.set(name, [...(files.get(name) ?? []), module]);
  }
  return ({ name, kind }) => {
    if (kind === "thread" || kind === "label") return kind;
    const known = files.get(name) ?? [];
    const [only] = known;
    if (known.length === 1 && only) return only;
    return kind === "kernel" ? "kernel" : "user";
  };
}

/** The cost of a function in words. */
export function costOf(node: FlameNode, total: number, each: number, file: string): string {
  const share = (samples: number): string => percent(samples / Math.max(1, total));
  const cost = `${us(node.samples * each)} an operation, ${share(node.samples)} of the samples`;
  return node.caller === null ? `${node.name}: ${cost}` : `${node.name} (${file}): ${cost}; own ${us(node.own * each)}, ${share(node.own)}`;
}

function flameFigure(profile: CpuProfile, flame: FlameData, variant: string, id: string): HTMLElement {
  const root = flameTree(flame);
  const each = usPerSample(profile, flame);
  const fileOf = modules(profile.frames);
  const drawing = flameChart({
    root,
    label: `the CPU time of ${variant}`,
    detail: (node) => costOf(node, root.samples, each, fileOf(node)),
    look: ({ kind }) => ({ kind }),
    cost: (samples) => `${us(samples * each)} an operation`,
  });
  return figure({
    title: ["Flame graph of ", ...breakable(variant)],
    summary: `Flame graph of the CPU time of ${variant}: ${us(profile.cpu_us)} an operation`,
    legend: flameLegend([
      { kind: "user", text: "program" },
      { kind: "kernel", text: "kernel" },
      { kind: "thread", text: "thread or label" },
    ]),
    note: `Each box is a function below its caller, as wide as its share of the samples. Choose one to see it at full width; with the keyboard, arrows move, Enter chooses and Escape leads back.${omitted(flame)}`,
    source: profile.folded,
    id: `flame-${id}`,
    table: {
      head: ["Function", "Own", "Share", "With callees", "Share"],
      rows: profile.frames.slice(0, FOLDED).map((frame) => row(frame, profile.cpu_us)),
    },
    draw: drawing.paint,
  });
}

function row(frame: FrameCost, cpu_us: number): Child[] {
  const share = (value: number): string => percent(value / Math.max(cpu_us, Number.MIN_VALUE));
  return [functionName(frame), us(frame.self_us), share(frame.self_us), us(frame.total_us), share(frame.total_us)];
}

/** The functions that cost the most; all rows together are the measured CPU time. */
function functions(profile: CpuProfile, variant: string): Child {
  const { frames, cpu_us, waking_us, kernel_us, rest_us } = profile;
  const shown = frames.slice(0, SHOWN);
  const others = inSamples(profile) - shown.reduce((sum, { self_us }) => sum + self_us, 0);
  const sum = (name: string, own: number): Child[] => [name, us(own), percent(own / Math.max(cpu_us, Number.MIN_VALUE)), "", ""];
  return table(
    `Functions of ${variant} with the most CPU time of their own, for each operation`,
    ["Function", "Own", "Share", "With callees", "Share"],
    [
      ...shown.map((frame) => row(frame, cpu_us)),
      sum("other functions", others),
      ...(typeof waking_us === "number" ? [sum("waking up, before the thread runs", waking_us)] : []),
      ...(typeof kernel_us === "number" ? [sum("in the kernel, whose functions were not seen", kernel_us)] : []),
      sum("not in a sample", rest_us),
    ],
  );
}
