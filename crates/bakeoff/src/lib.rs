//! The bake-off: from a request to a verdict.
//!
//! A [`plan_request::PlanRequest`] is resolved to a [plan](archive::model::Plan) that leaves no default open.
//! [`run_plan`] runs its trials. Each trial starts the server, loads its data, checks its replies, warms it up to
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

mod another_session;
mod bottleneck;
mod breaking_point;
mod caveats;
mod changes;
mod company;
mod comparison;
mod counters;
mod cpu_rate;
mod curves;
mod drift;
mod estimand;
pub mod event;
mod fact_check;
mod failures;
mod fairness;
mod first_block;
mod gates;
mod headline;
pub mod held;
mod held_error;
pub mod held_slice;
mod hint;
mod interrupted_run;
mod lab;
pub mod limits;
mod load_clients;
mod looks;
mod machine_differences;
mod machine_draw;
mod machine_lab;
mod machine_text;
mod method_budget;
mod near_limit;
mod network_paths;
mod network_survey;
mod open_hosts;
mod outlook;
mod plan_check;
mod plan_effects;
mod plan_error;
mod plan_hosts;
mod plan_limits;
pub mod plan_request;
mod plan_variant;
mod preset;
mod quick_measure;
mod replay;
mod run;
mod run_hosts;
mod run_machines;
mod run_plan;
mod run_plan_error;
mod run_power;
mod run_progress;
mod shared_cpus;
mod shared_kernel;
mod stopping;
mod sustained;
mod sweep_axis;
#[cfg(test)]
mod testing;
mod trial;
mod trial_order;
mod variant_point;
mod verdict;
mod verdict_input;
mod warm_up_loop;
mod wording;

pub use another_session::another_session;
pub use breaking_point::{BreakingPoint, BreakingPointError, BreakingServer, FoundBreak};
pub use caveats::ONE_KERNEL;
pub use first_block::replacement_before_gains;
pub use gates::is_broken;
pub use held_error::HeldError;
pub use interrupted_run::{InterruptedRun, ResumeError};
pub use lab::FinishedRun;
pub use machine_draw::machines as machines_of;
pub use plan_check::check;
pub use plan_effects::{PlanEffects, plan_effects};
pub use plan_error::PlanError;
pub use plan_hosts::clients as clients_of_plan;
pub use plan_variant::server_variant;
pub use preset::{Preset, study};
pub use run_hosts::{RunHosts, address_of_server};
pub use run_plan::{RunPermissions, resume_run, run_plan};
pub use run_plan_error::RunPlanError;
pub use run_power::{MeteredServer, RunMeter};
pub use wording::replaced as replaced_sentence;
