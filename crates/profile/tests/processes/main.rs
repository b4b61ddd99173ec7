//! Profiles of real processes: small C programs that the tests build.

mod activity;
mod cpu;
mod program;
mod threads;
mod waits;
