//! What tests of several modules share: a plan, an outcome of the engine, and a lab and a machine without servers.

pub mod outcome;
pub mod plan;
pub mod scripted_lab;
pub mod scripted_machine;
