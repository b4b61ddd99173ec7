//! A server of a plan as a study sees it: what each slice is made of. The server and its load are `bakeoff`'s.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bakeoff::HeldError;
use bakeoff::held::HeldServer as LoadedServer;
use host::CpuSet;
use machine::{MachineError, ServerObserver};
use profile::ThreadSamplerOptions;
use workload::{ObservedChange, ObservedValue, TypedValue};

use crate::held_server::{HeldServer, HoldError, LoopFacts, Perturbation, SliceReading};

/// How often telemetry is read: a slice of a second has ten readings.
const TELEMETRY_PERIOD: Duration = Duration::from_millis(100);

/// How often the server's own statistics are read.
const OBSERVATION_PERIOD: Duration = Duration::from_millis(250);

/// New connections are loaded for this long before they are measured: windows grow, and threads take their connections.
const AFTER_CONNECTING: Duration = Duration::from_millis(300);

/// After this number of slices in a row in which the server did not answer, its statistics are not asked for any more: each
/// time takes seconds.
const MOST_UNANSWERED: u32 = 2;

/// A server of a plan that is studied.
pub struct StudiedServer<'s, 'a> {
    /// The server with its load.
    server: &'s mut LoadedServer<'a>,
    /// The CPUs of the client.
    client_cpus: &'s CpuSet,
    /// Whether it is asked what it says of itself.
    is_observed: bool,
    /// The slices in a row in which it did not answer, and why.
    unanswered: (u32, Option<String>),
    /// Servers like it but for the value of a knob.
    others: BTreeMap<(String, i64), LoadedServer<'a>>,
}

impl<'s, 'a> StudiedServer<'s, 'a> {
    /// A server with its load, and the CPUs of its client.
    pub fn new(server: &'s mut LoadedServer<'a>, client_cpus: &'s CpuSet) -> Self {
        let (unanswered, others) = ((0, None), BTreeMap::new());
        Self { server, client_cpus, is_observed: true, unanswered, others }
    }

    /// The same without its own statistics, for slices of experiments: plain slices have had them.
    #[must_use]
    pub fn unobserved(self) -> Self {
        Self { is_observed: false, ..self }
    }

    /// Begins to read what the server says of itself, if it answers.
    fn observe(&self) -> Result<Option<Observing>, HoldError> {
        if !self.is_observed || self.unanswered.0 >= MOST_UNANSWERED {
            return Ok(None);
        }
        Ok(self.server.observer()?.map(Observing::begin))
    }

    /// What the server has said of itself.
    fn observed(&mut self, observing: Option<Observing>) -> BTreeMap<String, ObservedChange> {
        let Some(observing) = observing else { return BTreeMap::new() };
        let (statistics, problem) = observing.end();
        self.unanswered = match problem {
            None => (0, None),
            problem => (self.unanswered.0 + 1, problem),
        };
        statistics
    }
}

impl From<HeldError> for HoldError {
    fn from(error: HeldError) -> Self {
        match error {
            HeldError::Interrupted => Self::Interrupted,
            HeldError::Ended { source, .. } => Self::ServerEnded(source.to_string()),
            error @ HeldError::Failed { .. } => Self::Failed(Box::new(error)),
        }
    }
}

impl From<MachineError> for HoldError {
    fn from(error: MachineError) -> Self {
        Self::Failed(Box::new(error))
    }
}

impl HeldServer for StudiedServer<'_, '_> {
    fn facts(&self) -> LoopFacts {
        LoopFacts {
            variant: self.server.name.clone(),
            connections: self.server.connections(),
            server_cpus: self.server.cpus.clone(),
            client_cpus: Some(self.client_cpus.clone()),
            is_root: rustix::process::geteuid().is_root(),
            knobs: self.server.resource_knobs().unwrap_or_default(),
            can_burn: true,
        }
    }

    fn slice(
        &mut self,
        perturbation: Option<&Perturbation>,
        length: Duration,
    ) -> Result<SliceReading, HoldError> {
        let observing = if perturbation.is_none() { self.observe()? } else { None };
        let server = match perturbation {
            Some(Perturbation::Knob { name, to, .. }) => match self.others.entry((name.clone(), *to)) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => {
                    entry.insert(self.server.beside(name, TypedValue::Integer(*to), &mut |_| ())?)
                }
            },
            Some(Perturbation::Burn { .. } | Perturbation::Connections { .. }) | None => &mut *self.server,
        };
        let whole = server.connections();
        let connections = match perturbation {
            Some(Perturbation::Connections { share }) => {
                ((f64::from(whole) * share).round() as u32).clamp(1, whole)
            }
            Some(Perturbation::Burn { .. } | Perturbation::Knob { .. }) | None => whole,
        };
        if server.connect(connections) {
            server.slice(AFTER_CONNECTING, &mut |_| ())?;
        }
        let burner = match perturbation {
            Some(Perturbation::Burn { cpus, share }) => Some(server.burn(cpus, *share)?),
            Some(Perturbation::Connections { .. } | Perturbation::Knob { .. }) | None => None,
        };
        // Where threads cannot be sampled, what they wait for is unknown, and the rest goes on.
        let threads = server.sample_threads(&ThreadSamplerOptions::default()).ok();
        let recorder = server.record(TELEMETRY_PERIOD)?;
        let slice = server.slice(length, &mut |_| ());
        let telemetry = recorder.stop()?;
        let threads = threads.and_then(|threads| threads.stop().ok());
        let resource_left = match (burner, perturbation) {
            (Some(burner), _) => burner.stop()?.left(),
            (None, Some(Perturbation::Knob { from, to, .. })) => *to as f64 / *from as f64,
            (None, _) => f64::from(connections) / f64::from(whole),
        };
        let statistics = self.observed(observing);
        let slice = slice?;
        Ok(SliceReading {
            operations: slice.operations,
            failed: slice.failed,
            length_s: slice.length.as_secs_f64(),
            throughput_per_s: slice.throughput_per_s,
            mean_response_s: slice.mean_response.as_secs_f64(),
            connections,
            resource_left,
            client_utilisation: Some(slice.client_utilisation),
            server_cpu_s: slice.server_cpu().as_secs_f64(),
            telemetry,
            statistics,
            statistics_problem: self.unanswered.1.clone(),
            threads,
        })
    }
}

/// Reads what a server says of itself, at once and then once a period, until the slice ends or the server does not answer.
struct Observing {
    has_ended: mpsc::Sender<()>,
    thread: JoinHandle<(Vec<Vec<ObservedValue>>, Option<String>)>,
}

impl Observing {
    fn begin(observer: Box<dyn ServerObserver>) -> Self {
        let (has_ended, end) = mpsc::channel();
        let thread = thread::spawn(move || {
            let mut readings = Vec::new();
            let mut is_last = false;
            loop {
                // Not asked again: a server at its capacity may not answer, and waiting for it would lengthen the slice.
                match observer.read() {
                    Ok(reading) => readings.push(reading),
                    Err(error) => return (readings, Some(error.to_string())),
                }
                if is_last {
                    return (readings, None);
                }
                is_last = end.recv_timeout(OBSERVATION_PERIOD) != Err(RecvTimeoutError::Timeout);
            }
        });
        Self { has_ended, thread }
    }

    /// The changes of the values, and why the server did not answer, if so.
    fn end(self) -> (BTreeMap<String, ObservedChange>, Option<String>) {
        let _ = self.has_ended.send(());
        let (readings, problem) = self.thread.join().unwrap_or_default();
        (workload::observed_over(&readings), problem)
    }
}
