//! The harness from end to end: both programs, a real queue, small real runs, and the death of each part.

mod controllers;
#[path = "../database/mod.rs"]
mod database;
mod deaths;
mod described;
mod guard;
mod home;
mod runs;
mod servers;
mod team;
mod watching;
