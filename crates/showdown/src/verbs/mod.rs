//! One file for each verb or family of verbs: its arguments, and a function that calls a library crate and prints. Options that several
//! verbs share are left to [`args`](crate::args), the answer of a run to [`answer`](crate::answer).

#![deny(clippy::cast_possible_truncation)] // a count of the user's that is cut asks for something else

pub mod catalogues;
pub mod engine;
pub mod harness;
pub mod machines;
pub mod results;
pub mod runs;
pub mod shell;
