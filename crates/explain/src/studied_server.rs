//! A server of a plan as a study sees it: what each slice is made of. The server and its load are `bakeoff`'s.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bakeoff::StudyError;
use bakeoff::study_server::StudyServer;
use host::CpuSet;
use machine::{MachineError, Sampling, ServerObserver};
use profile::ThreadSamplerOptions;
use workload::{ObservedChange, ObservedValue, TypedValue};

use crate::delays::{self, Delay, Delayed, DelayedCall, Delays};
use crate::perturbable_loop::{LoopError, LoopFacts, PerturbableLoop, Perturbation, SliceReading};

/// How often telemetry is read: a slice of a second has ten readings.
const TELEMETRY_PERIOD: Duration = Duration::from_millis(100);

/// How often the server's own statistics are read.
const OBSERVATION_PERIOD: Duration = Duration::from_millis(250);

/// New connections are loaded for this long before they are measured: windows grow, and threads take their connections.
const AFTER_CONNECTING: Duration = Duration::from_millis(300);

/// Memory or a disk with another user is loaded for this long before it is measured, and again without that user: what a server
/// has in memory follows slowly.
const AFTER_SQUEEZING: Duration = Duration::from_secs(1);

/// Least and most time by which a lock is kept locked for longer.
const SHORTEST_LOCK: Duration = Duration::from_micros(1);
const LONGEST_LOCK: Duration = Duration::from_millis(50);

/// After this number of slices in a row in which the server did not answer, its statistics are not asked for any more: each
/// time takes seconds.
const MOST_UNANSWERED: u32 = 2;

/// A server of a plan that is studied.
pub struct StudiedServer<'s, 'a> {
    /// The server with its load.
    server: &'s mut StudyServer<'a>,
    /// The CPUs of the client.
    client_cpus: &'s CpuSet,
    /// Whether it is asked what it says of itself.
    is_observed: bool,
    /// The slices in a row in which it did not answer, and why.
    unanswered: (u32, Option<String>),
    /// Servers like it but for the value of a knob.
    others: BTreeMap<(String, i64), StudyServer<'a>>,
    /// A server like it whose calls can be delayed.
    delayed: Option<(StudyServer<'a>, Delays)>,
}

impl<'s, 'a> StudiedServer<'s, 'a> {
    /// A server with its load, and the CPUs of its client.
    pub fn new(server: &'s mut StudyServer<'a>, client_cpus: &'s CpuSet) -> Self {
        let (unanswered, others) = ((0, None), BTreeMap::new());
        Self { server, client_cpus, is_observed: true, unanswered, others, delayed: None }
    }

    /// The same without its own statistics, for slices of experiments: plain slices have had them.
    #[must_use]
    pub fn unobserved(self) -> Self {
        Self { is_observed: false, ..self }
    }

