//! The kernel's events: samples of CPU time, and what changes in processes.
//!
//! Who may see all processes opens one event for each CPU: a process that starts during the profile is in it from its first
//! instruction, and nothing is set up at each context switch. An ordinary user opens one event for each thread.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use host::{CpuSet, Host};
use perf_event_open::config::{Cpu, Opts, Proc, SampleOn, Target};
use perf_event_open::count::Counter;
use perf_event_open::event::hw::Hardware;
use perf_event_open::event::sw::Software;
use perf_event_open::sample::record::Record;

use crate::ProfileError;
use crate::kernel_events::{
    KERNEL_CHAIN, KernelEvent, MACHINE_BUFFERS, ProcessChange, ThreadSample, process_changes, read_sample,
    refusal, with_user_stacks,
};
use crate::stacks::SampleSource;
use crate::threads::read::threads_of;

/// How CPU time is sampled.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuSamplerOptions {
    /// Samples of each CPU a second, 1 to 2000. The default 99 is not in step with work that is done each 10 ms.
    pub samples_per_s: u32,
    /// Bytes of each stack that are copied, a multiple of 8 up to 56 KiB. The default is 32 KiB: a function of memcached has a
    /// buffer of 16 KiB on its stack. An ordinary user's buffers are small, and get half of the default at most.
    pub stack_bytes: u32,
    /// The CPUs on which the processes run. None: all.
    pub cpus: Option<CpuSet>,
}

impl Default for CpuSamplerOptions {
    fn default() -> Self {
        Self { samples_per_s: 99, stack_bytes: 32 << 10, cpus: None }
    }
}

impl CpuSamplerOptions {
    /// With values that the kernel accepts.
    pub(super) fn corrected(&self) -> Self {
        Self {
            samples_per_s: self.samples_per_s.clamp(1, 2000),
            stack_bytes: self.stack_bytes.clamp(8, 56 << 10) & !7,
            cpus: self.cpus.clone(),
        }
    }
}

/// Sizes of a thread's buffer: all buffers of an ordinary user together have 516 KiB a CPU and the limit of locked memory.
const THREAD_BUFFERS: [u8; 4] = [7, 6, 5, 4];

/// The shares of all samples that each of a CPU's timers takes. One timer alone is in step with threads that sleep: its
/// interrupt also wakes who is due within the next 50 µs (`timerslack_ns`), and they have run before it comes again. Between
/// these is no common period, so that one of them comes while a thread runs that another one has woken.
const TIMERS: [f64; 5] = [0.158, 0.178, 0.194, 0.207, 0.263];

/// Sizes of the buffer of one timer of a CPU: a fifth of the samples.
const TIMER_BUFFERS: [u8; 4] = [8, 7, 6, 5];

/// Most bytes of a stack for an ordinary user: the smallest buffer has room for four samples.
const THREAD_STACK: u32 = 16 << 10;

/// What the kernel reports.
#[derive(Debug)]
pub(super) enum Event {
    Sample(ThreadSample),
    Changed(ProcessChange),
}

/// Open events.
pub(super) struct Events {
    scope: Scope,
    options: Opts,
    pub source: SampleSource,
    pub has_kernel: bool,
    /// Bytes of a stack that the kernel copies.
    pub stack_bytes: u32,
    /// Threads that could not be sampled.
    pub missed_threads: u64,
}

enum Scope {
    Machine(Vec<KernelEvent>),
    Threads(HashMap<u32, KernelEvent>),
}

/// Opens the counter of CPU time.
fn counter(source: SampleSource, options: &Opts, target: impl Into<Target>) -> io::Result<Counter> {
    match source {
        SampleSource::Cycles => Counter::new(Hardware::CpuCycle, target, options),
        _ => Counter::new(Software::CpuClock, target, options),
    }
}

/// Opens an event of CPU time.
fn open(
    source: SampleSource,
    options: &Opts,
    target: impl Into<Target>,
    sizes: &[u8],
) -> io::Result<KernelEvent> {
    KernelEvent::with_buffer(counter(source, options, target)?, sizes)
}

/// Reads what an event has reported.
fn drain(event: &KernelEvent, handle: &mut impl FnMut(Event)) {
    for (_, record) in event.buffer.iter().into_iter().flatten() {
        match record {
            Record::Sample(sample) => handle(Event::Sample(read_sample(*sample))),
            record => process_changes(record).map(Event::Changed).for_each(&mut *handle),
        }
    }
}

fn event_options(options: &CpuSamplerOptions, has_kernel: bool) -> Opts {
    let mut opts = with_user_stacks(Opts::default(), options.stack_bytes);
    opts.exclude.kernel = !has_kernel;
    opts.exclude.hv = !has_kernel;
    opts.exclude.idle = true;
    opts.sample_on = SampleOn::Freq(u64::from(options.samples_per_s));
    opts.record_id_format.task = true;
    if has_kernel {
        opts.sample_format.call_chain = Some(KERNEL_CHAIN);
    }
    opts.extra_record.task = true;
    opts.extra_record.comm = true;
    opts
}

