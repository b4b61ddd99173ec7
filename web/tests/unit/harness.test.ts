// What the live page makes of the events of a run, and in which order it takes them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { duration, empty, left, percent, take, type RunEvent } from "../../src/harness/run_view";
import { isAfter, whileVisible } from "../../src/harness/stream";

const view = (events: RunEvent[]): ReturnType<typeof empty> => {
  const found = empty();
  for (const event of events) take(found, event);
  return found;
};

const BEGINS = { event: "run_begins", at_ms: 1000, run: "r", trials: 4, kept: 0 };
const ENDS = { event: "trial_ends", at_ms: 11_000, number: 1, name: "nginx", status: "valid", reasons: [], failed_gates: [] };

test("the time that is left comes from the run, and before it says one from the trials that have ended", () => {
  assert.equal(left(view([BEGINS])), null);
  assert.equal(left(view([BEGINS, ENDS])), 30);
  const precision = { event: "precision", at_ms: 12_000, half_width: 0.041, within: 0.02, company: null, expected_half_width: 0.019, left_s: 240 };
  const told = view([BEGINS, ENDS, precision]);
  assert.equal(left(told), 240);
  assert.deepEqual([told.halfWidth, told.within, told.done, told.planned], [0.041, 0.02, 1, 4]);
  assert.deepEqual([percent(0.041), percent(0.02), duration(240), duration(45)], ["±4.1 %", "±2 %", "4 min", "45 s"]);
});

test("each side has its own figures, and a trial that does not count says why", () => {
  const tick = { event: "tick", at_ms: 2000, name: "apache", throughput_per_s: 47_000, p50_us: 400, p99_us: null, failed: 2 };
  const invalid = { ...ENDS, name: "apache", status: "invalid", reasons: ["the client was the limit"] };
  const found = view([BEGINS, tick, ENDS, invalid]);
  assert.deepEqual([...found.sides.keys()], ["apache", "nginx"]);
  const apache = found.sides.get("apache");
  assert.deepEqual([apache?.failed, apache?.valid, apache?.invalid, apache?.ticks.length], [2, 0, 1, 1]);
  assert.ok(found.log.at(-1)?.endsWith("apache: invalid: the client was the limit"));
});

test("the CPUs of each host have their newest share, which no clock of the run dates", () => {
  const cpu = { event: "host_cpu", host: "lab1", busy: 0.25, cpus: 8 } as unknown as RunEvent;
  const found = view([BEGINS, cpu, { ...cpu, busy: 0.5 }]);
  assert.deepEqual([...found.hosts], [["lab1", { busy: 0.5, cpus: 8 }]]);
  assert.equal(found.at_s, 1);
});

test("a line that was there already is not taken again", () => {
  assert.ok(isAfter("1-1", ""));
  assert.ok(isAfter("1-10", "1-9"));
  assert.ok(isAfter("2-1", "1-90"));
  assert.ok(!isAfter("1-9", "1-9"));
  assert.ok(!isAfter("1-90", "2-1"));
});

test("a tab that nobody sees reads no stream, and goes on when it is seen again", () => {
  const page = Object.assign(new EventTarget(), { hidden: false });
  Object.defineProperty(globalThis, "document", { value: page, configurable: true });
  const begun: AbortSignal[] = [];
  whileVisible((hidden) => begun.push(hidden));
  const becomes = (hidden: boolean): void => {
    page.hidden = hidden;
    page.dispatchEvent(new Event("visibilitychange"));
  };
  assert.deepEqual(begun.map((signal) => signal.aborted), [false]);
  becomes(true);
  assert.deepEqual(begun.map((signal) => signal.aborted), [true]);
  becomes(false);
  becomes(false);
  assert.deepEqual(begun.map((signal) => signal.aborted), [true, false]);
});
