//! The experiments: less of one resource, in pairs of slices. Which suspects are tried, and what an elasticity means, is left to
//! [`crate::study`] and [`crate::classify`].

use std::time::Duration;

use archive::model::{Elasticity, PerturbationOutcome, PerturbedPair};
use bakeoff::study_server::ResourceKnob;
use host::CpuSet;
use machine::ServerSqueeze;
use serde::Deserialize;
use stats::confidence::{Confidence, ConfidenceInterval};
use stats::elasticity::{self, ElasticityEstimate, Pair};

use crate::classify;
use crate::delays::DelayedCall;
use crate::perturbable_loop::{LoopFacts, Perturbation};

/// How often the pairs of an experiment are looked at. The intervals are corrected for it.
pub(crate) const LOOKS: u32 = 3;

/// A resource limits a server if it limits this many starts of it.
pub(crate) const LEAST_STARTS: u32 = 3;

/// Of memory, this many times as much is taken: throughput follows what is not in memory, and that grows by less than memory
/// shrinks. Of data of which 40 % are in memory, a fifth less of it leaves 32 %: only 13 % more are read again.
const OF_MEMORY: f64 = 1.5;

/// What can be tried of a resource. Rules name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Experiment {
    /// A burner takes time of all of the server's CPUs.
    BurnServerCpus,
    /// A burner takes time of the busiest of the server's CPUs.
    BurnBusiestCpu,
    /// A burner takes time of the client's CPUs.
    BurnClientCpus,
    /// The load has fewer connections.
    FewerConnections,
    /// A second server has fewer workers, or whatever its configuration limits.
    FewerWorkers,
    /// A second server has a smaller heap.
    SmallerHeap,
    /// A second server has an accept queue of another length.
    OtherAcceptQueue,
    /// Flushes of files take longer.
    SlowerFlushes,
    /// Sleeps take longer.
    LongerSleeps,
    /// Name lookups take longer.
    SlowerLookups,
    /// Locks with waiters are kept locked for longer.
    LongerLocks,
    /// Another program has a part of the server's memory.
    LessMemory,
    /// Another program reads from the disk of the server's files.
    BusierDisk,
}

/// Those that every study tries if no suspect needs another: the usual limits of a closed loop.
pub(crate) const USUAL: [Experiment; 3] =
    [Experiment::BurnServerCpus, Experiment::FewerConnections, Experiment::BurnClientCpus];

