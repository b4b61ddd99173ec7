//! `showdown __known-server`: a server whose behaviour is known, for those that hold a client against it.

use anyhow::Context;
use truth::known::behaviour::Behaviour;
use truth::known::server;

use crate::exit::Ending;

/// Serves until it is killed.
pub fn run(behaviour: &Behaviour) -> anyhow::Result<Ending> {
    server::run(behaviour).with_context(|| {
        format!("a known server on {}, port {}: is the port taken?", behaviour.host, behaviour.port)
    })?;
    Ok(Ending::Success)
}
