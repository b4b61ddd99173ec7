//! One file a verb, or a family of them.

pub mod archive;
pub mod bakeoff;
pub mod doctor;
pub mod known_server;
pub mod load;
pub mod options;
pub mod runner;
pub mod selftest;
pub mod workloads;
