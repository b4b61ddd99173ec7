// Tests of what the charts draw, derived from the data.

import assert from "node:assert/strict";
import { test } from "node:test";
import { logTicks, niceTicks } from "../../src/charts/plot";
import { cellKey, cells, median } from "../../src/derive/cells";
import { factRows } from "../../src/derive/facts";
import { gateRows } from "../../src/derive/gates";
import { bestOfEach, groupOf, mainAxis } from "../../src/derive/groups";
import { loadLine, loadPoints, type LoadPoint } from "../../src/derive/load";
import { seriesStyle, seriesStyles } from "../../src/derive/palette";
import { at, percentileLine, position, positionText } from "../../src/derive/percentile";
import { reasons } from "../../src/derive/reasons";
import { resources } from "../../src/derive/resources";
import { limits, spaced } from "../../src/derive/slo";
import { bandAt, bands, cpuLines, cpuList, phaseAt } from "../../src/derive/timeline";
import { curve, predict, refusal } from "../../src/derive/usl";
import type { Phase, PhaseKind } from "../../src/model";
import { fixture } from "../fixture/read";

test("each further nine has the same width on the percentile axis", () => {
  const places = [0, 0.9, 0.99, 0.999, 0.9999].map((share) => Math.log10(position(share)));
  places.forEach((place, nine) => assert.ok(Math.abs(place - nine) < 1e-9));
  assert.deepEqual([1, 2, 10, 1000].map(positionText), ["0%", "50%", "90%", "99.9%"]);
});

test("a percentile line ends at 99.99 and leaves out times of zero", () => {
  const line = percentileLine([[0, 0], [0.5, 100], [0.9999, 900], [1, 5000]]);
  assert.deepEqual(line.map(({ us }) => us), [100, 900]);
});

test("a percentile is the first time with at least its share at or below it", () => {
  assert.equal(at([[0.5, 10], [0.98, 40], [0.995, 70]], 0.99), 70);
  assert.equal(at([[0.5, 10]], 0.99), null);
});

test("limits of an SLO are in microseconds", () => {
  assert.deepEqual(limits("p99<5ms").map(({ statistic, us, text }) => [statistic, us, text]), [["p99", 5_000, "p99 < 5 ms"]]);
  assert.deepEqual(limits("p50<=800us, p99.9 < 1.5s").map(({ us }) => us), [800, 1_500_000]);
  assert.deepEqual([limits("errors<1%"), limits(null)], [[], []]);
  assert.equal(spaced(spaced("capacity at p99<5ms")), "capacity at p99 < 5 ms");
});

test("points over offered load come from open-loop phases of valid trials only", () => {
  const { trials } = fixture("comparison");
  const kinds = new Set(loadPoints(trials).map((point) => point.kind));
  assert.deepEqual([...kinds].sort(), ["curve_step", "measure", "search_step"]);
  const invalid = trials.find((trial) => trial.status === "invalid");
  assert.ok(invalid);
  assert.deepEqual(loadPoints([invalid]), []);
});

test("phases at nearly the same load give one point of the line", () => {
  const point = (offered: number, p99: number): LoadPoint => ({ trial: 1, kind: "measure", offered, achieved: offered, p50: 1, p99, gaveUpFrom: null, late: null });
  const line = loadLine([point(100, 5), point(990, 10), point(1000, 30), point(1001, 20)]);
  assert.deepEqual(line.map(({ p99 }) => p99), [5, 20]);
  assert.deepEqual(loadLine([]), []);
});

test("a cell's key does not depend on the order of its axes", () => {
  assert.equal(cellKey("a", { x: 1, y: 2 }), cellKey("a", { y: 2, x: 1 }));
  assert.notEqual(cellKey("a", { x: 1 }), cellKey("a", { x: "1" }));
});

test("a run without a verdict has its variants in the plan's order", () => {
  const report = { ...fixture("comparison"), verdict: null, trials: [] };
  assert.deepEqual(cells(report).map((cell) => cell.label), ["nginx", "apache"]);
});

