//! `showdown __known-server`: a server of known behaviour, to check a load generator against.

use anyhow::Context;
use truth::known::behaviour::Behaviour;
use truth::known::server;

use crate::exit::CommandStatus;

/// Serves until it is killed.
pub fn run(behaviour: &Behaviour) -> anyhow::Result<CommandStatus> {
    server::run(behaviour).with_context(|| {
        format!("cannot serve on {}, port {}: pass another --port", behaviour.host, behaviour.port)
    })?;
    Ok(CommandStatus::Success)
}
