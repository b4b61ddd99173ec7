//! Divides the CPUs between server and client when both run on one machine.
//!
//! The rules and their reasons:
//!
//! - Each side gets whole cores. Two threads of a core share its execution units and caches, so a client on the
//!   sibling of a server's CPU slows the server down.
//! - Each side gets half of the cores; an odd core goes to the client. A saturated client makes a trial invalid,
//!   a saturated server is the object of the measurement.
//! - The client gets the first cores, with CPU 0, which usually has more interrupts and system work. Disturbance
//!   of the client shows in its lag, which a gate checks. Disturbance of the server shows in no measure.
//! - Cores are in the order of NUMA nodes: with two nodes, each side has its own node and memory.
//! - A single core is divided by hardware threads, and a single CPU is shared. [`Split::sharing`] reports this,
//!   and results must state it.

use serde::{Deserialize, Serialize};

use super::{Core, CpuSet};

/// The CPUs of each side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// For the server.
    pub server: CpuSet,
    /// For the load engine and this process.
    pub client: CpuSet,
    /// What the two sides share.
    pub sharing: CpuSharing,
}

/// What two sets of CPUs share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CpuSharing {
    /// Each side has its own cores.
    Nothing,
    /// Each side has its own CPUs, but some are threads of the same core.
    Cores,
    /// At least one CPU belongs to both sides.
    Cpus,
}

impl CpuSharing {
    /// Determines what two sets of CPUs share on these cores.
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

    /// The caveat that a report must include, if any.
    pub fn caveat(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::Cores => Some("server and client run on threads of the same core and slow each other down"),
            Self::Cpus => Some("server and client share a CPU: the client takes CPU time from the server"),
        }
    }
}

/// Divides these cores between a server and its client by the rules above.
pub fn split(cores: &[Core]) -> Split {
    let halves = |parts: Vec<CpuSet>| {
        let clients = parts.len().div_ceil(2);
        let join = |part: &[CpuSet]| part.iter().flat_map(CpuSet::iter).collect::<CpuSet>();
        (join(&parts[clients..]), join(&parts[..clients]))
    };
    let (server, client) = match cores {
        // A single CPU for both sides, or the threads of a single core.
        [core] if core.cpus.len() == 1 => (core.cpus.clone(), core.cpus.clone()),
        [core] => halves(core.cpus.iter().map(|cpu| [cpu].into_iter().collect()).collect()),
        cores => halves(cores.iter().map(|core| core.cpus.clone()).collect()),
    };
    let sharing = CpuSharing::between(&server, &client, cores);
    Split { server, client, sharing }
}

/// Divides these cores into this many shares of neighbouring ones, as equal as they can be; hardware threads where there are
/// fewer cores than shares. None where there are fewer threads, too.
pub fn shares(cores: &[Core], count: usize) -> Option<Vec<CpuSet>> {
    let whole: Vec<CpuSet> = cores.iter().map(|core| core.cpus.clone()).collect();
    let threads = || cores.iter().flat_map(|core| core.cpus.iter()).map(|cpu| [cpu].into_iter().collect());
    let parts: Vec<CpuSet> = if whole.len() >= count { whole } else { threads().collect() };
    let share = |place: usize| {
        let of = &parts[place * parts.len() / count..(place + 1) * parts.len() / count];
        of.iter().flat_map(CpuSet::iter).collect()
    };
    (count > 0 && parts.len() >= count).then(|| (0..count).map(share).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cores(cpus: &[&str]) -> Vec<Core> {
        cpus.iter().map(|text| Core { node: 0, cpus: text.parse().expect("a list of CPUs") }).collect()
    }

    fn parts(split: &Split) -> (String, String, CpuSharing) {
        (split.server.to_string(), split.client.to_string(), split.sharing)
    }

    #[test]
    fn two_cores_give_one_to_each_side() {
        assert_eq!(parts(&split(&cores(&["0", "1"]))), ("1".into(), "0".into(), CpuSharing::Nothing));
    }

    #[test]
    fn cores_stay_whole_and_the_odd_core_goes_to_the_client() {
        let split = split(&cores(&["0,3", "1,4", "2,5"]));
        assert_eq!(parts(&split), ("2,5".into(), "0-1,3-4".into(), CpuSharing::Nothing));
    }

    #[test]
    fn sharing_is_reported() {
        let threads = split(&cores(&["0-1"]));
        assert_eq!(parts(&threads), ("1".into(), "0".into(), CpuSharing::Cores));
        let one = split(&cores(&["7"]));
        assert_eq!(parts(&one), ("7".into(), "7".into(), CpuSharing::Cpus));
        assert!(one.sharing.caveat().is_some_and(|caveat| caveat.contains("share a CPU")));
    }

    #[test]
    fn shares_are_whole_cores_where_there_are_enough() {
        let texts = |list: &[&str], count| {
            let shares = shares(&cores(list), count)?;
            Some(shares.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(texts(&["0,4", "1,5", "2,6", "3,7"], 2).as_deref(), Some("0-1,4-5 2-3,6-7"));
        assert_eq!(texts(&["0", "1", "2"], 2).as_deref(), Some("0 1-2"));
        assert_eq!(texts(&["0,2", "1,3"], 4).as_deref(), Some("0 2 1 3"));
        assert_eq!(texts(&["0", "1"], 3), None);
    }

    proptest! {
        #[test]
        fn every_cpu_belongs_to_exactly_one_side(threads in 1_usize..4, count in 1_usize..40) {
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
