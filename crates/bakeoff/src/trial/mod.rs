//! One trial: start the server, load its data, check its replies, warm it up, measure it, read its operation count, check
//! the gates, and stop it. A failure of the server becomes part of the trial's record.
//!
//! | file | what it holds |
//! |---|---|
//! | [`setup`] | what a trial begins with, and what comes of it |
//! | [`server_trial`] | the server under test with its record |
//! | [`turns`] | servers that are up together and loaded in turns |
//! | [`disturbance`] | whether they leave each other alone |
//! | [`one_server`] | what is measured of a server that is up alone |
//! | [`breaking_point`] | the seam for a measure that another crate makes: when a server breaks |
//! | [`warm_up`] | the load before |
//! | [`rounds`] | what is measured in slices |
//! | [`cpu_account`] | the CPU time of the server in its slices |
//! | [`drains`] | how long it answers what is left when they end |
//! | [`interleaved_trial`] | a server that takes turns |
//! | [`measurement`] | what a load has measured |
//! | [`load_phases`] | the parts of its load |
//! | [`steadiness`] | whether a loop is steady |
//! | [`watts`] | levels of load at which watts are measured, and the watts |
//! | [`neighbours`] | how much the copies of a server disturb each other |
//! | [`gate_inputs`] | what the gates see of its machines |
//! | [`record`] | the telemetry of each machine, and the archive's types of what was measured |
//! | [`background`] | the load beside it |

mod background;
mod breaking_point;
mod cpu_account;
mod disturbance;
mod drains;
mod gate_inputs;
mod interleaved_trial;
mod load_phases;
mod measurement;
mod neighbours;
mod one_server;
mod record;
mod rounds;
mod server_trial;
mod setup;
mod steadiness;
mod turns;
mod warm_up;
mod watts;

use std::sync::Arc;

use archive::ArchiveError;
use host::telemetry::Recording;

use crate::event::Observer;
use crate::plan::preset::telemetry_period;
use record::recorders::{RecordedLoad, Recorders};
use server_trial::{LoadEnd, ServerTrial};

pub use breaking_point::{BreakingPoint, BreakingPointError, BreakingServer, FoundBreak};
pub use load_phases::{LoadPhases, with_connections};
pub use record::phases::{add_times, curve};
pub use record::server_usage::WATCH;
#[cfg(test)]
pub use setup::blank;
pub use setup::{FinishedTrial, TrialError, TrialSetup, TrialStart};
pub use steadiness::WarmUpGoal;
pub use turns::{OneAtATime, TurnsEnd, run_in_turns};
pub use warm_up::warm_up;

/// Runs one trial, with one server up.
pub fn run_alone(
    setup: &TrialSetup<'_>,
    start: TrialStart<'_>,
    observe: &mut Observer<'_>,
) -> Result<FinishedTrial, ArchiveError> {
    match ServerTrial::start(setup, start) {
        Ok(mut member) => {
            let load = load_alone(setup, &mut member, observe);
            member.finish(load)
        }
        Err(failed) => Ok(*failed),
    }
}

fn load_alone(
    setup: &TrialSetup<'_>,
    member: &mut ServerTrial<'_>,
    observe: &mut Observer<'_>,
) -> Result<(LoadEnd, RecordedLoad), TrialError> {
    let loads = member.prepare(observe)?;
    let server = (member.machine(), member.recorded(WATCH.to_owned()));
    let recorders = Recorders::begin(setup.machines, [server], telemetry_period(setup.plan.length));
    if let Some((_, error)) = recorders.failed.first() {
        return Err(Arc::clone(error).into());
    }
    let end = member.load_alone(loads, observe);
    Ok((end, recorders.stop().of(setup.machines, member.machine(), Recording::clone)?))
}