impl Experiment {
    /// Its name in an explanation.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::BurnServerCpus => "burn_server_cpus",
            Self::BurnBusiestCpu => "burn_busiest_cpu",
            Self::BurnClientCpus => "burn_client_cpus",
            Self::FewerConnections => "fewer_connections",
            Self::FewerWorkers => "fewer_workers",
            Self::SmallerHeap => "smaller_heap",
            Self::OtherAcceptQueue => "other_accept_queue",
            Self::SlowerFlushes => "slower_flushes",
            Self::LongerSleeps => "longer_sleeps",
            Self::SlowerLookups => "slower_lookups",
            Self::LongerLocks => "longer_locks",
            Self::LessMemory => "less_memory",
            Self::BusierDisk => "busier_disk",
        }
    }

    /// The resource of which there is less.
    pub(crate) fn resource(self) -> &'static str {
        match self {
            Self::BurnServerCpus => "server_cpu",
            Self::BurnBusiestCpu => "one_core",
            Self::BurnClientCpus => "client",
            Self::FewerConnections => "loop",
            Self::FewerWorkers => "configured_limit",
            Self::SmallerHeap => "gc",
            Self::OtherAcceptQueue => "accept_queue",
            Self::SlowerFlushes => "flush",
            Self::LongerSleeps => "sleep",
            Self::SlowerLookups => "lookups",
            Self::LongerLocks => "locks",
            Self::LessMemory => "memory",
            Self::BusierDisk => "disk",
        }
    }

    /// The resource in words.
    pub(crate) fn resource_title(self) -> &'static str {
        match self {
            Self::BurnServerCpus => "the server's CPUs",
            Self::BurnBusiestCpu => "the server's busiest CPU",
            Self::BurnClientCpus => "the client's CPUs",
            Self::FewerConnections => "the number of connections",
            Self::FewerWorkers => "the server's workers",
            Self::SmallerHeap => "the server's heap",
            Self::OtherAcceptQueue => "the accept queue",
            Self::SlowerFlushes => "the speed of flushes",
            Self::LongerSleeps => "the speed of sleeps",
            Self::SlowerLookups => "the speed of name lookups",
            Self::LongerLocks => "the speed of those who hold locks",
            Self::LessMemory => "the server's memory",
            Self::BusierDisk => "the disk's reads",
        }
    }

    /// Whether one resource is a part of the other, so that throughput follows both or neither. What is not in memory is read
    /// from a disk.
    pub(crate) fn overlaps(self, other: Self) -> bool {
        let parts = [[Self::BurnServerCpus, Self::BurnBusiestCpu], [Self::LessMemory, Self::BusierDisk]];
        parts.iter().any(|parts| parts.contains(&self) && parts.contains(&other))
    }

    /// How it is done with this server; the reason where it cannot be.
    pub(crate) fn perturbation(
        self,
        facts: &LoopFacts,
        plain: PlainRates,
        share: f64,
    ) -> Result<Perturbation, String> {
        let burn = |cpus: Option<CpuSet>| match cpus.filter(|cpus| !cpus.is_empty()) {
            _ if !facts.can_be_probed => Err("there is no burner on that machine".to_owned()),
            None => Err("its CPUs are not known".to_owned()),
            Some(cpus) => Ok(Perturbation::Burn { cpus, share }),
        };
        let delay = |call| {
            if facts.can_be_probed {
                Ok(Perturbation::Delay { call, share, operation: plain.operation })
            } else {
                Err("the server runs on another machine, where no library can be loaded into it".to_owned())
            }
        };
        let squeeze = |squeeze| {
            if facts.can_be_probed {
                Ok(Perturbation::Squeeze(squeeze))
            } else {
                Err("the server runs on another machine, where no program can take it".to_owned())
            }
        };
        match self {
            Self::BurnServerCpus => burn(Some(facts.server_cpus.clone())),
            Self::BurnBusiestCpu => burn(plain.busiest_cpu.map(|cpu| CpuSet::from_iter([cpu]))),
            Self::BurnClientCpus | Self::FewerConnections if facts.makes_own_load => {
                Err("the program under test makes its own load: compare it with another value of its knobs"
                    .to_owned())
            }
            Self::BurnClientCpus => match &facts.client_cpus {
                Some(cpus) if cpus.iter().any(|cpu| facts.server_cpus.contains(cpu)) => {
                    Err("the client shares CPUs with the server, so both would have less".to_owned())
                }
                cpus => burn(cpus.clone()),
            },
            Self::FewerConnections => {
                let all = f64::from(facts.connections);
                let left = (all * (1.0 - share)).round().min(all - 1.0);
                if left < 1.0 {
                    return Err("the load has one connection, and cannot have fewer".to_owned());
                }
                Ok(Perturbation::Connections { share: left / all })
            }
            Self::FewerWorkers | Self::SmallerHeap | Self::OtherAcceptQueue => {
                let knob = facts.knobs.iter().find(|knob| knob.resource == self.resource());
                let knob = knob.ok_or_else(|| {
                    "no knob of this server says how much there is of it (resource in its workload.toml)"
                        .to_owned()
                })?;
                let to = other_value(knob, share).ok_or_else(|| {
                    format!("{}={} is the only value that the knob accepts", knob.name, knob.value)
                })?;
                Ok(Perturbation::Knob { name: knob.name.clone(), from: knob.value, to })
            }
            Self::SlowerFlushes => delay(DelayedCall::Flush),
            Self::LongerSleeps => delay(DelayedCall::Sleep),
            Self::SlowerLookups => delay(DelayedCall::Lookup),
            Self::LongerLocks => delay(DelayedCall::Unlock),
            Self::LessMemory => squeeze(ServerSqueeze::Memory { share: share * OF_MEMORY }),
            Self::BusierDisk => match plain.read_bytes_per_s {
                Some(bytes_per_s) if bytes_per_s > 0.0 => {
                    squeeze(ServerSqueeze::DiskReads { share, bytes_per_s })
                }
                _ => Err("nothing was read from a disk".to_owned()),
            },
        }
    }
}

/// What plain slices say of the resources that experiments take a share of.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PlainRates {
    /// The server's busiest CPU.
    pub(crate) busiest_cpu: Option<usize>,
    /// The time of the slices for each operation.
    pub(crate) operation: Duration,
    /// What was read from the busiest disk, bytes a second.
    pub(crate) read_bytes_per_s: Option<f64>,
}

