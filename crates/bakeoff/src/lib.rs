//! The bake-off: from a request to a verdict.
//!
//! A [`plan::request::PlanRequest`] is resolved to a [plan](archive::model::Plan) that leaves no default open.
//! [`run::of_plan`] runs its trials. Each trial starts the server, loads its data, checks its replies, warms it up to
//! steady state, measures it, compares the server's operation count with the client's, checks every gate and stops
//! the server. Trials come in blocks of one trial for each variant, in random order. Each trial is written to the run
//! directory as soon as it has ended. The verdict is computed from the valid trials: a ratio with its confidence
//! interval, "no difference shown", or "inconclusive" with the reason. [`resume_run`] goes on with an [`InterruptedRun`].
//!
//! # Goals
//!
//! - A verdict uses valid trials only: a trial that fails a gate is excluded.
//! - A run that is stopped, killed or out of disk space keeps every trial that had ended.
//! - The same plan with the same seed runs the same trials in the same order with the same load.
//!
//! # Non-goals
//!
//! `load` generates and times the load. `workload` configures and starts servers, and `machine` says where. `stats` has the statistics. `report`
//! renders the result.

mod bottleneck;
mod cpu_rate;
pub mod event;
mod gates;
pub mod limits;
mod machines;
mod plan;
mod run;
mod search_start;
mod study;
#[cfg(test)]
mod testing;
mod trial;
mod verdict;
mod warm_up_loop;

pub use gates::{CLIENT, OTHERS, STEAL, is_broken};
pub use machines::power::{MeteredServer, RunMeter};
pub use machines::prepared::PreparedMachines;
pub use plan::check::{CheckedPlan, check};
pub use plan::cpus::RunCpus;
pub use plan::effects::{PlanEffects, plan_effects};
pub use plan::error::PlanError;
pub use plan::hosts::CheckedHosts;
pub use plan::kind::PlannedKind;
pub use plan::kind_assignment::machines as machines_of;
pub use plan::measure_names::replaced as replaced_sentence;
pub use plan::preset::{Preset, study};
pub use plan::request as plan_request;
pub use run::another_session::another_session;
pub use run::changes::of_facts as changed_facts;
pub use run::error::{RunPlanError, StudyError};
pub use run::first_block::replacement_before_gains;
pub use run::hosts::RunHosts;
pub use run::interrupted::{InterruptedRun, ResumeError};
pub use run::lab::FinishedRun;
pub use run::of_plan::{RunPermissions, resume_run, run_plan};
pub use study::server as study_server;
pub use study::slice as study_slice;
pub use trial::{BreakingPoint, BreakingPointError, BreakingServer, FoundBreak};
pub use verdict::caveats::{DELAYED_ACK, ONE_KERNEL};
pub use verdict::company::mean_share;
pub use verdict::interim_looks::confidence_at_look;