test("a sweep's cells are grouped along its longest axis", () => {
  const report = fixture("sweep");
  const axis = mainAxis(report);
  assert.equal(axis, "connections");
  const groups = new Set(cells(report).map((cell) => groupOf(cell, axis)));
  assert.deepEqual([...groups], ["memcached · threads=1", "memcached · threads=2"]);
  const best = bestOfEach(cells(report), axis, true);
  assert.deepEqual(best.map((cell) => cell.point), [{ connections: 256, threads: 1 }, { connections: 128, threads: 2 }]);
});

test("the median of an even count is the mean of the two middle values", () => {
  assert.deepEqual([median([3, 1, 2]), median([4, 1, 2, 3]), median([])], [2, 2.5, null]);
});

test("neighbouring series differ in colour, shape and dash", () => {
  assert.notDeepEqual(seriesStyle(0), seriesStyle(7));
  const of = seriesStyles(["a", "b"]);
  assert.deepEqual([of("a"), of("b"), of("c")], [seriesStyle(0), seriesStyle(1), seriesStyle(2)]);
});

test("the slices of a search and of its measured phase are one band, and a point belongs to the phase with its load", () => {
  const [phase] = fixture("comparison").trials[0]?.phases ?? [];
  assert.ok(phase);
  const sliced = (kind: PhaseKind, start_s: number, offered_per_s: number): Phase => ({ ...phase, kind, start_s, length_s: 1, offered_per_s, slices: { count: 20, span_s: 6 } });
  const phases = [phase, sliced("search_step", 12, 900), sliced("search_step", 11, 1100), sliced("measure", 13, 1000), { ...sliced("curve_step", 20, 500), slices: null }];
  const found = bands(phases);
  assert.deepEqual(found.map((band) => band.label), ["closed loop", "in turns", "curve step"]);
  assert.deepEqual([found[1]?.kind, found[1]?.start, found[1]?.end], ["measure", 11, 19]);
  assert.equal(phaseAt(phases, 14, 990)?.kind, "measure");
  assert.equal(phaseAt(phases, 14, 1090)?.offered_per_s, 1100);
  assert.equal(phaseAt(phases, 30, 990), undefined);
  assert.deepEqual([11.5, 13.5, 20].map((t_s) => bandAt(found, t_s)), [2, 2, 3], "no line joins two bands");
});

test("consecutive phases of one kind are one band", () => {
  const phases = fixture("comparison").trials[0]?.phases ?? [];
  assert.deepEqual(bands(phases).map((band) => band.label), ["closed loop", "search step × 7", "measured", "curve step × 6"]);
});

test("a list of CPUs in the kernel's format is parsed", () => {
  assert.deepEqual(cpuList("0-2,8"), [0, 1, 2, 8]);
  assert.deepEqual(cpuList("x"), []);
  assert.equal(cpuList("0-4000000000").length, 4096);
});

const column = (name: string, values: (number | null)[]): { name: string; unit: string; help: string; values: (number | null)[] } => ({ name, unit: "cores", help: "", values });

test("CPU time is summed for server, client and hypervisor, and a second without a sample is a gap", () => {
  const lines = cpuLines(
    {
      t_s: [0, 1],
      columns: [
        column("server.cpu.user", [0.25, null]),
        column("server.cpu.system", [0.5, null]),
        column("cpu.1.user", [0.25, 0.5]),
        column("cpu.1.idle", [0.75, 0.5]),
        column("cpu.10.user", [9, 9]),
        column("cpu.0.steal", [0.125, 0]),
      ],
    },
    [1],
  );
  assert.deepEqual(lines.map(({ what, t_s, cores }) => [what, t_s, cores]), [["server", 0, 0.75], ["client's CPUs", 0, 0.25], ["client's CPUs", 1, 0.5], ["steal", 0, 0.125], ["steal", 1, 0]]);
});