/// A value of a knob with this share less of its resource, or with twice as much where there is no less.
fn other_value(knob: &ResourceKnob, share: f64) -> Option<i64> {
    let less = ((knob.value as f64 * (1.0 - share)).round() as i64).min(knob.value - 1);
    let values = [less, knob.value.saturating_mul(2)];
    values.into_iter().find(|value| *value > 0 && knob.value > 0 && knob.range.contains(value))
}

/// How much of a resource is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dose {
    /// Enough to be seen above the noise of a slice.
    Full,
    /// Half of it: a resource that has slack is missed less than in proportion.
    Half,
}

impl Dose {
    /// How many times as many pairs it needs as a full dose: half of a change is harder to see.
    pub(crate) fn times_the_pairs(self) -> u32 {
        match self {
            Self::Full => 1,
            Self::Half => 2,
        }
    }
}

/// The pairs of one experiment.
#[derive(Debug, Clone)]
pub(crate) struct Tried {
    pub(crate) experiment: Experiment,
    pub(crate) dose: Dose,
    pub(crate) perturbation: Perturbation,
    pub(crate) pairs: Vec<PerturbedPair>,
    /// In how many starts of the server it was confirmed, beside the first.
    pub(crate) starts: u32,
}

impl Tried {
    pub(crate) fn new(experiment: Experiment, dose: Dose, perturbation: Perturbation) -> Self {
        Self { experiment, dose, perturbation, pairs: Vec::new(), starts: 0 }
    }

    /// The same with half of the dose, which tells whether the resource has slack. None where half of it cannot be taken.
    pub(crate) fn half(&self, connections: u32) -> Option<Self> {
        Some(Self::new(self.experiment, Dose::Half, self.perturbation.half(connections)?))
    }

    /// Whether more pairs would not change what this interval says.
    pub(crate) fn is_decided(&self, interval: ConfidenceInterval) -> bool {
        match self.dose {
            Dose::Full => classify::is_decided(interval),
            Dose::Half => classify::tells_slack(interval),
        }
    }

    /// Whether it was tried in as many starts as *limits* needs.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.starts + 1 >= LEAST_STARTS
    }

    /// What was done, in words.
    pub(crate) fn title(&self) -> String {
        let of = self.experiment.resource_title();
        match &self.perturbation {
            Perturbation::Burn { cpus, share } => {
                let numbers = if cpus.len() == 1 { format!("CPU {cpus}") } else { format!("CPUs {cpus}") };
                format!("{:.0} % less of {of} ({numbers})", share * 100.0)
            }
            Perturbation::Connections { share } => {
                format!("{:.0} % fewer connections", (1.0 - share) * 100.0)
            }
            Perturbation::Knob { name, from, to } => {
                format!("a second server with {name}={to} instead of {from}")
            }
            Perturbation::Delay { call: DelayedCall::Unlock, .. } => {
                "a second server that holds locks with waiters for longer".to_owned()
            }
            Perturbation::Squeeze(
                ServerSqueeze::Memory { share } | ServerSqueeze::DiskReads { share, .. },
            ) => format!("another program with {:.0} % of {of}", share * 100.0),
            Perturbation::Delay { share, .. } => {
                format!("a second server with {:.0} % less of {of}", share * 100.0)
            }
        }
    }

    /// The elasticity so far; none with too few pairs. A pair whose resource did not change, because the burner did not get its
    /// time, counts for nothing.
    pub(crate) fn estimate(&self) -> Option<ElasticityEstimate> {
        let pairs: Vec<Pair> = self.pairs.iter().map(pair_of).filter(Pair::is_changed).collect();
        elasticity::estimate(&pairs, Confidence::P95.shared_by(LOOKS as usize)).ok()
    }

    /// The interval of the elasticity so far; none with too few pairs.
    pub(crate) fn interval(&self) -> Option<ConfidenceInterval> {
        self.estimate().map(|found| found.interval)
    }

    /// As the archive has it.
    pub(crate) fn outcome(&self) -> PerturbationOutcome {
        let elasticity = self.estimate().map(|found| Elasticity {
            value: found.value,
            low: found.interval.low,
            high: found.interval.high,
            pairs: found.pairs as u32,
            confidence: found.confidence.level(),
        });
        PerturbationOutcome {
            id: match self.dose {
                Dose::Full => self.experiment.id().to_owned(),
                Dose::Half => format!("{}_half", self.experiment.id()),
            },
            resource: self.experiment.resource().to_owned(),
            title: self.title(),
            sentence: self.sentence(elasticity.as_ref()),
            pairs: self.pairs.clone(),
            elasticity,
        }
    }

    /// Why there is no elasticity.
    fn why_unknown(&self) -> String {
        let all = self.pairs.len();
        let count = |is: &dyn Fn(&PerturbedPair) -> bool| self.pairs.iter().filter(|pair| is(pair)).count();
        let idle = count(&|pair| pair.perturbed_per_s <= 0.0 || pair.plain_per_s <= 0.0);
        let unchanged = count(&|pair| !pair_of(pair).is_changed());
        if idle > 0 {
            format!("no operation succeeded in a slice of {idle} of {all} pairs")
        } else if unchanged > 0 {
            format!("the resource hardly changed in {unchanged} of {all} pairs")
        } else {
            format!("there are too few pairs ({all})")
        }
    }

    fn sentence(&self, elasticity: Option<&Elasticity>) -> String {
        let Some(found) = elasticity else {
            return format!("{}: not known, because {}", self.title(), self.why_unknown());
        };
        let mean = |value: &dyn Fn(&PerturbedPair) -> f64| {
            (self.pairs.iter().map(|pair| value(pair).ln()).sum::<f64>() / self.pairs.len() as f64).exp_m1()
                * 100.0
        };
        let resource = mean(&|pair| pair.resource_left);
        let throughput = mean(&|pair| pair.perturbed_per_s / pair.plain_per_s);
        let changed = match self.perturbation {
            Perturbation::Squeeze(ServerSqueeze::Memory { .. }) => {
                let more = (1.0 / (1.0 + resource / 100.0) - 1.0) * 100.0;
                format!("{}: {more:+.0} % of pages read again for each operation", self.title())
            }
            _ => format!("{resource:+.0} % of {}", self.experiment.resource_title()),
        };
        format!(
            "{changed} changed throughput by {:+.1} %: elasticity {:.2} (interval {:.2} to {:.2}, {} pairs)",
            throughput, found.value, found.low, found.high, found.pairs
        )
    }
}

