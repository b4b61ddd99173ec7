//! Texts and progress bars for a terminal, made from results that others have computed.

pub mod archive;
pub mod bakeoff_progress;
pub mod bar;
pub mod concurrency;
pub mod cost;
pub mod explanation;
#[cfg(test)]
mod formats_page;
pub mod hosts;
pub mod hosts_progress;
pub mod line_progress;
pub mod load;
pub mod load_progress;
pub mod load_watts;
pub mod metered;
pub mod plan_effects;
pub mod power;
pub mod published;
pub mod resume;
pub mod run_progress;
pub mod search_progress;
pub mod selftest;
pub mod selftest_clients;
mod sentence;
pub mod size;
pub mod table;
pub mod tuning;
pub mod tunings;
pub mod units;
pub mod verdict;
