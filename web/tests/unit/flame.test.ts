// Tests of the tree of a profile and of the search in it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { callers, flameTree, foldedName, height, samplesWithin, search, visit, type FlameNode } from "../../src/derive/flame";
import { quantity, sentenceCase } from "../../src/derive/format";
import type { FlameData } from "../../src/explained";

// t;main 2, t;main;a 3, t;main;a;read_[k] 4, t;main;b;a 1, u;<lost> 5
const DATA: FlameData = {
  samples: 15,
  names: ["t", "main", "a", "read_[k]", "b", "u", "<lost>"],
  nodes: [[0, 0, 10], [1, 1, 10], [2, 2, 7], [3, 3, 4], [2, 4, 1], [3, 2, 1], [0, 5, 5], [1, 6, 5]],
  least_samples: 0,
};

function all(root: FlameNode): FlameNode[] {
  const nodes: FlameNode[] = [];
  visit(root, (node) => nodes.push(node));
  return nodes;
}

const named = (root: FlameNode, name: string): FlameNode[] => all(root).filter((node) => node.name === name);

test("a tree has its callers, its own samples, and its places", () => {
  const root = flameTree(DATA);
  assert.equal(all(root).length, 9);
  assert.equal(height(root), 5);
  const [read] = named(root, "read");
  assert.ok(read);
  assert.deepEqual(callers(read).map(({ name }) => name), ["all threads", "t", "main", "a"]);
  assert.deepEqual([read.kind, read.samples, read.own, read.start, read.depth], ["kernel", 4, 4, 0, 4]);
  const [b] = named(root, "b");
  assert.deepEqual([b?.kind, b?.start, b?.own], ["user", 7, 0]);
  assert.deepEqual(named(root, "main").map(({ own }) => own), [2]);
  assert.deepEqual(named(root, "u").map(({ kind, start }) => [kind, start]), [["thread", 10]]);
  assert.deepEqual(named(root, "lost").map(({ kind, start }) => [kind, start]), [["label", 10]]);
  assert.equal(all(root).reduce((sum, { own }) => sum + own, 0), 15, "own samples add up to all samples");
});

test("a stack counts once in a search, however many of its functions match", () => {
  const root = flameTree(DATA);
  const found = search(root, " A ");
  assert.equal(found.names, 3, "a, main and read");
  assert.equal(found.samples, 10, "main calls every a");
  assert.equal(search(root, "READ").samples, 4);
  assert.equal(search(root, "").nodes.size, 0);
  assert.deepEqual([search(root, "none").samples, search(root, "none").names], [0, 0]);
});

test("the share of a search is that of the function that is shown", () => {
  const root = flameTree(DATA);
  const found = search(root, "read");
  const a = named(root, "a").find(({ samples }) => samples === 7);
  const [b] = named(root, "b");
  const [read] = named(root, "read");
  assert.ok(a && b && read);
  assert.deepEqual([root, a, b, read].map((node) => samplesWithin(node, found)), [4, 4, 0, 4]);
});

test("a tree that is malformed has no function outside it", () => {
  const root = flameTree({ samples: 3, names: [], nodes: [[7, 9, 2], [7, 9, 1], [-1, 0, 1]], least_samples: 0 });
  assert.equal(all(root).length, 4);
  for (const node of all(root)) assert.ok(node.depth >= 0 && (node.caller === null) === (node === root));
  assert.equal(flameTree({ samples: 0, names: [], nodes: [], least_samples: 0 }).callees.length, 0);
});

test("names are compared as the folded stacks write them", () => {
  assert.equal(foldedName("std::f<a;b>\n"), "std::f<a:b> ");
});

test("rates and plain numbers of statistics have no unit 1", () => {
  assert.equal(quantity(5, "1/s"), "5/s");
  assert.equal(quantity(65, "1"), "65");
  assert.deepEqual([0.0000467, 0.0123, 0].map((waits) => quantity(waits, "1")), ["below 0.001", "0.0123", "0"]);
});

test("a sentence of an explanation starts with a capital, and a server's name does not change", () => {
  assert.equal(sentenceCase("what limits nginx is not certain"), "What limits nginx is not certain");
  assert.equal(sentenceCase("an operation costs apache 2 ×"), "An operation costs apache 2 ×");
  assert.equal(sentenceCase("nothing is kept for nginx: none gains"), "Nothing is kept for nginx: none gains");
  assert.equal(sentenceCase("the search for nginx ended early"), "The search for nginx ended early");
  assert.equal(sentenceCase("in a closed loop, nginx was probably limited by server CPUs"), "In a closed loop, nginx was probably limited by server CPUs");
  assert.equal(sentenceCase("nginx is limited by locks"), "nginx is limited by locks");
});
