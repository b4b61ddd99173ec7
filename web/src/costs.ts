// The types of watts and costs that `crates/report` writes into the page. The fields are documented in `crates/archive/src/model`
// and `crates/cost`.

/** Watts and operations a joule of a run. */
export interface Power {
  variants: MeteredVariant[];
  comparisons: { sentence: string }[];
  lost: string[];
  notes: string[];
}

/** A variant with the watts of one meter. */
export interface MeteredVariant {
  variant: string;
  meter: { name: string; kind: string; boundary: string; uncertainty_percent: number | null; is_indicative: boolean };
  trials: number;
  watts_at_load: CostFigure;
  watts_idle: CostFigure | null;
  operations_per_joule: CostFigure;
  overall_operations_per_joule: CostFigure | null;
  levels: LevelFigures[];
}

/** From the full load down; active idle, the last, has the share 0. */
export interface LevelFigures {
  share: number;
  work_per_s: number;
  watts: CostFigure;
  operations_per_joule: CostFigure;
  p99_us: number | null;
  gave_up_from_us?: number | null;
}

/** What the variants cost, as `showdown cost --format json` has it, and published figures of the same workload. */
export interface Cost {
  currency: string;
  life_years: number | null;
  hours_at_load_a_day: number;
  pue: number | null;
  price_per_kwh: number | null;
  grid_intensity_g_per_kwh: number | null;
  variants: VariantCost[];
  comparisons: { sentence: string }[];
  over_load: { sentence: string }[];
  notes: string[];
  published: PublishedFigure[];
}

export interface VariantCost {
  variant: string;
  target: string;
  unit: string;
  performance: CostFigure | null;
  power_at_load: CostPower | null;
  power_idle: CostPower | null;
  operations_per_joule: CostFigure | null;
  swap: CostFigure | null;
  energy_kwh_a_year: number | null;
  energy_cost_a_year: number | null;
  total_cost: number | null;
  cost_of_a_million: CostFigure | null;
  carbon_kg_a_year: number | null;
  carbon_g_of_a_million: CostFigure | null;
  missing: { figure: string; why: string }[];
}

export interface CostFigure {
  value: number;
  low: number | null;
  high: number | null;
}

export interface CostPower {
  watts: number;
  boundary: string;
  source: string;
  is_estimate: boolean;
}

export interface PublishedFigure {
  year: number;
  system: string | null;
  metric: string;
  value: string;
  variant: string | null;
  client: string | null;
  caveat: string | null;
}
