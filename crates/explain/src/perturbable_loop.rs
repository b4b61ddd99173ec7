//! The interface to a server under a closed loop: slices of load, plain or with less of one resource, and what each reports.
//! How a server is started, loaded and read is left to those who implement [`PerturbableLoop`].

use std::collections::BTreeMap;
use std::time::Duration;

use bakeoff::study_server::ResourceKnob;
use host::CpuSet;
use host::telemetry::Recording;
use machine::ServerSqueeze;
use profile::ThreadStates;
use workload::ObservedChange;

use crate::delays::DelayedCall;

/// A server under a closed loop, which is studied in slices.
///
/// The load is the same in every slice but for its perturbation. The server itself decides the throughput; an elasticity of
/// throughput needs that.
pub trait PerturbableLoop {
    /// What does not change from slice to slice.
    fn facts(&self) -> LoopFacts;

    /// Makes ready what the slices of a perturbation need, such as a second server.
    fn prepare(&mut self, perturbation: &Perturbation) -> Result<(), LoopError> {
        let _ = perturbation;
        Ok(())
    }

    /// Starts the server once more, and makes ready again what these perturbations need.
    fn restart(&mut self, needed: &[Perturbation]) -> Result<(), LoopError> {
        needed.iter().try_for_each(|perturbation| self.prepare(perturbation))
    }

    /// Loads the server for this time, with less of one resource if there is a perturbation, and reports what happened.
    fn slice(
        &mut self,
        perturbation: Option<&Perturbation>,
        length: Duration,
    ) -> Result<SliceReading, LoopError>;
}

/// What does not change from slice to slice.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopFacts {
    /// The variant's name in the plan.
    pub variant: String,
    /// Connections of the closed loop, each with one operation at a time.
    pub connections: u32,
    /// Whether the program under test makes its own load: connections mean nothing then.
    pub makes_own_load: bool,
    /// Mean delay between the operations of a user, seconds; 0 where a connection begins the next operation at once.
    pub mean_delay_s: f64,
    /// The CPUs on which the server runs.
    pub server_cpus: CpuSet,
    /// The CPUs on which the client runs; none where it runs on another machine.
    pub client_cpus: Option<CpuSet>,
    /// Whether the server's machine gives this program what it gives to root.
    pub is_root: bool,
    /// Knobs that say how much there is of a resource. A second server that has less of it can run beside this one.
    pub knobs: Vec<ResourceKnob>,
    /// Whether it can be sampled, and a burner, a squeezer or a library of delays can be beside or in it: only on this machine.
    pub can_be_probed: bool,
}

impl LoopFacts {
    /// Facts of a recorded loop, which cannot be perturbed.
    pub fn of_record(variant: &str, connections: u32, server_cpus: CpuSet) -> Self {
        Self {
            variant: variant.to_owned(),
            connections,
            makes_own_load: false,
            mean_delay_s: 0.0,
            server_cpus,
            client_cpus: None,
            is_root: false,
            knobs: Vec::new(),
            can_be_probed: false,
        }
    }
}

/// Less of one resource for the length of a slice.
#[derive(Debug, Clone, PartialEq)]
pub enum Perturbation {
    /// A burner on these CPUs takes a share of each one's time, 0 to 1.
    Burn {
        /// The CPUs.
        cpus: CpuSet,
        /// The share of each CPU's time.
        share: f64,
    },
    /// The load has fewer connections, all of them new: this share of them, 0 to 1, rounded, but one at least. Its plain slices
    /// have new ones, too, for those that were loaded longer can be slower by a third.
    Connections {
        /// The share that is left; 1 in a plain slice.
        share: f64,
    },
    /// A second server with another value of a knob is loaded instead.
    Knob {
        /// The knob.
        name: String,
        /// Its value in the plain slices.
        from: i64,
        /// Its value in the second server.
        to: i64,
    },
    /// A second server is loaded instead, whose calls of the C library take longer. Its plain slices are its own, for the library
    /// that delays them has a cost itself.
    Delay {
        /// The calls.
        call: DelayedCall,
        /// The share of their speed that is taken, 0 to 1; 0 in a plain slice.
        share: f64,
        /// The time of the plain slices for each operation.
        operation: Duration,
    },
    /// Another program takes a share of a resource, in the control groups of the server.
    Squeeze(ServerSqueeze),
}

