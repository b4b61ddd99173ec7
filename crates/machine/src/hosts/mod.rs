//! The hosts of a user: the file that lists them, what an entry may have, which host contradicts its entry, and how agents are started
//! there. What a host then does is left to [`remote`](crate::remote).

pub mod agent_access;
pub mod host_entry;
pub mod hosts_file;
pub mod one_kernel;
