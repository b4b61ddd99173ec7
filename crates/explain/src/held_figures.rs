//! The figures of servers that are held, with what they say of themselves: trials do not ask them, and a search for tunings wants to
//! know what calls for one. Suspects and experiments are left to [`explained_run`](crate::explained_run).

use archive::model::Plan;
use bakeoff::event::{Event, Observer};
use bakeoff::held::{HeldServers, StudyEnd, hold};
use bakeoff::{RunPermissions, RunPlanError};
use load::engine::RunContext;

use crate::explained_run::lengths_of;
use crate::held_server::HoldError;
use crate::studied_server::StudiedServer;
use crate::study::{PlainFigures, plain_figures};

/// The figures of each server in the order of the plan; or why one could not be loaded.
pub type HeldFigures = Result<Vec<PlainFigures>, HoldError>;

/// Holds the servers of a plan that explains, and returns their figures of plain slices. Nothing is written.
pub fn held_figures(
    plan: &Plan,
    permissions: RunPermissions<'_>,
    context: &RunContext,
    observe: &mut Observer<'_>,
) -> Result<StudyEnd<HeldFigures>, RunPlanError> {
    let lengths = lengths_of(plan)?;
    hold(plan, permissions, context, observe, |held, observe| {
        let HeldServers { mut servers, client_cpus, .. } = held;
        let figures = servers.iter_mut().map(|server| {
            observe(Event::Doing { what: format!("{}: what it says of itself", server.name) });
            plain_figures(&mut StudiedServer::new(server, &client_cpus), &lengths)
        });
        figures.collect()
    })
}