impl Events {
    /// Opens events of whatever this user may see. They do not count yet.
    pub(super) fn open(options: &CpuSamplerOptions, pids: &[u32]) -> Result<Self, ProfileError> {
        for (source, has_kernel) in [(SampleSource::Cycles, true), (SampleSource::CpuClock, true)] {
            let opts = event_options(options, has_kernel);
            if let Ok(events) = machine_wide(source, &opts, options) {
                return Ok(Self {
                    scope: Scope::Machine(events),
                    options: opts,
                    source,
                    has_kernel,
                    stack_bytes: options.stack_bytes,
                    missed_threads: 0,
                });
            }
        }
        let mut failure = None;
        for (source, has_kernel) in [
            (SampleSource::Cycles, true),
            (SampleSource::CpuClock, true),
            (SampleSource::Cycles, false),
            (SampleSource::CpuClock, false),
        ] {
            let options = options.clone();
            let options = CpuSamplerOptions { stack_bytes: options.stack_bytes.min(THREAD_STACK), ..options };
            let mut events = Self {
                scope: Scope::Threads(HashMap::new()),
                options: event_options(&options, has_kernel),
                source,
                has_kernel,
                stack_bytes: options.stack_bytes,
                missed_threads: 0,
            };
            match events.add_threads(pids) {
                Ok(()) => return Ok(events),
                Err(error) => failure = Some(error),
            }
        }
        Err(failure.map_or(ProfileError::NoProcesses, |error| {
            let (reason, remedy) = refusal(&error);
            ProfileError::Refused { reason, remedy }
        }))
    }

    /// Begins to sample.
    pub(super) fn enable(&self) {
        self.each(|event| drop(event.counter.enable()));
    }

    /// Ends sampling; what is in the buffers can still be read.
    pub(super) fn disable(&self) {
        self.each(|event| drop(event.counter.disable()));
    }

    fn each(&self, act: impl Fn(&KernelEvent)) {
        match &self.scope {
            Scope::Machine(events) => events.iter().for_each(act),
            Scope::Threads(events) => events.values().for_each(act),
        }
    }

    /// Reads what the kernel has reported since the last time.
    pub(super) fn drain(&self, handle: &mut impl FnMut(Event)) {
        match &self.scope {
            Scope::Machine(events) => events.iter().for_each(|event| drain(event, handle)),
            Scope::Threads(events) => events.values().for_each(|event| drain(event, handle)),
        }
    }

    /// Follows the processes: opens events of threads that are new, and closes those of threads that have ended.
    pub(super) fn follow(&mut self, pids: &[u32]) {
        // Another error than at the start concerns single threads, which are counted.
        let _ = self.add_threads(pids);
    }

    fn add_threads(&mut self, pids: &[u32]) -> io::Result<()> {
        let Scope::Threads(events) = &mut self.scope else { return Ok(()) };
        let threads: Vec<u32> = pids.iter().flat_map(|pid| threads_of(*pid)).collect();
        events.retain(|tid, _| threads.contains(tid));
        let is_first = events.is_empty();
        // The first threads must leave room for the others.
        let sizes =
            &THREAD_BUFFERS[threads.len().checked_ilog2().map_or(0, |size| (size as usize / 2).min(2))..];
        let (mut failure, mut missed) = (None, 0);
        for tid in threads {
            if events.contains_key(&tid) {
                continue;
            }
            match open(self.source, &self.options, (Proc(tid), Cpu::ALL), sizes) {
                Ok(event) => {
                    if !is_first {
                        let _ = event.counter.enable();
                    }
                    events.insert(tid, event);
                }
                // It has ended meanwhile.
                Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {}
                Err(error) => {
                    missed += 1;
                    failure = Some(error);
                }
            }
        }
        self.missed_threads = self.missed_threads.max(missed);
        match failure {
            Some(error) if events.is_empty() => Err(error),
            _ => Ok(()),
        }
    }
}

/// Events of all processes on each CPU: one of the cycle counter, which is in step with nothing, or several timers.
fn machine_wide(
    source: SampleSource,
    opts: &Opts,
    options: &CpuSamplerOptions,
) -> io::Result<Vec<KernelEvent>> {
    let online = Host::local().online_cpus();
    let cpus = options.cpus.as_ref().unwrap_or(&online);
    if source == SampleSource::Cycles {
        return KernelEvent::on_each(cpus, &MACHINE_BUFFERS, |target| counter(source, opts, target));
    }
    let mut events = Vec::new();
    for (at, share) in TIMERS.into_iter().enumerate() {
        let mut opts = opts.clone();
        let period = Duration::from_secs_f64(1.0 / (share * f64::from(options.samples_per_s)));
        opts.sample_on = SampleOn::Count(period.as_nanos() as u64);
        // One of them is enough to report what changes in processes.
        opts.extra_record.task &= at == 0;
        opts.extra_record.comm &= at == 0;
        events.extend(KernelEvent::on_each(cpus, &TIMER_BUFFERS, |target| counter(source, &opts, target))?);
    }
    Ok(events)
}

/// What can be tried without a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trial {
    /// Code of this process, without the kernel.
    OwnUserCode,
    /// Code of the kernel: of all programs, or of this process.
    Kernel,
    /// The cycle counter.
    Counters,
}

/// Opens an event and closes it again.
pub(crate) fn attempt(trial: Trial) -> io::Result<()> {
    let options = CpuSamplerOptions { stack_bytes: 64, ..CpuSamplerOptions::default() };
    let (own, opts) = ((Proc::CURRENT, Cpu::ALL), event_options(&options, false));
    match trial {
        Trial::OwnUserCode => open(SampleSource::CpuClock, &opts, own, &THREAD_BUFFERS).map(drop),
        Trial::Counters => open(SampleSource::Cycles, &opts, own, &THREAD_BUFFERS).map(drop),
        Trial::Kernel => {
            let opts = event_options(&options, true);
            let of_own = || open(SampleSource::CpuClock, &opts, own, &THREAD_BUFFERS).map(drop);
            machine_wide(SampleSource::CpuClock, &opts, &options).map(drop).or_else(|_| of_own())
        }
    }
}
