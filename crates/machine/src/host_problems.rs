//! What of the hosts file is not true on a host.

use host::CpuSet;

use crate::error::MachineError;
use crate::host_entry::HostEntry;
use crate::protocol::CallError;

/// What is wrong with the entry, if anything: whether the host has the address and the CPUs. `address` is whether it could
/// listen there.
pub(crate) fn host_problems(
    entry: &HostEntry,
    address: &Result<(), CallError>,
    allowed_cpus: &CpuSet,
) -> Vec<MachineError> {
    let mut problems = Vec::new();
    if let Err(why) = address {
        problems.push(MachineError::Address { host: entry.name.clone(), why: why.to_string() });
    }
    if let Some(cpus) = entry.cpus.as_ref().filter(|cpus| cpus.intersection(allowed_cpus) != **cpus) {
        let (host, wanted, has) = (entry.name.clone(), cpus.to_string(), allowed_cpus.to_string());
        problems.push(MachineError::Cpus { host, wanted, has });
    }
    problems
}
