//! Waits of threads, with their stacks: for what, for how long, and who ends them.
//!
//! | who | what is seen |
//! |---|---|
//! | may see the whole machine (root) | each switch with its time; stacks of every n-th, of the program and the kernel; with tracefs the thread that ends a wait, with its stack |
//! | anybody else | the time of each thread off its CPU from the scheduler; samples of the stacks of waiting threads divide it |
//!
//! Watching ends by itself where it costs more than a share of a CPU. Waits for work are told apart from those within it.

mod activity;
mod finish;
mod journal;
mod kinds;
mod options;
mod result;
mod samples;
mod snapshot;
mod stack_table;
mod switch_events;
mod switches;
mod tally;
mod tracepoints;
mod tracker;
mod traffic_events;

use std::sync::atomic::AtomicBool;

pub use self::activity::{
    Activity, ActivityPlace, ThreadActivity, ThreadSpan, ThreadState, ThreadWait, Transfer,
};
pub use self::options::WaitSamplerOptions;
pub use self::result::{WaitSource, WaitStack, Waits, Waker, WakerKind};
use self::switch_events::SwitchEvents;
use self::traffic_events::TrafficEvents;
use crate::background::{Background, Started, ended};
use crate::kernel_events::refusal;
use crate::{ProcessSet, ProfileError};

/// Watches waits until it is stopped or dropped, on a thread that inherits the CPUs of its creator.
#[derive(Debug)]
pub struct WaitSampler(Background<Option<Waits>>);

impl WaitSampler {
    /// Starts to watch the processes and those that they start. It watches when this returns.
    pub fn start(processes: ProcessSet, options: &WaitSamplerOptions) -> Result<Self, ProfileError> {
        let options = options.corrected();
        Background::start("waits", move |stop, started| watch(&processes, &options, stop, started)).map(Self)
    }

    /// Ends watching, and finds the names of the functions, which can take longer than a second for a large server.
    pub fn stop(self) -> Result<Waits, ProfileError> {
        self.0.stop()?.ok_or_else(ended)
    }
}

/// None without processes.
fn watch(
    processes: &ProcessSet,
    options: &WaitSamplerOptions,
    stop: &AtomicBool,
    started: &Started,
) -> Option<Waits> {
    if processes.now().is_empty() {
        started.tell(Err(ProfileError::NoProcesses));
        return None;
    }
    if !options.use_records {
        return Some(samples::watch(processes, "switches were not recorded", stop, || started.tell(Ok(()))));
    }
    match SwitchEvents::open(options.cpus.as_ref()) {
        Ok(events) => {
            let tell = || started.tell(Ok(()));
            Some(switches::watch(processes, options, events, None, stop, tell).0)
        }
        Err(error) => {
            let (reason, remedy) = refusal(&error);
            let why = format!("switches cannot be recorded: {reason}: {remedy}");
            Some(samples::watch(processes, &why, stop, || started.tell(Ok(()))))
        }
    }
}

/// Watches what threads do and which connections they serve, instant by instant, until it is stopped or dropped. Only who may see
/// the whole machine can.
#[derive(Debug)]
pub struct ActivitySampler(Background<Option<Activity>>);

impl ActivitySampler {
    /// Starts to watch the processes, which listen at these ports, and those that they start. It watches when this returns.
    pub fn start(
        processes: ProcessSet,
        options: &WaitSamplerOptions,
        ports: &[u16],
    ) -> Result<Self, ProfileError> {
        let (options, ports) = (options.corrected(), ports.to_vec());
        let work = move |stop: &AtomicBool, started: &Started| {
            if processes.now().is_empty() {
                started.tell(Err(ProfileError::NoProcesses));
                return None;
            }
            let events = SwitchEvents::open(options.cpus.as_ref()).map_err(|error| {
                let (reason, remedy) = refusal(&error);
                format!("{reason}: {remedy}")
            });
            let all =
                events.and_then(|events| Ok((events, TrafficEvents::open(options.cpus.as_ref(), &ports)?)));
            match all {
                Ok((events, traffic)) => {
                    let tell = || started.tell(Ok(()));
                    switches::watch(&processes, &options, events, Some(&traffic), stop, tell).1
                }
                Err(why) => {
                    started.tell(Err(ProfileError::NoRecords(why)));
                    None
                }
            }
        };
        Background::start("activity", work).map(Self)
    }

    /// Ends watching, and finds the names of the functions.
    pub fn stop(self) -> Result<Activity, ProfileError> {
        self.0.stop()?.ok_or_else(ended)
    }
}
