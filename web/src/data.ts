// The data of a run as crates/report writes it into the page; the shapes are those of crates/archive/src/model.

export type Setting = boolean | number | string;
export type Point = Record<string, Setting>;
/** Share of operations at or below, and microseconds. */
export type QuantileCurve = [number, number][];

export interface Plan {
  showdown: string;
  command: string[];
  kind: "compare" | "sweep";
  workload: string;
  on_op?: string;
  length: string;
  seed: number;
  blocks: number;
  tags?: string[];
  measure: { what: "max_throughput" | "capacity" | "latency_curve"; slo?: string; rates_per_s?: number[] };
  load: { connections: number; threads: number };
  cpus: { server: string; client: string };
  warm_up: Record<string, string>;
  phases: Record<string, string>;
  variants: { name: string; server: string; knobs?: Point }[];
  sweep?: { vary: string; values: Setting[] }[];
}

export interface VariantFacts {
  name: string;
  version: string;
  build: string;
  allocator: string;
  libc: string;
  knobs: Point;
  config: { name: string; file: string }[];
  facts: Record<string, string>;
}

export interface Facts {
  taken_unix_ms: number;
  host: Record<string, string>;
  client: Record<string, string>;
  variants: VariantFacts[];
}

export interface Times {
  mean: number;
  p50: number;
  p90: number;
  p95: number;
  p99: number;
  p99_9: number;
  p99_99: number;
  max: number;
}

export type PhaseKind =
  | "check"
  | "populate"
  | "warm_up"
  | "closed_loop"
  | "search_step"
  | "measure"
  | "curve_step";

export interface Phase {
  kind: PhaseKind;
  start_s: number;
  length_s: number;
  offered_per_s: number | null;
  achieved_per_s: number;
  requests: number;
  errors: Record<string, number>;
  response_us: Times;
  service_us: Times;
  response_curve_us?: QuantileCurve;
  operations?: { name: string; requests: number; failed: number; response_us: Times }[];
  client: { utilisation: number; lag_p99_us: number };
  meets_slo: boolean | null;
  valid: boolean;
  reasons: string[];
}

export interface Gate {
  id: string;
  outcome: "passed" | "failed" | "not_applicable";
  measured: string;
  threshold: string;
  message: string;
}

export interface Tick {
  t_s: number;
  throughput_per_s: number;
  offered_per_s?: number | null;
  p50_us: number | null;
  p99_us: number | null;
  errors: number;
}

export interface FullResource {
  resource: string;
  utilisation: number | null;
  evidence: string[];
  looked_at?: { resource: string; utilisation: number }[];
}

export type TrialStatus = "valid" | "invalid" | "failed" | "interrupted";

export interface Trial {
  folder: string;
  ticks_merged: number;
  number: number;
  block: number;
  position: number;
  variant: string;
  point?: Point;
  started_unix_ms: number;
  duration_s: number;
  status: TrialStatus;
  reasons: string[];
  gates: Gate[];
  measured: { what: string; value: number; unit: string; higher_is_better: boolean } | null;
  phases: Phase[];
  timeline: Tick[];
  counts: { what: string; client: number; server: number }[];
  server: {
    user_cpu_s: number;
    system_cpu_s: number;
    cores: number;
    peak_rss_bytes: number;
    processes: number;
    threads: number;
    descriptors: number;
  } | null;
  full: FullResource | null;
  files: { load_log?: string; telemetry?: string; config?: string[]; logs?: string[] };
}

export interface Comparison {
  a: string;
  b: string;
  point?: Point;
  estimate: { ratio: number; low: number; high: number; blocks: number; confidence: number; method: string } | null;
  verdict: { verdict: "difference" | "no_difference_shown" | "inconclusive" };
  smallest_difference: number | null;
  sentence: string;
}

export interface VariantSummary {
  name: string;
  point?: Point;
  values: { trial: number; value: number; valid: boolean }[];
  median: number | null;
  interval: { low: number; high: number } | null;
  valid: number;
  invalid: number;
  modes?: { centre: number; trials: number[] }[];
  response_curve_us?: QuantileCurve;
}

export type Scalability =
  | {
      outcome: "fitted";
      gamma: number;
      alpha: number;
      beta: number;
      peak_load: number;
      peak_throughput: number;
      relative_error: number;
      largest_load: number;
    }
  | { outcome: "refused"; reason: { kind: string; [detail: string]: unknown } };

export interface SweepCurve {
  variant: string;
  axis: string;
  held?: Point;
  points: { at: number; median: number; least: number; most: number }[];
  usl?: Scalability;
}

export type DifferenceClass = "apples_to_oranges" | "unexplained" | "expected" | "the_variant_itself";

export interface Verdict {
  reached_unix_ms: number;
  sentence: string;
  measure: string;
  unit: string;
  higher_is_better: boolean;
  complete: boolean;
  comparisons: Comparison[];
  variants: VariantSummary[];
  curves?: SweepCurve[];
  fairness: { key: string; values: Record<string, string>; class: DifferenceClass; remark: string }[];
  caveats: { id: string; text: string }[];
}

export interface Telemetry {
  t_s: number[];
  rows_merged: number;
  columns: { name: string; unit: string; help: string; values: (number | null)[] }[];
}

export interface Run {
  run: {
    id: string;
    state: "finished" | "running" | "unfinished" | "damaged";
    dir: string;
    tags: string[];
    problems: { file: string; text: string }[];
    command: string | null;
    rerun: string;
  };
  plan: Plan | null;
  facts: Facts | null;
  verdict: Verdict | null;
  trials: Trial[];
  telemetry: Record<string, Telemetry>;
  configs: Record<string, string>;
  unread: string[];
  made_by: string;
}

/** The run in the page; null where the page was opened without one. */
export function load(): Run | null {
  const text = document.getElementById("showdown-data")?.textContent ?? "null";
  return JSON.parse(text) as Run | null;
}
