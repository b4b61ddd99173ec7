// What is known of a run from its events: a pure function from one event to the next view. It has no winner: between two planned looks
// there is none.

/** One interval of load of one side. */
export interface SideTick {
  at_s: number;
  throughput_per_s: number;
  p50_us: number | null;
  p99_us: number | null;
}

/** One side of the comparison. */
export interface Side {
  ticks: SideTick[];
  failed: number;
  valid: number;
  invalid: number;
}

export interface RunView {
  run: string | null;
  doing: string;
  block: number;
  planned: number;
  done: number;
  /** Half of the interval, as a share, so far; and the aim. */
  halfWidth: number | null;
  within: number | null;
  expectedHalfWidth: number | null;
  /** Seconds that are left, as of `at_s`. */
  left_s: number | null;
  began_s: number;
  at_s: number;
  company: string | null;
  sides: Map<string, Side>;
  /** Of each host, the busy share of its CPUs in the last second, and their number. */
  hosts: Map<string, { busy: number; cpus: number }>;
  log: string[];
  sentence: string | null;
}

/** What a chart shows at most. */
export const MOST_TICKS = 480;
const MOST_LOG = 500;

export function empty(): RunView {
  return {
    run: null, doing: "", block: 0, planned: 0, done: 0, halfWidth: null, within: null, expectedHalfWidth: null, left_s: null,
    began_s: 0, at_s: 0, company: null, sides: new Map(), hosts: new Map(), log: [], sentence: null,
  };
}

export type RunEvent = { event: string; at_ms: number } & Record<string, unknown>;

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const number = (value: unknown): number | null => (typeof value === "number" ? value : null);

/** A share as people write it. */
export const percent = (share: number): string => `±${(share * 100).toFixed(1).replace(/\.0$/, "")} %`;

function side(view: RunView, name: string): Side {
  let found = view.sides.get(name);
  if (!found) {
    found = { ticks: [], failed: 0, valid: 0, invalid: 0 };
    view.sides.set(name, found);
  }
  return found;
}

function log(view: RunView, line: string): void {
  view.log.push(line);
  if (view.log.length > MOST_LOG) view.log.shift();
}

/** Takes an event into the view. */
export function take(view: RunView, event: RunEvent): void {
  // It is from the controller, which has another clock than the run.
  if (event.event === "host_cpu") {
    view.hosts.set(text(event.host), { busy: number(event.busy) ?? 0, cpus: number(event.cpus) ?? 0 });
    return;
  }
  view.at_s = event.at_ms / 1000;
  switch (event.event) {
    case "run_begins":
      view.run = text(event.run);
      view.planned = number(event.trials) ?? 0;
      view.done = number(event.kept) ?? 0;
      view.began_s = view.at_s;
      log(view, `run ${view.run} begins: ${view.planned} trials`);
      break;
    case "goes_on":
    case "block_added":
      view.planned = number(event.trials) ?? view.planned;
      log(view, event.event === "goes_on" ? "not settled yet: the run goes on" : "a block is added to replace invalid trials");
      break;
    case "trial_begins":
      view.block = number(event.block) ?? view.block;
      side(view, text(event.name));
      view.doing = "starting";
      break;
    case "doing":
      view.doing = text(event.what);
      break;
    case "tick": {
      const ticks = side(view, text(event.name)).ticks;
      ticks.push({
        at_s: view.at_s,
        throughput_per_s: number(event.throughput_per_s) ?? 0,
        p50_us: number(event.p50_us),
        p99_us: number(event.p99_us),
      });
      if (ticks.length > MOST_TICKS) ticks.shift();
      side(view, text(event.name)).failed += number(event.failed) ?? 0;
      break;
    }
    case "trial_ends": {
      view.done += 1;
      const of = side(view, text(event.name));
      const reasons = Array.isArray(event.reasons) ? event.reasons.map(text) : [];
      const gates = Array.isArray(event.failed_gates) ? event.failed_gates.map((gate: Record<string, unknown>) => text(gate.message)) : [];
      const isValid = event.status === "valid";
      if (isValid) of.valid += 1;
      else of.invalid += 1;
      const why = isValid ? "" : `: ${[...reasons, ...gates].join("; ")}`;
      log(view, `trial ${number(event.number) ?? "?"}, ${text(event.name)}: ${text(event.status)}${why}`);
      break;
    }
    case "precision":
      view.halfWidth = number(event.half_width);
      view.within = number(event.within) ?? view.within;
      view.expectedHalfWidth = number(event.expected_half_width);
      view.left_s = number(event.left_s);
      view.company = typeof event.company === "string" ? event.company : null;
      break;
    case "verdict":
      view.sentence = text(event.sentence);
      log(view, view.sentence);
      break;
    case "one_at_a_time":
    case "network_not_measured":
      log(view, text(event.why));
      break;
    case "measure_replaced":
      log(view, text(event.sentence));
      view.done = 0;
      break;
    case "kernel_setting_not_restored":
      log(view, text(event.problem));
      break;
    default:
      break;
  }
}

/** Seconds that are left, now: what the run has said, or from the trials that have ended. */
export function left(view: RunView): number | null {
  if (view.left_s !== null) return view.left_s;
  if (view.done === 0 || view.planned === 0) return null;
  return ((view.at_s - view.began_s) / view.done) * Math.max(0, view.planned - view.done);
}

/** A length of time for people. */
export function duration(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
