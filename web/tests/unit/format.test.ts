// Tests of how numbers and words are formatted.

import assert from "node:assert/strict";
import { test } from "node:test";
import { commandLine } from "../../src/derive/command";
import { bounds, bytes, capital, counted, date, level, list, number, percent, quantity, ratio, responseTime, shareBeside, tick, time, timeTick, unbroken } from "../../src/derive/format";

/** Replaces no-break spaces by ordinary ones. */
const plain = (text: string): string => text.replace(/\u00a0/g, " ");

test("numbers have thousands separators and about four significant digits", () => {
  assert.deepEqual([131_043.49, 512.345, 52.314, 0.012_34, 0, 7].map(number), ["131,043", "512.3", "52.31", "0.0123", "0", "7"]);
  assert.deepEqual([null, undefined, NaN, Infinity].map(number), ["–", "–", "–", "–"]);
});

test("times have the unit that fits", () => {
  assert.deepEqual([820, 4_821, 12_340, 1_204_000, null].map((us) => plain(time(us))), ["820 µs", "4.82 ms", "12.3 ms", "1.2 s", "–"]);
  assert.deepEqual([200, 5_000, 2_000_000].map((us) => plain(timeTick(us))), ["200 µs", "5 ms", "2 s"]);
});

test("a response time from which on operations were given up is a lower bound", () => {
  assert.deepEqual([999, 1_000_000, 1_204_000].map((us) => plain(responseTime(us, 1_000_000))), ["999 µs", "≥ 1 s", "≥ 1.2 s"]);
  assert.deepEqual([plain(responseTime(1_204_000, null)), plain(responseTime(null, 1_000))], ["1.2 s", "–"]);
});

test("quantities have their unit", () => {
  assert.equal(quantity(131_043.2, "/s"), "131,043/s");
  assert.equal(plain(quantity(4_821, "µs")), "4.82 ms");
  assert.equal(plain(quantity(1_536, "B")), "1.5 KiB");
  assert.deepEqual([812, 12_300_000, 3e15].map((rate) => plain(quantity(rate, "B/s"))), ["812 B/s", "12.3 MB/s", "3,000 TB/s"]);
  assert.equal(plain(quantity(3, "cores")), "3 cores");
  assert.equal(plain(quantity(0.92, "share")), "92 %");
});

test("shares, ratios, bytes and ticks are formatted", () => {
  assert.deepEqual([0.97, 0.0312, 0.0031, 0].map((share) => plain(percent(share))), ["97 %", "3.1 %", "0.31 %", "0 %"]);
  assert.deepEqual([1.0123, 1.6, 12.34, 250].map((value) => plain(ratio(value))), ["1.012 ×", "1.60 ×", "12.3 ×", "250 ×"]);
  assert.deepEqual([0.996, 0.4996, 0.5, 0.85, 0.004].map((share) => plain(shareBeside(share, [1, 0.999, 0.5]))), ["99.6 %", "49.96 %", "50 %", "85 %", "0.4 %"]);
  assert.deepEqual([0.95, 0.9992, 0.99999].map((share) => plain(level(share))), ["95 %", "99.9 %", "99.999 %"]);
  assert.deepEqual([plain(bounds(980, 1_020, "µs")), bounds(52_000, 52_600, "/s")], ["980 µs–1.02 ms", "52,000–52,600"]);
  assert.equal(plain(bytes(48 * 1024 * 1024)), "48 MiB");
  assert.deepEqual([120_000, 1_500_000, 1_000, 0.5].map(tick), ["120k", "1.5M", "1,000", "0.5"]);
});

test("dates are in UTC, and an impossible date is a dash", () => {
  assert.equal(date(1_795_222_299_000), "2026-11-21 00:51 UTC");
  assert.equal(date(1e300), "–");
});

test("lists, counts, capitals and no-break spaces", () => {
  assert.deepEqual([[], ["a"], ["a", "b"], ["a", "b", "c"]].map(list), ["", "a", "a and b", "a, b and c"]);
  assert.deepEqual([counted(1, "trial"), counted(1200, "trial"), counted(2, "process", "processes")], ["1 trial", "1,200 trials", "2 processes"]);
  assert.equal(capital("throughput"), "Throughput");
  assert.equal(unbroken("1.60 × at p99 < 5 ms (95 % CI, 9 blocks)"), "1.60\u00a0× at p99\u00a0<\u00a05\u00a0ms (95\u00a0%\u00a0CI, 9\u00a0blocks)");
});

test("words that a shell would change are quoted", () => {
  assert.equal(commandLine(["showdown", "compare", "a", "--slo", "p99<5ms"]), "showdown compare a --slo 'p99<5ms'");
  assert.equal(commandLine(["it's", ""]), "'it'\\''s' ''");
});
