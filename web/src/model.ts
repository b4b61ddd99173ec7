// The types of the data that `crates/report` writes into the page, field by field as serde writes the types of
// `crates/archive/src/model`. The fields are documented there. Units are in the names.

import type { Concurrency, PlannedConcurrency } from "./concurrency";
import type { Cost, Power } from "./costs";
import type { Explanation, FlameData } from "./explained";
import type { TuningRecord } from "./tuned";

export type KnobValue = boolean | number | string;
export type SweepPoint = Record<string, KnobValue>;
export type FactMap = Record<string, string>;

export interface Report {
  run: Run;
  /** null where it cannot be read, which makes the run damaged. */
  plan: Plan | null;
  facts: Facts | null;
  verdict: Verdict | null;
  trials: Trial[];
  /** By the trial's number. */
  telemetry: Record<string, Telemetry>;
  /** By the file's path in the run directory. */
  configs: Record<string, string>;
  /** Where the report was made with a file of targets. */
  cost?: Cost;
  /** Watts beside the load, where the run has a meter. */
  power?: Power;
  /** The readings of the meters, by the trial's number. */
  watts?: Record<string, Telemetry>;
  /** What limits the servers, in a run that explains; or in short, in a comparison. */
  explanation?: Explanation;
  /** How many functions the difference of the explanation has; of those that are not significant, some may be missing in it. */
  compared_functions?: number;
  /** In a run of transfers. */
  concurrency?: Concurrency;
  /** What a search for tunings has tried and kept. */
  tuning?: TuningRecord;
  /** The answer of all runs of the plan, where there are several. */
  sessions?: Sessions;
  /** By the name of the file of folded stacks. */
  profiles?: Record<string, FlameData>;
  made_by: string;
}

export interface Run {
  id: string;
  state: "finished" | "interrupted" | "running" | "unfinished" | "damaged";
  dir: string;
  tags: string[];
  problems: { file: string; text: string }[];
  /** Whether it came from elsewhere. */
  imported?: boolean;
}

export interface Plan {
  format: number;
  showdown: string;
  command: string[];
  kind: "compare" | "sweep" | "explain" | "concurrency";
  workload: string;
  on_op?: string | null;
  length: "quick" | "default" | "thorough";
  seed: number;
  blocks: number;
  /** After how many complete blocks the run may end. */
  looks?: number[];
  /** Missing in runs that are older than spare blocks. */
  spare_blocks?: number;
  tags?: string[];
  measure: Measure;
  load: { connections: number; threads: number };
  background?: { rate_per_s: number; connections: number } | null;
  cpus: { server: string; client: string };
  warm_up: { min: string; max: string };
  phases: { closed_loop: string; search_step: string; measure: string; curve_step: string };
  /** Missing where servers run one at a time. */
  turns?: { load: string } | null;
  /** Hosts that made the load together; missing where this machine made it. */
  clients?: string[];
  /** Missing where all servers ran beside the client. */
  hosts?: { name: string; ssh?: string; address: string; kind?: string; cpus?: string }[];
  variants: { name: string; server: string; host?: string; knobs?: SweepPoint }[];
  sweep?: { vary: string; values: KnobValue[] }[];
  /** The steps of a run of transfers, and of trials that measure the breaking point. */
  concurrency?: PlannedConcurrency;
}

export type Measure =
  | { metric: "max_throughput" }
  | { metric: "max_bytes" }
  | { metric: "one_by_one"; operations: number }
  | { metric: "capacity"; slo: string }
  | { metric: "latency_curve"; rates_per_s: number[]; slo?: string | null }
  | { metric: "cpu_time"; rate_per_s?: number | null }
  | { metric: "user_cpu_time" }
  | { metric: "user_latency" }
  | { metric: "breaking_point" };

export interface Facts {
  taken_unix_ms: number;
  host: FactMap;
  /** Missing where all servers ran beside the client. */
  hosts?: Record<string, FactMap>;
  client: FactMap;
  variants: VariantFacts[];
  /** Missing in a run that was never resumed. */
  resumed?: Resumption[];
}

export interface Resumption {
  at_unix_ms: number;
  block: number;
  kept_trials: number;
  changes?: { fact: string; was: string; is: string }[];
}

export interface VariantFacts {
  name: string;
  version: string;
  build: string;
  allocator: string;
  libc: string;
  knobs: SweepPoint;
  config: { name: string; file: string }[];
  facts: FactMap;
}

