//! Texts and progress bars for a terminal, made from results that others have computed.

pub mod archive;
pub mod concurrency;
pub mod costs;
pub mod explanation;
pub mod hosts;
pub mod layout;
pub mod load;
pub mod plan_effects;
pub mod precision;
pub mod progress;
pub mod resume;
pub mod selftest;
pub mod selftest_clients;
pub mod shift;
pub mod tuning;
pub mod tunings;
pub mod verdict;
