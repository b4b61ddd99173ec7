//! Figures of servers under load, including their own statistics, which trials do not read. A search for tunings needs them to
//! know what calls for one. Suspects and experiments are left to [`explained_run`](crate::explained_run).

use archive::model::Plan;
use bakeoff::event::{Event, Observer};
use bakeoff::study_server::{StudyEnd, StudyServers, run_study};
use bakeoff::{RunPermissions, RunPlanError};
use load::engine::RunContext;

use crate::explained_run::lengths_of;
use crate::perturbable_loop::LoopError;
use crate::studied_server::StudiedServer;
use crate::study::{PlainFigures, plain_figures};

/// The figures of each server in the order of the plan; or why one could not be loaded.
pub type LoopFigures = Result<Vec<PlainFigures>, LoopError>;

/// Loads the servers of a plan that explains, and returns their figures of plain slices. Nothing is written.
pub fn figures_under_load(
    plan: &Plan,
    permissions: RunPermissions<'_>,
    context: &RunContext,
    observe: &mut Observer<'_>,
) -> Result<StudyEnd<LoopFigures>, RunPlanError> {
    let lengths = lengths_of(plan)?;
    run_study(plan, permissions, context, observe, |study, observe| {
        let StudyServers { mut servers, client_cpus, .. } = study;
        let figures = servers.iter_mut().map(|server| {
            observe(Event::Doing { what: format!("{}: what it says of itself", server.name) });
            plain_figures(&mut StudiedServer::new(server, &client_cpus), &lengths)
        });
        figures.collect()
    })
}