impl Perturbation {
    /// The slice that it is compared with; none for one without a perturbation.
    pub fn plain(&self) -> Option<Self> {
        match self {
            Self::Delay { call, operation, .. } => {
                Some(Self::Delay { call: *call, share: 0.0, operation: *operation })
            }
            Self::Connections { .. } => Some(Self::Connections { share: 1.0 }),
            Self::Burn { .. } | Self::Knob { .. } | Self::Squeeze(_) => None,
        }
    }

    /// The same perturbation with half of its dose. None where half of the dose needs another server, or is the same.
    pub(crate) fn half(&self, connections: u32) -> Option<Self> {
        match self {
            Self::Burn { cpus, share } => Some(Self::Burn { cpus: cpus.clone(), share: share / 2.0 }),
            Self::Connections { share } => {
                let all = f64::from(connections);
                let half = f64::midpoint(1.0, *share);
                let is_another = (half * all).round() > (share * all).round() && (half * all).round() < all;
                is_another.then_some(Self::Connections { share: half })
            }
            Self::Knob { .. } | Self::Delay { .. } | Self::Squeeze(_) => None,
        }
    }

    /// The share of the resource that its slice had, of that of a plain one; 1 where it is not known to have changed.
    ///
    /// Memory is worth what need not be read again. Where most of the data is not in memory, less memory adds few reads, but each
    /// operation waits for those that there are. So the resource is operations for each page that is read again.
    pub(crate) fn left(&self, plain: &SliceReading, perturbed: &SliceReading) -> f64 {
        match self {
            Self::Squeeze(ServerSqueeze::Memory { .. }) => {
                let refaults = plain.refaults_per_operation().zip(perturbed.refaults_per_operation());
                let left = refaults.map(|(plain, perturbed)| plain / perturbed);
                left.filter(|left| left.is_finite()).unwrap_or(1.0)
            }
            _ => perturbed.resource_left / plain.resource_left,
        }
    }
}

/// What a slice reports. Times and counts are of the slice alone, without its beginning and end.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceReading {
    /// Operations that ended, failed ones included.
    pub operations: u64,
    /// Operations that failed.
    pub failed: u64,
    /// Length of the slice, seconds.
    pub length_s: f64,
    /// Operations that succeeded, per second.
    pub throughput_per_s: f64,
    /// Mean response time, seconds.
    pub mean_response_s: f64,
    /// Connections in use.
    pub connections: u32,
    /// The share of the perturbed resource that was left, as measured: 1 in a plain slice, 0.85 where a burner took 15 % of
    /// the CPUs' time or where 85 of 100 connections were used.
    pub resource_left: f64,
    /// Share of its cores that the client used, 0 to 1; none where the program under test makes its own load.
    pub client_utilisation: Option<f64>,
    /// CPU time of the server, seconds.
    pub server_cpu_s: f64,
    /// Telemetry of the server's machine during the slice; the server's columns begin with `server.`. At 10 Hz or so.
    pub telemetry: Recording,
    /// What the server says of itself, by the names of its workload.
    pub statistics: BTreeMap<String, ObservedChange>,
    /// Why the server's statistics could not be read; none where they were, or where there are none.
    pub statistics_problem: Option<String>,
    /// What its threads waited for; none where they were not sampled.
    pub threads: Option<ThreadStates>,
}

impl SliceReading {
    /// Pages that were read again for each operation, because memory had not kept them. None where the kernel does not count them.
    fn refaults_per_operation(&self) -> Option<f64> {
        let per_s = self.telemetry.mean("memory.refaults", 0..=u64::MAX)?;
        Some(per_s * self.length_s / self.operations as f64)
    }
}

/// Why a slice has no reading.
#[derive(Debug, thiserror::Error)]
pub enum LoopError {
    /// The server has ended.
    #[error("the server ended while it was studied: {0}: see its log")]
    ServerEnded(String),
    /// No operation ended in the first slice.
    #[error("no operation ended in a whole slice: give longer slices, or see the server's log")]
    NoOperation,
    /// A slice needs a second server, which was not started.
    #[error("the second server was not started")]
    NotPrepared,
    /// The user interrupted the study.
    #[error("interrupted")]
    Interrupted,
    /// The load or a reading failed.
    #[error(transparent)]
    Failed(Box<dyn std::error::Error + Send + Sync>),
}