    /// Begins to read what the server says of itself, if it answers.
    fn observe(&self) -> Result<Option<Observing>, LoopError> {
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

impl From<StudyError> for LoopError {
    fn from(error: StudyError) -> Self {
        match error {
            StudyError::Interrupted => Self::Interrupted,
            StudyError::Ended { source, .. } => Self::ServerEnded(source.to_string()),
            error @ StudyError::Failed { .. } => Self::Failed(Box::new(error)),
        }
    }
}

impl From<MachineError> for LoopError {
    fn from(error: MachineError) -> Self {
        Self::Failed(Box::new(error))
    }
}

impl PerturbableLoop for StudiedServer<'_, '_> {
    fn facts(&self) -> LoopFacts {
        LoopFacts {
            variant: self.server.name.clone(),
            connections: self.server.connections(),
            makes_own_load: self.server.makes_own_load(),
            mean_delay_s: self.server.mean_delay_s(),
            server_cpus: self.server.cpus.clone(),
            client_cpus: Some(self.client_cpus.clone()),
            is_root: rustix::process::geteuid().is_root(),
            knobs: self.server.resource_knobs().unwrap_or_default(),
            can_be_probed: self.server.can_be_probed(),
        }
    }

    fn prepare(&mut self, perturbation: &Perturbation) -> Result<(), LoopError> {
        match perturbation {
            Perturbation::Knob { name, to, .. } => {
                if let Entry::Vacant(entry) = self.others.entry((name.clone(), *to)) {
                    entry.insert(self.server.with_knob(name, TypedValue::Integer(*to), &mut |_| ())?);
                }
            }
            Perturbation::Delay { .. } if self.delayed.is_none() => {
                let delays = Delays::create().map_err(|error| LoopError::Failed(error.into()))?;
                let (library, file) = (delays.library(), delays.file());
                let server = self.server.with_library(&library, &[(delays::VARIABLE, &file)], &mut |_| ())?;
                self.delayed = Some((server, delays));
            }
            // Whether it can be taken is known before the first slice, and files that are read from are there.
            Perturbation::Squeeze(squeeze) => drop(self.server.squeeze(*squeeze)?.stop()?),
            Perturbation::Delay { .. } | Perturbation::Burn { .. } | Perturbation::Connections { .. } => {}
        }
        Ok(())
    }

    fn restart(&mut self, needed: &[Perturbation]) -> Result<(), LoopError> {
        // Second servers are other starts, too.
        self.others.clear();
        self.delayed = None;
        self.server.restart(&mut |_| ())?;
        needed.iter().try_for_each(|perturbation| self.prepare(perturbation))
    }

    fn slice(
        &mut self,
        perturbation: Option<&Perturbation>,
        length: Duration,
    ) -> Result<SliceReading, LoopError> {
        let observing = if perturbation.is_none() { self.observe()? } else { None };
        let mut delays = None;
        let server = match perturbation {
            Some(Perturbation::Knob { name, to, .. }) => match self.others.get_mut(&(name.clone(), *to)) {
                Some(server) => server,
                None => return Err(LoopError::NotPrepared),
            },
            Some(Perturbation::Delay { .. }) => match &mut self.delayed {
                Some((server, its)) => {
                    delays = Some(&*its);
                    server
                }
                None => return Err(LoopError::NotPrepared),
            },
            Some(Perturbation::Burn { .. } | Perturbation::Connections { .. } | Perturbation::Squeeze(_))
            | None => &mut *self.server,
        };
        let (whole, makes_own_load) = (server.connections(), server.makes_own_load());
        let connections = match perturbation {
            Some(Perturbation::Connections { share }) => {
                ((f64::from(whole) * share).round() as u32).clamp(1, whole)
            }
            _ => whole,
        };
        let are_new = if matches!(perturbation, Some(Perturbation::Connections { .. })) {
            server.reconnect(connections);
            true
        } else {
            server.connect(connections)
        };
        if are_new {
            server.slice(AFTER_CONNECTING, &mut |_| ())?;
        }
        let taking = match perturbation {
            Some(Perturbation::Burn { cpus, share }) => Taking::Burner(server.burn(cpus, *share)?),
            Some(Perturbation::Knob { from, to, .. }) => Taking::Share(*to as f64 / *from as f64),
            Some(Perturbation::Squeeze(squeeze)) => {
                let squeezer = server.squeeze(*squeeze)?;
                server.slice(AFTER_SQUEEZING, &mut |_| ())?;
                Taking::Squeezer(squeezer)
            }
            Some(Perturbation::Delay { call, share, operation }) if let Some(delays) = delays => {
                Taking::delay(delays, *call, *share, *operation)?
            }
            _ => Taking::Share(f64::from(connections) / f64::from(whole)),
        };
        // Where threads cannot be sampled, what they wait for is unknown, and the rest goes on.
        let threads = server.sample_threads(&ThreadSamplerOptions::default()).ok();
        let recorder = server.record(TELEMETRY_PERIOD)?;
        let slice = server.slice(length, &mut |_| ());
        let telemetry = recorder.stop()?;
        let threads = threads.and_then(|threads| threads.stop().ok());
        let operations = slice.as_ref().map_or(0, |slice| slice.whole_operations);
        let is_squeezed = matches!(taking, Taking::Squeezer(_));
        let resource_left = taking.left(operations)?;
        if is_squeezed && slice.is_ok() {
            // What was taken from it comes back in time.
            server.slice(AFTER_SQUEEZING, &mut |_| ())?;
        }
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
            client_utilisation: (!makes_own_load).then_some(slice.client_utilisation),
            server_cpu_s: slice.server_cpu().as_secs_f64(),
            telemetry,
            statistics,
            statistics_problem: self.unanswered.1.clone(),
            threads,
        })
    }
}

/// How a resource is taken during a slice.
enum Taking<'d> {
    /// This share of it is left, by its nature.
    Share(f64),
    /// A burner takes CPU time, which it measures.
    Burner(Box<dyn Sampling<f64>>),
    /// Another program takes memory or a disk's time, which it measures.
    Squeezer(Box<dyn Sampling<f64>>),
    /// Calls take longer, which the library counts; operations have this time in plain slices.
    Delays(&'d Delays, DelayedCall, Delayed, Duration),
}

impl<'d> Taking<'d> {
    /// Begins to delay calls, so that this share less of their speed is left.
    fn delay(
        delays: &'d Delays,
        call: DelayedCall,
        share: f64,
        operation: Duration,
    ) -> Result<Self, LoopError> {
        // A share less of the speed is more of the time.
        let more = share / (1.0 - share);
        let delay = match call {
            _ if share <= 0.0 => Delay::None,
            DelayedCall::Unlock => Delay::Time(operation.mul_f64(more).clamp(SHORTEST_LOCK, LONGEST_LOCK)),
            DelayedCall::Flush | DelayedCall::Sleep | DelayedCall::Lookup => Delay::Share(more),
        };
        let begin = delays.set(call, delay).and_then(|()| delays.done(call));
        Ok(Self::Delays(delays, call, begin.map_err(|error| LoopError::Failed(error.into()))?, operation))
    }

    /// Ends, and says what was left in a slice of so many operations.
    fn left(self, operations: u64) -> Result<f64, LoopError> {
        match self {
            Self::Share(left) => Ok(left),
            Self::Burner(burner) => Ok(burner.stop()?),
            Self::Squeezer(squeezer) => Ok(squeezer.stop()?),
            Self::Delays(delays, call, begin, operation) => {
                let done = delays.done(call).and_then(|done| delays.set(call, Delay::None).map(|()| done));
                let done = done.map_err(|error| LoopError::Failed(error.into()))?;
                Ok(match call {
                    DelayedCall::Unlock => done.lock_left(begin, operations, operation),
                    DelayedCall::Flush | DelayedCall::Sleep | DelayedCall::Lookup => done.speed_left(begin),
                })
            }
        }
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
