//! How things look on a terminal: texts and bars. Knows nothing of how they came about.

pub mod archive;
pub mod bakeoff;
pub mod load;
pub mod progress;
pub mod selftest;
mod table;
mod units;
