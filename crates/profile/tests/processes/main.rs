//! Profiles of real processes: small C programs that the tests build.

mod cpu;
mod program;
mod threads;
mod waits;
