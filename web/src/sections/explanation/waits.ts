// Where the threads of a server wait: for what, at which place, who ends it, and the flame graph of the time off the CPU.

import { figure } from "../../charts/figure";
import { flameChart, flameLegend } from "../../charts/flame";
import { flameTree, visit, type FlameNode } from "../../derive/flame";
import { counted, number, percent } from "../../derive/format";
import { breakable, el, table, type Child } from "../../dom";
import type { FlameData, WaitPlace, WaitProfile, WaitWaker } from "../../explained";
import { terms } from "../../terms";
import { omitted, throughputWhileWatching, us } from "./profile";
import { nothing } from "../section";

/** Places of the open table, and of the folded one. */
const SHOWN = 12;
const FOLDED = 100;

/** The label of stacks that wait for work, as `crates/profile/src/waits/result.rs` writes it. */
const IDLE = "waiting for work";

const HEAD = ["Blocked on", "An operation", "Times", "Where", "Threads", "Woken by"];

export function waitParts(waits: WaitProfile, flame: FlameData | undefined, variant: string, id: string): Child[] {
  const { kinds, idle_us, places, throughput_ratio: ratio, stopped_after_s: stopped, lost } = waits;
  const blocked = kinds.reduce((sum, { us: time }) => sum + time, 0);
  const inside = places.filter(({ is_idle }) => !is_idle);
  const locks = inside.filter(({ is_lock }) => is_lock);
  const notes = [
    `Seen: ${waits.level}.`,
    throughputWhileWatching(ratio),
    stopped === null || stopped === undefined ? "" : `Watching ended by itself after ${number(stopped)} s, because it used too much CPU time.`,
    lost > 0 ? `${counted(lost, "record")} lost.` : "",
  ];
  return [
    el("h3", {}, ...terms`Where time goes [[off the CPU]]`),
    el("p", {}, `All threads together wait ${us(blocked)} an operation within operations, and ${us(idle_us)} for work.`),
    el("p", { class: "note" }, notes.filter((note) => note !== "").join(" ")),
    inside.length > 0 ? placeTable(`Where ${variant} waits within operations, the longest first`, inside.slice(0, SHOWN)) : nothing("No wait within an operation was seen."),
    locks.length > 0 ? lockTable(locks.slice(0, SHOWN), variant) : null,
    flame && flame.samples > 0 ? flameFigure(waits, flame, variant, id) : null,
  ];
}

function placeTable(caption: string, places: readonly WaitPlace[]): Child {
  return table(caption, HEAD, places.map(row));
}

function row({ kind, is_idle, us: time, waits, functions, threads, wakers = [] }: WaitPlace): Child[] {
  const [first] = wakers;
  return [is_idle ? `for work: ${kind}` : kind, us(time), number(waits), place(functions), threads.join(", "), first ? waker(first) : ""];
}

function lockTable(locks: readonly WaitPlace[], variant: string): Child {
  return table(
    `Locks of ${variant} by waiting time, with the threads that ended the waits: their holders`,
    ["Waits for the lock", "An operation", "Holders"],
    locks.map(({ functions, us: time, wakers = [] }) => [place(functions), us(time), wakers.length > 0 ? el("ul", {}, ...wakers.map((found) => el("li", {}, `${percent(found.share)} `, waker(found)))) : "not known"]),
  );
}

/** The functions, the one that waits first. */
function place(functions: readonly string[]): Child {
  return functions.length > 0 ? el("span", {}, ...functions.flatMap((name, at) => [...(at > 0 ? [" ← "] : []), ...breakable(name)])) : "stack not read";
}

function waker({ who, functions = [] }: WaitWaker): Child {
  return functions.length > 0 ? el("span", {}, `${who}: `, place(functions)) : who;
}

/** The tree without stacks that wait for work: they are as long as the slice, and would leave no room for the others. */
function withoutIdle(root: FlameNode): FlameNode {
  const kept = (node: FlameNode, caller: FlameNode | null): FlameNode => {
    const copy: FlameNode = { ...node, caller, callees: [] };
    for (const callee of node.callees) {
      if (callee.kind === "label" && callee.name === IDLE) copy.samples -= callee.samples;
      else copy.callees.push(kept(callee, copy));
    }
    if (copy.depth === 0) {
      copy.callees = copy.callees.filter(({ samples }) => samples > 0);
      copy.samples = copy.callees.reduce((sum, { samples }) => sum + samples, copy.own);
    }
    return copy;
  };
  const tree = kept(root, null);
  // Places follow from what is left.
  visit(tree, (node) => {
    let start = node.start;
    for (const callee of node.callees) {
      callee.start = start;
      start += callee.samples;
    }
  });
  return tree;
}

function flameFigure(waits: WaitProfile, flame: FlameData, variant: string, id: string): Child {
  const root = withoutIdle(flameTree(flame));
  if (root.samples === 0) return null;
  // A sample is a microsecond of a thread.
  const cost = (samples: number): string => `${us(samples / Math.max(waits.operations, Number.MIN_VALUE))} an operation`;
  const drawing = flameChart({
    root,
    label: `the waits of ${variant}`,
    detail: (node) => `${node.name} (${node.kind}): ${cost(node.samples)}, ${percent(node.samples / root.samples)} of the waits`,
    look: ({ kind }) => ({ kind }),
    cost,
  });
  return figure({
    title: [...terms`[[Off-CPU|off the CPU]] flame graph of `, ...breakable(variant)],
    summary: `Flame graph of the waits of ${variant} within operations: ${cost(root.samples)}`,
    legend: flameLegend([
      { kind: "user", text: "program" },
      { kind: "kernel", text: "kernel" },
      { kind: "thread", text: "thread, or what it waits for" },
    ]),
    note: `Each box is a function below its caller, as wide as the time that threads waited in it. Waits for work are left out: the file has them.${omitted(flame)}`,
    source: waits.folded,
    id: `waits-${id}`,
    table: { head: HEAD, rows: waits.places.slice(0, FOLDED).map(row) },
    draw: drawing.paint,
  });
}
