// The types of a run of transfers, as serde writes them: `crates/archive/src/model/concurrency.rs` documents the fields. Units are
// in the names.

export interface Concurrency {
  made_unix_ms: number;
  sentence: string;
  variant: string;
  download: string;
  file_bytes?: number;
  pace_bytes_per_s: number;
  read_interval_s: number;
  processes: number;
  sources: number;
  ended: string;
  breaking_point?: number;
  comfortable_point?: number;
  client_limit?: number;
  limits: { name: string; value: string; allows?: number; is_changed: boolean; remedy: string }[];
  settings?: { name: string; from: string; to: string }[];
  chosen?: Record<string, string>;
  steps: ConcurrencyStep[];
  recovery?: { after_transfers: number; answered_after_s?: number; watched_s: number };
  ran_out?: { what: string; sentence: string; evidence: string[]; remedy: string }[];
}

/** The steps of a plan. Durations are texts, such as `1s` or `1m 30s`. */
export interface PlannedConcurrency {
  from: number;
  to: number;
  step: number;
  finer: number;
  until_availability: number;
  pace_bytes_per_s: number;
  hold: string;
  hold_last: string;
  begin_per_s: number;
  comfort_availability: number;
  comfort_first_byte: string;
}

export interface StepTimes {
  count: number;
  p50_us: number;
  p99_us: number;
  max_us: number;
}

export interface ConcurrencyStep {
  transfers: number;
  in_progress: number;
  attempts: number;
  successes: number;
  availability: number;
  rise_s: number;
  hold_s: number;
  is_steady: boolean;
  first_byte: StepTimes;
  first_byte_of_rise: StepTimes;
  completion: StepTimes;
  probes: number;
  probes_failed: number;
  pace_share?: number;
  stalled_share: number;
  errors: Record<string, number>;
  advances?: { over_ms: number; transfers: number; never: number; once: number; twice: number; fewest_bytes: number };
  read_interval_s?: number;
  client_late_p99_us: number;
  client_late_limit_us: number;
  client_behind_share?: number;
  client_cpu_cores: number;
  client_bytes: number;
  server_cpu_cores?: number;
  server_bytes?: number;
  kernel_bytes: number;
  tcp_bytes: number;
  available_bytes: number;
  counters: Record<string, number>;
}