fn pair_of(pair: &PerturbedPair) -> Pair {
    Pair { plain: pair.plain_per_s, perturbed: pair.perturbed_per_s, left: pair.resource_left }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(perturbed_per_s: f64, resource_left: f64, pairs: usize) -> Tried {
        let cpus = "0-1".parse().expect("CPUs");
        let mut tried =
            Tried::new(Experiment::BurnServerCpus, Dose::Full, Perturbation::Burn { cpus, share: 0.2 });
        let pair = PerturbedPair { plain_per_s: 1000.0, perturbed_per_s, resource_left, plain_first: true };
        tried.pairs = vec![pair; pairs];
        tried
    }

    #[test]
    fn a_result_is_a_sentence_with_its_figures() {
        let outcome = tried(800.0, 0.8, 4).outcome();
        assert_eq!(outcome.title, "20 % less of the server's CPUs (CPUs 0-1)");
        assert_eq!(
            outcome.sentence,
            "-20 % of the server's CPUs changed throughput by -20.0 %: elasticity 1.00 (interval 1.00 to 1.00, 4 pairs)"
        );
    }

    #[test]
    fn memory_is_what_need_not_be_read_again() {
        let memory = Perturbation::Squeeze(ServerSqueeze::Memory { share: 0.3 });
        let less = Tried { experiment: Experiment::LessMemory, perturbation: memory, ..tried(800.0, 0.8, 4) };
        assert_eq!(
            less.outcome().sentence,
            "another program with 30 % of the server's memory: +25 % of pages read again for each operation changed throughput by \
             -20.0 %: elasticity 1.00 (interval 1.00 to 1.00, 4 pairs)"
        );
    }

    #[test]
    fn without_an_elasticity_the_sentence_says_why() {
        for (tried, why) in [
            (tried(800.0, 0.8, 2), "there are too few pairs (2)"),
            (tried(990.0, 0.99, 4), "the resource hardly changed in 4 of 4 pairs"),
            (tried(0.0, 0.8, 4), "no operation succeeded in a slice of 4 of 4 pairs"),
        ] {
            let outcome = tried.outcome();
            assert!(outcome.elasticity.is_none() && outcome.sentence.ends_with(why), "{}", outcome.sentence);
        }
    }
}
