//! Tests of this crate on the real machine: real processes, the real `/proc`.

mod common;
mod doctor;
mod knobs;
mod packages;
mod process;
mod squeeze;
mod supervisor;
mod telemetry;