export interface Verdict {
  reached_unix_ms: number;
  sentence: string;
  metric: string;
  unit: string;
  higher_is_better: boolean;
  /** What was measured instead of what was planned, and why. */
  replaced?: string | null;
  complete: boolean;
  /** The complete blocks at the look that settled the run, where one did. */
  settled_after_blocks?: number | null;
  comparisons: Comparison[];
  variants: VariantSummary[];
  curves?: SweepCurve[];
  fairness?: Difference[];
  caveats?: { id: string; text: string }[];
  /** The machine of the servers and the day; it ends the sentence. */
  machine?: string | null;
  /** Errors of the method with a measured bound, which are in no interval. */
  method?: { source: string; within: number }[];
  /** What makes trials of this run invalid, and why; none in runs of earlier versions. */
  refusals?: Refusal[];
}

/** A gate: what exceeds its limit, why a trial with that does not count, and whether that holds in this run. */
export interface Refusal {
  gate: string;
  limit: string;
  why: string;
  when: "always" | "unless_disturbed" | "never";
}

export interface Comparison {
  a: string;
  b: string;
  point?: SweepPoint;
  estimate: RatioEstimate | null;
  /** The ratio of the means; none in runs of earlier versions. */
  means?: { ratio: number; low: number; high: number } | null;
  verdict: { outcome: "difference" | "no_difference_shown" | "inconclusive" };
  smallest_difference: number | null;
  sentence: string;
}

/** The runs of one plan: the first one, and those that confirm it. */
export interface Sessions {
  runs: { run: string; machine?: string | null }[];
  left_out?: { run: string; why: string }[];
  pairs: { point?: SweepPoint; sentence: string }[];
}

export interface RatioEstimate {
  ratio: number;
  low: number;
  high: number;
  blocks: number;
  /** The confidence level, 0 to 1, such as 0.95. */
  confidence: number;
  method: "student_t" | "signed_rank";
  log_sd: number;
}

export interface VariantSummary {
  name: string;
  point?: SweepPoint;
  values: { trial: number; value: number; valid: boolean }[];
  median: number | null;
  interval: { low: number; high: number } | null;
  valid: number;
  invalid: number;
  modes?: { centre: number; trials: number[] }[];
  /** What the driver counted besides operations, per second: messages, refusals by code, deadlocks. */
  counters_per_s?: Record<string, number>;
  /** CPU time an operation by mode: the median of the valid trials, divided as the ticks of all of them are. */
  cpu_time_us?: { user: number; system: number } | null;
  /** Of a server of several processes. */
  parts?: { part: string; cpu_share: number; cpu_us?: number; cores: number; peak_rss_bytes: number }[];
  /** Users whose operations take one second of CPU time a second. */
  users_per_core?: number | null;
  users?: UserWalk | null;
  /** What one copy of the server carried alone, and beside the others. */
  neighbours?: { alone_per_s: number; beside_per_s: number; slowed: number; alone_p99_us: number | null; beside_p99_us: number | null; gave_up_from_us?: number | null; client_limited: number } | null;
  response_time_curve_us?: QuantileCurve;
  /** From this response time on, the curve is a lower bound. */
  gave_up_from_us?: number | null;
}

/** The walk and the pacing of users, as measured beside the declared. */
export interface UserWalk {
  count: number;
  count_by_littles_law: number | null;
  begun: number;
  declared_delay_s: number;
  drawn_delay_s: number | null;
  actual_delay_s: number | null;
  operations: WalkedOperation[];
  outside?: OutsideOperation[];
}

/** An operation outside the mix of users. */
export interface OutsideOperation {
  name: string;
  /** `after` the load, or the delay between one and the next. */
  due: string;
  requests: number;
  failed: number;
  mean_us: number | null;
}

export interface WalkedOperation {
  name: string;
  begun: number;
  declared_percent: number;
  /** What came after it, per cent, in the order of the operations. */
  next_percent?: number[];
  declared_next_percent?: number[];
  delay: string;
  declared_delay_s: number;
  actual_delay_s: number | null;
  limit?: string;
  meets_limit?: boolean;
}

/** Pairs: the share of values at or below, 0 to 1, and the value in microseconds. */
export type QuantileCurve = [number, number][];

export interface SweepCurve {
  variant: string;
  axis: string;
  fixed?: SweepPoint;
  points: { at: number; median: number; min: number; max: number }[];
  usl?: Scalability | null;
}

export type Scalability = ({ outcome: "fitted" } & UslFit) | { outcome: "refused"; reason: UslRefusal };

export interface UslFit {
  gamma: number;
  alpha: number;
  beta: number;
  peak_load: number;
  peak_throughput: number;
  relative_error: number;
  largest_load: number;
}

