//! The processes that a profile is of.

use host::process::{ProcessTree, with_descendants};

/// The processes of a profile. They are listed again and again while it runs, so that new ones are in it.
#[derive(Debug, Clone)]
pub enum ProcessSet {
    /// The processes of servers that this program has started, see [`host::ServerProcess::tree`].
    Servers(Vec<ProcessTree>),
    /// Processes with all their descendants, by process ID.
    Roots(Vec<u32>),
}

impl ProcessSet {
    /// The IDs of the processes now, ascending.
    pub fn now(&self) -> Vec<u32> {
        let mut pids: Vec<u32> = match self {
            Self::Servers(trees) => trees.iter().flat_map(ProcessTree::processes).map(|id| id.pid).collect(),
            Self::Roots(roots) => {
                roots.iter().flat_map(|root| with_descendants(*root)).map(|id| id.pid).collect()
            }
        };
        pids.sort_unstable();
        pids.dedup();
        pids
    }
}
