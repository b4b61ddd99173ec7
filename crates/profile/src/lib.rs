//! Profiles of processes: where their CPU time goes, and what their threads wait for.
//!
//! Plain data in and out. The crate knows processes, threads and time; servers, loads and plans are left to its users.
//!
//! | question | module |
//! |---|---|
//! | what may this user see here? | [`access`] |
//! | which processes? | [`processes`] |
//! | where does CPU time go? | [`cpu`] samples, [`stacks`] has the result |
//! | which function costs how many µs of CPU an operation? | [`frames`] |
//! | what costs B more than A, and is that significant? | [`difference`] |
//! | what do threads wait for? | [`threads`] |
//! | where do they wait, for how long, and who ends it? | [`waits`] |
//! | what did the threads of one request do, and when? | [`waits::Activity`] |
//! | how do other programs read it? | [`folded`], [`firefox`] |
//!
//! # Goals
//!
//! - What cannot be seen is named with its reason and remedy ([`access::Ability`]): never silence.
//! - Losses are counted: lost samples, stacks that could not be unwound, functions without symbols.
//! - The costs of frames and their rest sum to the CPU time that was measured beside.
//! - A process that exits during a profile is no error. Memory is bounded.
//!
//! # Non-goals
//!
//! - Nothing is started, loaded or changed. Profiling costs CPU time, so a profile never belongs into a trial that counts.
//! - No drawing: the report's page draws flame graphs.

pub mod access;
mod background;
mod code;
pub mod cpu;
pub mod difference;
mod error;
pub mod firefox;
pub mod folded;
mod followed;
pub mod frames;
mod kernel_events;
pub mod processes;
pub mod stacks;
mod thread_names;
pub mod threads;
pub mod waits;

pub use access::{Access, Level};
pub use cpu::{CpuSampler, CpuSamplerOptions};
pub use error::ProfileError;
pub use processes::ProcessSet;
pub use stacks::Stacks;
pub use threads::{ThreadSampler, ThreadSamplerOptions, ThreadStates};
pub use waits::{Activity, ActivitySampler, WaitSampler, WaitSamplerOptions, Waits};
