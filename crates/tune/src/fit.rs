//! Whether a workload's server has what a tuning sets.

use workload::definition::ServerDefinition;
use workload::is_kernel_setting;

use crate::tuning::Tuning;

/// Why a tuning cannot be applied to a server; none if it can. Values are checked where they are known, before a start.
pub fn why_not_fit(tuning: &Tuning, server: &ServerDefinition) -> Option<String> {
    if !tuning.is_for(&server.name) {
        return Some(format!("it is for {}", tuning.servers.join(", ")));
    }
    let names = tuning.levels.iter().flat_map(|level| level.set.keys());
    let missing = names.filter(|name| !is_kernel_setting(name)).find(|name| server.knob(name).is_err())?;
    Some(format!("{} has no knob {missing}", server.name))
}
