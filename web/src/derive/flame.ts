// The tree of a profile: from its compact form to functions with callers and callees, and the search in it. Drawing is left to
// charts/flame.ts.

import type { FlameData } from "../explained";

export type FunctionKind = "user" | "kernel" | "label" | "thread";

export interface FlameNode {
  name: string;
  kind: FunctionKind;
  /** Samples with callees. */
  samples: number;
  /** Samples in the function itself, and in callees that are omitted. */
  own: number;
  /** Samples to the left of it. */
  start: number;
  depth: number;
  caller: FlameNode | null;
  callees: FlameNode[];
}

const KERNEL = "_[k]";

/** The tree, below a node that stands for all threads. */
export function flameTree({ samples, names, nodes }: FlameData): FlameNode {
  const root: FlameNode = { name: "all threads", kind: "thread", samples, own: samples, start: 0, depth: 0, caller: null, callees: [] };
  let last = root;
  for (const [depth, place, count] of nodes) {
    let caller = last;
    while (caller.depth > depth && caller.caller) caller = caller.caller;
    const name = names[place] ?? "?";
    const kind = depth === 0 ? "thread" : kindOf(name);
    const before = caller.callees.at(-1);
    last = {
      name: shown(name, kind),
      kind,
      samples: count,
      own: count,
      start: before ? before.start + before.samples : caller.start,
      depth: caller.depth + 1,
      caller,
      callees: [],
    };
    caller.callees.push(last);
    caller.own -= count;
  }
  return root;
}

function kindOf(name: string): FunctionKind {
  if (name.endsWith(KERNEL)) return "kernel";
  return /^<.+>$/.test(name) ? "label" : "user";
}

/** The name without what tells its kind, which the page shows by colour and in words. */
function shown(name: string, kind: FunctionKind): string {
  if (kind === "kernel") return name.slice(0, -KERNEL.length);
  return kind === "label" ? name.slice(1, -1) : name;
}

/** A name as the folded stacks write it: a semicolon ends a function there. */
export function foldedName(name: string): string {
  return name.replace(/;/g, ":").replace(/\p{Cc}/gu, " ");
}

/** Visits a node and everything that it calls. */
export function visit(node: FlameNode, see: (node: FlameNode) => void): void {
  const left = [node];
  for (let next = left.pop(); next; next = left.pop()) {
    see(next);
    left.push(...next.callees);
  }
}

/** The number of rows that a tree has, itself included. */
export function height(node: FlameNode): number {
  let deepest = node.depth;
  visit(node, ({ depth }) => {
    deepest = Math.max(deepest, depth);
  });
  return deepest - node.depth + 1;
}

/** The callers of a node, the outermost first. */
export function callers(node: FlameNode): FlameNode[] {
  const path: FlameNode[] = [];
  for (let at = node.caller; at; at = at.caller) path.unshift(at);
  return path;
}

export interface Found {
  nodes: ReadonlySet<FlameNode>;
  /** Samples whose stack has a match. */
  samples: number;
  /** Different names that match. */
  names: number;
}

/** Functions whose name has a text, in upper or lower case. Threads and labels count too. */
export function search(root: FlameNode, text: string): Found {
  const wanted = text.trim().toLowerCase();
  const nodes = new Set<FlameNode>();
  if (wanted === "") return { nodes, samples: 0, names: 0 };
  const names = new Set<string>();
  visit(root, (node) => {
    if (!node.caller || !node.name.toLowerCase().includes(wanted)) return;
    nodes.add(node);
    names.add(node.name);
  });
  // A stack counts once, at its outermost match.
  let samples = 0;
  for (const node of nodes) if (!callers(node).some((caller) => nodes.has(caller))) samples += node.samples;
  return { nodes, samples, names: names.size };
}

/** Samples below a node, or all of its own, whose stack has a match. */
export function samplesWithin(node: FlameNode, { nodes }: Found): number {
  if (nodes.has(node) || callers(node).some((caller) => nodes.has(caller))) return node.samples;
  let samples = 0;
  const left = [...node.callees];
  for (let next = left.pop(); next; next = left.pop()) {
    if (nodes.has(next)) samples += next.samples;
    else left.push(...next.callees);
  }
  return samples;
}
