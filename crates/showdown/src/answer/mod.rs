//! Executes what a verb asks for, and prints the answer with its end. What an answer looks like is left to [`show`](crate::show).

pub mod execute;
pub mod of_run;
