//! The processes that a sampler of kernel events follows: those it began with and all that they start. Where events come from is left
//! to [`crate::kernel_events`].

use std::collections::HashSet;

use crate::code::stack_reader::StackReader;
use crate::kernel_events::ProcessChange;
use crate::thread_names::ThreadNames;

/// Takes a change of processes into what a sampler knows of them; returns the number of records that were lost.
pub(crate) fn follow(
    change: ProcessChange,
    members: &mut HashSet<u32>,
    reader: &mut StackReader,
    names: &mut ThreadNames,
) -> u64 {
    match change {
        ProcessChange::Forked { pid, parent } => {
            if members.contains(&parent) {
                members.insert(pid);
                reader.forked(pid, parent);
            }
        }
        ProcessChange::Executed { pid } => reader.executed(pid),
        ProcessChange::Named { tid, name } => names.rename(tid, &name),
        ProcessChange::Lost(records) => return records,
    }
    0
}