export type UslRefusal =
  | { kind: "not_positive"; index: number }
  | { kind: "too_few_loads"; loads: number; needed: number }
  | { kind: "no_curvature"; loss: number }
  | { kind: "poor_fit"; relative_error: number }
  | { kind: "no_peak"; ceiling: number }
  | { kind: "peak_beyond_range"; peak_load: number; largest_load: number };

export type DifferenceClass = "apples_to_oranges" | "unexplained" | "expected" | "the_variant_itself";

export interface Difference {
  key: string;
  values: FactMap;
  class: DifferenceClass;
  remark: string;
}

export type TrialStatus = "valid" | "invalid" | "failed" | "interrupted";

export interface Trial {
  number: number;
  block: number;
  position: number;
  variant: string;
  /** The machine of its server, where that has a name. */
  host?: string;
  point?: SweepPoint;
  started_unix_ms: number;
  duration_s: number;
  status: TrialStatus;
  reasons?: string[];
  gates?: Gate[];
  measured: { metric: string; value: number; unit: string; higher_is_better: boolean } | null;
  phases?: Phase[];
  background?: Phase | null;
  warm_up?: { discarded_s: number } | null;
  turns?: TrialTurns | null;
  timeline?: Tick[];
  counts?: { counter: string; client: number; unanswered?: number; server: number }[];
  server?: ServerUsage | null;
  cpu_time?: CpuTime | null;
  saturated?: SaturatedResource | null;
  power?: TrialPower;
  files?: { load_log?: string; telemetry?: string; client_telemetry?: string; clients_telemetry?: Record<string, string>; power?: string; config?: string[]; logs?: string[] };
  /** How many recorded points each point of the time line stands for; 1 where missing. */
  ticks_merged?: number;
  /** Its path in the run directory, such as `trials/003-apache`. */
  folder: string;
}

/** The meters of a trial, and the levels of load at which watts were measured. */
export interface TrialPower {
  meters: { name: string; boundary: string }[];
  levels: { share: number; start_s: number; length_s: number }[];
}

/** How a trial shared its block with other servers. */
export type TrialTurns =
  | { in_turns: { trials: number[]; slice_s: number; rounds: number; idle_cores?: number } }
  | { one_at_a_time: { why: string } };

export interface Gate {
  id: string;
  outcome: "passed" | "failed" | "noted" | "not_applicable";
  measured: string;
  threshold: string;
  message: string;
}

export type PhaseKind =
  | "closed_loop"
  | "search_step"
  | "measure"
  | "curve_step"
  | "background";

export interface Phase {
  kind: PhaseKind;
  start_s: number;
  length_s: number;
  /** Where other servers were loaded in between. */
  slices?: { count: number; span_s: number } | null;
  offered_per_s: number | null;
  throughput_per_s: number;
  requests: number;
  errors: Record<string, number>;
  response_time_us: Times;
  /** From this response time on, percentiles are lower bounds: operations without an answer were given up. */
  gave_up_from_us?: number | null;
  service_time_us: Times;
  response_time_curve_us?: QuantileCurve;
  /** Where there are several operations. */
  operations?: OperationTimes[];
  tls?: { handshakes: number; resumed: number; handshake_us: Times };
  client: { utilisation: number; delay_p99_us: number; delay_us?: Times; stamped?: number };
  meets_slo: boolean | null;
  /** What a level of a search for the capacity spent of the objective's budget. */
  spent?: { rate_per_s: number; late_share: number | null };
  valid: boolean;
  reasons: string[];
}

export interface OperationTimes {
  name: string;
  requests: number;
  failed: number;
  response_time_us: Times;
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

export interface Tick {
  t_s: number;
  throughput_per_s: number;
  offered_per_s?: number | null;
  p50_us?: number | null;
  p99_us?: number | null;
  /** From this response time on, both are lower bounds. */
  gave_up_from_us?: number | null;
  failed: number;
}

export interface ServerUsage {
  user_cpu_s: number;
  system_cpu_s: number;
  cores: number;
  peak_rss_bytes: number;
  processes: number;
  threads: number;
  descriptors: number;
}

/** What an operation cost the server's CPUs. */
export interface CpuTime {
  rate_per_s: number;
  cpu_s: number;
  operations: number;
  user_us: number;
  system_us: number;
  between_s: number;
}

export interface SaturatedResource {
  resource: string;
  utilisation: number | null;
  evidence: string[];
  candidates?: { resource: string; utilisation: number }[];
}

export interface Telemetry {
  t_s: number[];
  columns: { name: string; unit: string; help: string; values: (number | null)[] }[];
}
