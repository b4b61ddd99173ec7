//! This crate against the real machine: real processes, the real `/proc`.

mod common;
mod keeper;
mod knobs;
mod process;
mod telemetry;
