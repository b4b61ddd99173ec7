//! Tests of this crate on the real machine: real processes, the real `/proc`.

mod common;
mod doctor;
mod keeper;
mod knobs;
mod packages;
mod process;
mod squeeze;
mod telemetry;
