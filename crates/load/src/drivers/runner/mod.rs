//! Load that a program makes by itself: its plain data and its registration. [`crate::runner`] has the protocol between
//! the program and the engine.

mod registration;

pub use registration::{Runner, RunnerMix};
