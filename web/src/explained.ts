// The types of an explanation and of its profiles, as serde writes them: `crates/archive/src/model/explanation.rs` documents the
// fields of the first, and `crates/report/src/flame.rs` those of the second. Units are in the names.

export interface Explanation {
  made_unix_ms: number;
  sentence: string;
  workload: string;
  /** Servers that were held and studied, or the trials of a comparison. */
  basis: "study" | "trials";
  /** Whether `showdown explain` can try what limits them; missing in files of earlier versions. */
  can_be_studied?: boolean;
  servers: ExplainedServer[];
  difference?: CpuDifference | null;
}

export interface ExplainedServer {
  variant: string;
  sentence: string;
  held: HeldLoad;
  resources: ExaminedResource[];
  suspects: Suspect[];
  perturbations?: Perturbation[];
  statistics?: ServerStatistic[];
  unknown?: { what: string; why: string }[];
  profile?: CpuProfile | null;
  waits?: WaitProfile | null;
  slow_requests?: SlowRequests | null;
}

export interface HeldLoad {
  connections: number;
  server_cpus: string;
  slices: number;
  length_s: number;
  throughput_per_s: number;
  mean_response_us: number;
  loop_share: number;
  cpu_us_per_operation: number | null;
  client_utilisation: number | null;
}

export interface ExaminedResource {
  id: string;
  title: string;
  demand?: EvidenceFigure | null;
  utilisation?: EvidenceFigure | null;
  saturation?: EvidenceFigure | null;
  missing?: string | null;
}

export interface EvidenceFigure {
  name: string;
  value: number;
  unit: string;
  text: string;
  about: string;
  source: string;
}

export type SuspectWord = "limits" | "shared" | "suspected" | "cleared";

export interface Suspect {
  rule: string;
  resource: string;
  title: string;
  word: SuspectWord;
  sentence: string;
  evidence: EvidenceFigure[];
  tried?: string | null;
  remedies?: string[];
  source: string;
}

export interface Perturbation {
  id: string;
  resource: string;
  title: string;
  pairs: PerturbedPair[];
  elasticity?: Elasticity | null;
  sentence: string;
}

export interface PerturbedPair {
  plain_per_s: number;
  perturbed_per_s: number;
  resource_left: number;
  plain_first: boolean;
}

export interface Elasticity {
  value: number;
  low: number;
  high: number;
  pairs: number;
  confidence: number;
}

export interface ServerStatistic {
  name: string;
  value: number;
  unit: string;
  per_operation?: number | null;
  limit?: number | null;
  about: string;
}

export interface CpuProfile {
  folded: string;
  samples: number;
  period_us: number;
  cpu_us: number;
  lost: number;
  level: string;
  throughput_ratio?: number | null;
  frames: FrameCost[];
  waking_us?: number | null;
  kernel_us?: number | null;
  rest_us: number;
}

export interface FrameCost {
  frame: string;
  module: string;
  self_us: number;
  total_us: number;
}

/** Where threads wait: `crates/archive/src/model/waits.rs` documents the fields. */
export interface WaitProfile {
  folded: string;
  operations: number;
  length_s: number;
  stopped_after_s?: number | null;
  sampled: number;
  lost: number;
  level: string;
  throughput_ratio?: number | null;
  kinds: WaitKindTime[];
  idle_us: number;
  places: WaitPlace[];
}

export interface WaitKindTime {
  kind: string;
  us: number;
  waits?: number | null;
}

export interface WaitPlace {
  kind: string;
  is_lock: boolean;
  is_idle: boolean;
  functions: string[];
  threads: string[];
  us: number;
  waits?: number | null;
  wakers?: WaitWaker[];
}

export interface WaitWaker {
  who: string;
  functions?: string[];
  share: number;
}

/** Slow requests: `crates/archive/src/model/requests.rs` documents the fields. */
export interface SlowRequests {
  sentence: string;
  operations: number;
  traced: number;
  median_us: number;
  slow_us: number;
  level: string;
  stopped_after_s?: number | null;
  throughput_ratio?: number | null;
  parts: { part: string; slow_us: number; median_us: number }[];
  functions?: { frame: string; module: string; share: number }[];
  requests: TracedRequest[];
}

export interface TracedRequest {
  is_slow: boolean;
  operation: string;
  response_us: number;
  steps: RequestStep[];
  meanwhile: { threads: string; on_cpu: number; runnable: number; blocked: number; idle: number }[];
}

export interface RequestStep {
  from_us: number;
  us: number;
  part: string;
  thread?: string;
  functions?: string[];
  is_likely?: boolean;
  woken_by?: string;
}

export interface CpuDifference {
  sentence: string;
  a: string;
  b: string;
  a_cpu_us: number;
  b_cpu_us: number;
  frames: FrameDifference[];
}

export interface FrameDifference {
  frame: string;
  module: string;
  a_us: number;
  b_us: number;
  low_us: number;
  high_us: number;
  is_significant: boolean;
}

/** The stacks of a profile as a tree. */
export interface FlameData {
  samples: number;
  /** As in the file: functions of the kernel end in `_[k]`, labels are in `<>`. */
  names: string[];
  /** Callers before callees: depth, place in `names`, samples with callees. */
  nodes: [number, number, number][];
  /** Functions with fewer samples are omitted; 0 where none are. */
  least_samples: number;
}
