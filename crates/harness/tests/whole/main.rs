//! The harness from end to end: both programs, a real queue, small real runs, and the death of each part.

mod deaths;
mod guard;
mod home;
mod runs;
