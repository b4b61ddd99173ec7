//! How all answers are laid out: tables, numbers with units, sentences at the beginning of a line.

pub mod sentence;
pub mod table;
pub mod units;
