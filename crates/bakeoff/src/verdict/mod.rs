//! What the trials of a run say: the comparisons, when they are settled, the sentence, and what can still mislead. Pure: all input is a
//! plan, facts and trials. The statistics are left to the crate `stats`.

pub mod caveats;
pub mod company;
pub mod comparison;
pub mod comparison_sentence;
pub mod compute;
pub mod counters;
pub mod curves;
pub mod drift;
pub mod estimand;
pub mod fairness;
pub mod headline;
pub mod input;
pub mod interim_looks;
pub mod method_budget;
pub mod near_limit;
pub mod precision_forecast;
pub mod sustained;
