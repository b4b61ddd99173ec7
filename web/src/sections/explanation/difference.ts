// Which functions make an operation of one server cost more CPU time than one of the other: a table with intervals, and a flame
// graph that is coloured by the differences.

import { figure } from "../../charts/figure";
import { flameChart, flameLegend, type BoxLook } from "../../charts/flame";
import { flameTree, foldedName, type FlameNode } from "../../derive/flame";
import { counted, number, sentenceCase, unbroken } from "../../derive/format";
import { breakable, el, table, type Child } from "../../dom";
import type { CpuDifference, CpuProfile, ExplainedServer, FlameData, FrameDifference } from "../../explained";
import { terms } from "../../terms";
import { costOf, functionName, omitted, us, usPerSample } from "./profile";
import type { Section } from "../section";

/** Functions of the open table, and of the folded one. */
const SHOWN = 25;
const FOLDED = 300;

export function differenceSection(found: CpuDifference, compared: number | undefined, servers: readonly ExplainedServer[], profiles: Readonly<Record<string, FlameData>>): Section {
  const { a, b, frames } = found;
  const significant = frames.filter(({ is_significant }) => is_significant);
  const sorted = [...significant, ...frames.filter(({ is_significant }) => !is_significant)];
  const rest = sorted.slice(SHOWN, SHOWN + FOLDED);
  return {
    id: "difference",
    title: [...breakable(b), " against ", ...breakable(a)],
    short: "Difference",
    body: [
      el("p", {}, ...breakable(`${unbroken(sentenceCase(found.sentence))}.`), ` Of ${counted(compared ?? frames.length, "function")}, ${number(significant.length)} differ significantly.`),
      rows(`Own CPU time of functions, significant differences first: ${b} minus ${a}`, found, sorted.slice(0, SHOWN)),
      rest.length > 0 ? el("details", {}, el("summary", {}, `${rest.length} more functions`), rows("More functions", found, rest)) : null,
      el("p", { class: "note" }, ...terms`Significant by the false discovery rate over all functions. Functions in grey do not differ significantly: their difference may be chance. Intervals are 95 % [[confidence intervals|confidence interval]].`),
      ...(significant.length > 0 ? graphs(found, servers, profiles) : []),
    ],
  };
}

/** The graph of the second server, and folded that of the first: functions that only the first has are in that one alone. */
function graphs(found: CpuDifference, servers: readonly ExplainedServer[], profiles: Readonly<Record<string, FlameData>>): Child[] {
  const [ofA, ofB] = [flame(found, found.a, servers, profiles), flame(found, found.b, servers, profiles)];
  return [ofB, ofA ? el("details", {}, el("summary", {}, `The same in the stacks of ${found.a}, with the functions that only it has`), ofA) : null];
}

function rows(caption: string, { a, b }: CpuDifference, frames: readonly FrameDifference[]): HTMLElement {
  return table(
    caption,
    ["Function", `${a}, µs`, `${b}, µs`, "Difference, µs", "95 % CI, µs", "Significant"],
    frames.map((frame) => {
      const { a_us, b_us, low_us, high_us, is_significant } = frame;
      const shade = (text: string): Child => el("span", { class: is_significant ? "one-line" : "one-line faint" }, text);
      const only = a_us === 0 ? b : b_us === 0 ? a : null;
      return [
        el("span", { class: is_significant ? undefined : "faint" }, ...breakable(functionName(frame)), only === null ? null : [" ", el("span", { class: "chip" }, `only ${only}`)]),
        shade(number(a_us)),
        shade(number(b_us)),
        shade(signed(b_us - a_us)),
        shade(`${signed(low_us)} to ${signed(high_us)}`),
        shade(is_significant ? "yes" : "no"),
      ];
    }),
  );
}

function signed(value: number): string {
  return `${value > 0 ? "+" : value < 0 ? "−" : ""}${number(Math.abs(value))}`;
}

/** The flame graph of a server, coloured by the differences. A function that only this server has is in no other graph. */
function flame(found: CpuDifference, variant: string, servers: readonly ExplainedServer[], profiles: Readonly<Record<string, FlameData>>): Child {
  const profile: CpuProfile | null | undefined = servers.find((server) => server.variant === variant)?.profile;
  const data = profile ? profiles[profile.folded] : undefined;
  if (!profile || !data || data.samples === 0) return null;
  const root = flameTree(data);
  const each = usPerSample(profile, data);
  const differenceOf = differences(found.frames);
  const largest = Math.max(...found.frames.filter(({ is_significant }) => is_significant).map(({ a_us, b_us }) => Math.abs(b_us - a_us)), Number.MIN_VALUE);
  const look = (node: FlameNode): BoxLook => {
    const frame = differenceOf(node);
    if (!frame?.is_significant) return { kind: "same" };
    const change = frame.b_us - frame.a_us;
    return { kind: change > 0 ? "more" : "less", sign: change > 0 ? "+ " : "− ", strength: 0.45 + 0.55 * (Math.abs(change) / largest) };
  };
  const detail = (node: FlameNode): string => {
    const frame = differenceOf(node);
    const cost = costOf(node, root.samples, each, frame?.module || node.kind);
    if (!frame) return cost;
    const { a_us, b_us, low_us, high_us, is_significant } = frame;
    return `${cost}. Own time in ${found.b} minus ${found.a}: ${signed(b_us - a_us)}\u00a0µs (${signed(low_us)} to ${signed(high_us)}), ${is_significant ? "significant" : "not significant"}`;
  };
  const drawing = flameChart({ root, label: `the difference, in the stacks of ${variant}`, detail, look, cost: (samples) => `${us(samples * each)} an operation` });
  const own = found.frames.filter(({ is_significant }) => is_significant);
  return figure({
    title: ["Differential flame graph: stacks of ", ...breakable(variant)],
    summary: `Flame graph of ${variant}, coloured by the difference in CPU time: ${own.length} functions differ significantly`,
    legend: flameLegend([
      { kind: "more", text: `+ more in ${found.b}` },
      { kind: "less", text: `− less in ${found.b}` },
      { kind: "same", text: "not significant" },
    ]),
    note: `Boxes are as wide as their share of the samples of ${variant}. The colour is that of the function's own time, wherever it is called.${omitted(data)}`,
    source: `${profile.folded} and explanation.json`,
    id: `flame-difference-${variant === found.b ? "b" : "a"}`,
    table: {
      head: ["Function", `${found.a}, µs`, `${found.b}, µs`, "Difference, µs"],
      rows: own.slice(0, FOLDED).map((frame) => [functionName(frame), number(frame.a_us), number(frame.b_us), signed(frame.b_us - frame.a_us)]),
    },
    draw: drawing.paint,
  });
}

/** The difference of a function of a stack. Folded stacks have no files: a name of several files is only known in the kernel. */
function differences(frames: readonly FrameDifference[]): (node: FlameNode) => FrameDifference | undefined {
  const byName = new Map<string, FrameDifference[]>();
  for (const frame of frames) {
    const name = foldedName(frame.frame);
    byName.set(name, [...(byName.get(name) ?? []), frame]);
  }
  return ({ name, kind }) => {
    if (kind === "thread" || kind === "label") return undefined;
    const known = byName.get(name) ?? [];
    const fitting = known.length > 1 ? known.filter(({ module }) => (module === "kernel") === (kind === "kernel")) : known;
    return fitting.length === 1 ? fitting[0] : undefined;
  };
}
