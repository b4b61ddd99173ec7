//! What of the hosts file is not true on a host.

use host::CpuSet;

use crate::hosts_file::HostEntry;
use crate::protocol::CallError;

/// One line each, with the remedy: whether the host has the address and the CPUs.
pub(crate) fn host_problems(
    entry: &HostEntry,
    address: &Result<(), CallError>,
    allowed_cpus: &CpuSet,
) -> Vec<String> {
    let mut problems = Vec::new();
    let name = &entry.name;
    if let Err(CallError::Listen { address, why }) = address {
        problems.push(format!(
            "host {name} cannot listen on {address} ({why}): correct its address in the hosts file"
        ));
    }
    if let Some(cpus) = entry.cpus.as_ref().filter(|cpus| cpus.intersection(allowed_cpus) != **cpus) {
        problems.push(format!(
            "host {name} has the CPUs {allowed_cpus}, not all of {cpus}: correct cpus in the hosts file"
        ));
    }
    problems
}
