//! How the hosts of a hosts file are reached by this program.

use std::sync::Arc;

use machine::program::Programs;
use machine::{HostEntry, ReachOptions};

use crate::exit::usage;

/// The way to these hosts, with the builds for other architectures that the user has named.
pub fn options(hosts: &[&HostEntry], builds: &[String]) -> anyhow::Result<ReachOptions> {
    let uses_ssh = hosts.iter().any(|host| host.ssh.is_some());
    let programs = if uses_ssh { Programs::with(builds).map_err(usage)? } else { Programs::default() };
    Ok(ReachOptions { local_agent: "/proc/self/exe".into(), programs: Arc::new(programs) })
}
