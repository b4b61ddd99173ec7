// The types of `tuning.json`: what a search for tunings has tried and kept. The fields are documented in
// `crates/archive/src/model/tuning.rs`.

export interface TuningRecord {
  sentence: string;
  equal_sentence?: string;
  headline: TuningRatio | null;
  before_after: BeforeAfter[];
  tried: TriedTuning[];
  weaker: TriedTuning[];
  not_tried: { tuning: string; title: string; why: string }[];
  steps: { name: string; run: string; learnt: string }[];
  take_home: { file: string; lines: string[] }[];
  ended: string | null;
}

export interface TuningRatio {
  ratio: number;
  low: number;
  high: number;
  blocks: number;
}

export interface BeforeAfter {
  what: string;
  unit: string;
  before: number;
  after: number;
  ratio: TuningRatio | null;
}

export interface TriedTuning {
  tuning: string;
  title: string;
  settings: Record<string, string>;
  outcome: "kept" | "dropped" | "refused";
  why: string;
  /** In screening and race, with the number of their blocks. */
  screened: number | null;
  blocks: number;
  own: TuningRatio | null;
  /** Whether `own` is from the confirmation, and not from the trials that selected the tuning. Missing in old records. */
  own_confirmed?: boolean;
  mechanism: { figure: string; ratio: number | null; moved: boolean } | null;
}
