//! Who gets which CPUs when server and client are on one machine.
//!
//! The policy, and why:
//!
//! - Whole cores: two threads of a core share its execution units and caches, so a client on the sibling of
//!   a server's CPU would slow the server down by what the client does.
//! - Half each, and the odd core goes to the client. A client that is the limit makes a trial invalid; a
//!   server that is the limit is what we want to see.
//! - The client has the first cores, with CPU 0, where interrupts and the system's chores tend to be: what
//!   disturbs the client shows in its lag, which is checked; what disturbs the server shows nowhere.
//! - In the order of NUMA nodes: with two nodes, each side has its own and its own memory.
//! - One core with two threads is shared by its threads, and one CPU is shared as it is. [`Split::sharing`]
//!   says so, and so must whoever reports results.

use serde::{Deserialize, Serialize};

use super::{Core, CpuSet};

/// The CPUs of each side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// For the server.
    pub server: CpuSet,
    /// For the load engine and for us.
    pub client: CpuSet,
    /// What the two still have in common.
    pub sharing: Sharing,
}

/// How much of the CPUs two sides share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// Each has its own cores.
    Nothing,
    /// Each has its own CPUs, but some are threads of the same core.
    Cores,
    /// At least one CPU is both's.
    Cpus,
}

impl Sharing {
    /// What two sets of CPUs have in common on these cores.
    pub fn between(a: &CpuSet, b: &CpuSet, cores: &[Core]) -> Self {
        let uses = |set: &CpuSet, core: &Core| !set.intersection(&core.cpus).is_empty();
        if !a.intersection(b).is_empty() {
            Self::Cpus
        } else if cores.iter().any(|core| uses(a, core) && uses(b, core)) {
            Self::Cores
        } else {
            Self::Nothing
        }
    }

    /// What a report must say about it, if anything.
    pub fn caveat(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::Cores => Some("server and client run on threads of the same core and slow each other down"),
            Self::Cpus => Some("server and client share a CPU: the client's work is taken from the server's"),
        }
    }
}

/// Splits these cores between a server and its client, by the policy above.
pub fn split(cores: &[Core]) -> Split {
    let halves = |parts: Vec<CpuSet>| {
        let clients = parts.len().div_ceil(2);
        let join = |part: &[CpuSet]| part.iter().flat_map(CpuSet::iter).collect::<CpuSet>();
        (join(&parts[clients..]), join(&parts[..clients]))
    };
    let (server, client) = match cores {
        // Threads, or the same single CPU twice.
        [core] if core.cpus.len() == 1 => (core.cpus.clone(), core.cpus.clone()),
        [core] => halves(core.cpus.iter().map(|cpu| [cpu].into_iter().collect()).collect()),
        cores => halves(cores.iter().map(|core| core.cpus.clone()).collect()),
    };
    let sharing = Sharing::between(&server, &client, cores);
    Split { server, client, sharing }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cores(cpus: &[&str]) -> Vec<Core> {
        cpus.iter().map(|text| Core { node: 0, cpus: text.parse().expect("a list of CPUs") }).collect()
    }

    fn said(split: &Split) -> (String, String, Sharing) {
        (split.server.to_string(), split.client.to_string(), split.sharing)
    }

    #[test]
    fn two_cores_are_one_each() {
        assert_eq!(said(&split(&cores(&["0", "1"]))), ("1".into(), "0".into(), Sharing::Nothing));
    }

    #[test]
    fn threads_stay_with_their_core_and_the_odd_core_is_the_client_s() {
        let split = split(&cores(&["0,3", "1,4", "2,5"]));
        assert_eq!(said(&split), ("2,5".into(), "0-1,3-4".into(), Sharing::Nothing));
    }

    #[test]
    fn what_must_be_shared_is_said() {
        let threads = split(&cores(&["0-1"]));
        assert_eq!(said(&threads), ("1".into(), "0".into(), Sharing::Cores));
        let one = split(&cores(&["7"]));
        assert_eq!(said(&one), ("7".into(), "7".into(), Sharing::Cpus));
        assert!(one.sharing.caveat().is_some_and(|said| said.contains("share a CPU")));
    }

    proptest! {
        #[test]
        fn every_cpu_has_an_owner_and_none_has_two(threads in 1_usize..4, count in 1_usize..40) {
            prop_assume!(threads * count > 1);
            let cores: Vec<Core> = (0..count)
                .map(|core| Core { node: 0, cpus: (0..threads).map(|thread| core + thread * count).collect() })
                .collect();
            let Split { server, client, .. } = split(&cores);
            prop_assert!(!server.is_empty() && server.len() <= client.len());
            prop_assert!(server.intersection(&client).is_empty());
            prop_assert_eq!(server.len() + client.len(), threads * count);
        }
    }
}
