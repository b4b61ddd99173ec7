//! A real HAProxy before real nginx servers: weights, counters and log, what is refused, what somebody else changes, and the death of each
//! part. These tests assert the order of events and the state at their end, never a time.

#![allow(clippy::unwrap_used, reason = "tests: a panic is a failure with a line")]

mod deaths;
mod lab;
mod refused;
mod shifted;