test("the clocks of the server's processes tell its CPU time, which clock ticks round down", () => {
  const columns = [column("server.cpu.user", [0]), column("server.cpu.time", [0.75]), column("server.cpu.system", [0.25])];
  assert.deepEqual(cpuLines({ t_s: [1], columns }, []), [{ what: "server", t_s: 1, cores: 0.75 }]);
});

test("the fitted curve passes through its peak", () => {
  const law = fixture("sweep").verdict?.curves?.[0]?.usl;
  assert.ok(law?.outcome === "fitted");
  assert.ok(Math.abs(predict(law, law.peak_load) / law.peak_throughput - 1) < 1e-6);
  const line = curve(law, 0.5, 1024);
  assert.deepEqual([line[0]?.at, Math.round(line[line.length - 1]?.at ?? 0)], [1, 1024]);
});

test("a refused fit has a reason in words", () => {
  assert.match(refusal({ kind: "too_few_loads", loads: 3, needed: 6 }), /3 different loads are too few: sweep over at least 6/);
  assert.match(refusal({ kind: "peak_beyond_range", peak_load: 5000, largest_load: 1024 }), /5,000.*1,024/);
});

test("facts that differ come first", () => {
  const rows = factRows(fixture("comparison").facts?.variants ?? []);
  const differing = rows.filter((row) => row.differs);
  assert.deepEqual(rows.slice(0, differing.length), differing);
  assert.ok(differing.some((row) => row.key === "allocator") && rows.some((row) => row.key === "libc" && !row.differs));
});

test("the matrix of gates contains the failed gate", () => {
  const rows = gateRows(fixture("comparison").trials);
  const failed = ({ outcomes }: (typeof rows)[number]): number => outcomes.filter((gate) => gate?.outcome === "failed").length;
  assert.deepEqual(rows.filter((row) => failed(row) > 0).map((row) => [row.id, failed(row)]), [["steal", 1]]);
  assert.ok(rows.every((row) => row.outcomes.length === 20));
});

test("the saturated resource is counted over valid trials and has a typical trial", () => {
  const found = resources(fixture("comparison").trials);
  assert.deepEqual(found.saturated, [{ resource: "server CPU", trials: 19 }]);
  assert.equal(found.typical?.status, "valid");
  assert.deepEqual(resources([]), { saturated: [], trials: 0, utilisations: [], typical: null });
});

test("ticks of axes are round numbers within the axis", () => {
  assert.deepEqual(logTicks(80, 21_000), [100, 1_000, 10_000].flatMap((ten) => [ten, 2 * ten, 5 * ten]).slice(0, 8));
  assert.deepEqual(logTicks(1, 1e6), [1, 10, 100, 1e3, 1e4, 1e5, 1e6]);
  assert.deepEqual(niceTicks(0.96, 1.68, 4), [1, 1.2, 1.4, 1.6]);
});

test("each reason occurs once, with its trials", () => {
  const { trials } = fixture("comparison");
  const [only, ...others] = reasons(trials);
  assert.match(only?.text ?? "", /^steal: .* \(allowed: at most 2 %\) – measured 6.1 %$/);
  assert.deepEqual([only?.trials.map((trial) => trial.number), others], [[7], []]);
  const needed = (share: number): string => `the client was the limit: it needed ${share} % of its cores (at most 90 %, beside cc (pid ${share})): give it more`;
  const limited = trials.slice(0, 3).map((trial, place) => ({ ...trial, status: "invalid" as const, gates: [], reasons: [needed(91 + place)] }));
  assert.deepEqual(reasons(limited).map(({ text, trials: affected }) => [text, affected.length]), [[`${needed(91)} (the values of trial 1)`, 3]]);
  const died = trials.slice(0, 3).map((trial) => ({ ...trial, status: "failed" as const, gates: [], reasons: ["it died"] }));
  assert.deepEqual(reasons(died).map(({ text, trials: affected }) => [text, affected.length]), [["it died", 3]]);
});
