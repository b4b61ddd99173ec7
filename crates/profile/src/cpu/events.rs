//! The kernel's events: samples of CPU time, and what changes in processes.
//!
//! Who may see all processes opens one event for each CPU: a process that starts during the profile is in it from its first
//! instruction, and nothing is set up at each context switch. An ordinary user opens one event for each thread.

use std::collections::HashMap;
use std::fs;
use std::io::{self, ErrorKind};

use host::CpuSet;
use perf_event_open::config::{CallChain, Cpu, Opts, Proc, RegsMask, SampleOn, Size};
use perf_event_open::count::Counter;
use perf_event_open::event::hw::Hardware;
use perf_event_open::event::sw::Software;
use perf_event_open::sample::Sampler;
use perf_event_open::sample::record::Record;
use perf_event_open::sample::record::sample::{Abi, CallChain as RecordedChain, Sample};

use super::options::CpuSamplerOptions;
use crate::ProfileError;
use crate::code::address_space::Registers;
use crate::stacks::SampleSource;

/// Sizes of a CPU's buffer as powers of two of pages, the best first.
pub(crate) const MACHINE_BUFFERS: [u8; 5] = [10, 9, 8, 7, 5];

/// Sizes of a thread's buffer: all buffers of an ordinary user together have 516 KiB a CPU and the limit of locked memory.
const THREAD_BUFFERS: [u8; 4] = [7, 6, 5, 4];

/// Most bytes of a stack for an ordinary user: the smallest buffer has room for four samples.
const THREAD_STACK: u32 = 16 << 10;

/// Where registers are in a sample: in ascending order of their bits in `asm/perf_regs.h`.
#[cfg(target_arch = "x86_64")]
mod registers {
    pub(super) const MASK: u64 = 1 << 6 | 1 << 7 | 1 << 8;
    pub(super) const FRAME: usize = 0;
    pub(super) const STACK: usize = 1;
    pub(super) const INSTRUCTION: usize = 2;
    pub(super) const LINK: Option<usize> = None;
}
#[cfg(target_arch = "aarch64")]
mod registers {
    pub(super) const MASK: u64 = 1 << 29 | 1 << 30 | 1 << 31 | 1 << 32;
    pub(super) const FRAME: usize = 0;
    pub(super) const LINK: Option<usize> = Some(1);
    pub(super) const STACK: usize = 2;
    pub(super) const INSTRUCTION: usize = 3;
}

/// A sample of a thread.
#[derive(Debug)]
pub(crate) struct CpuSample {
    pub pid: u32,
    pub tid: u32,
    /// The kernel's functions, innermost first.
    pub kernel: Vec<u64>,
    /// Registers in user mode, and a copy of the stack. None for a 32-bit program.
    pub user: Option<(Registers, Vec<u8>)>,
}

/// What the kernel reports.
#[derive(Debug)]
pub(super) enum Event {
    Sample(CpuSample),
    /// A process has started another one.
    Forked {
        pid: u32,
        parent: u32,
    },
    /// A process runs another program.
    Executed {
        pid: u32,
    },
    /// A thread has another name.
    Named {
        tid: u32,
        name: String,
    },
    /// Records that had no room in the buffer.
    Lost(u64),
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
    Machine(Vec<OpenEvent>),
    Threads(HashMap<u32, OpenEvent>),
}

/// An event with its buffer. The counter is kept: closing it ends the event.
struct OpenEvent {
    counter: Counter,
    buffer: Sampler,
}

impl OpenEvent {
    fn open(
        source: SampleSource,
        options: &Opts,
        target: impl Into<perf_event_open::config::Target>,
        sizes: &[u8],
    ) -> io::Result<Self> {
        let counter = match source {
            SampleSource::Cycles => Counter::new(Hardware::CpuCycle, target, options),
            _ => Counter::new(Software::CpuClock, target, options),
        }?;
        let mut failure = io::Error::from(ErrorKind::OutOfMemory);
        for size in sizes {
            match counter.sampler(*size) {
                Ok(buffer) => return Ok(Self { counter, buffer }),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    fn drain(&self, handle: &mut impl FnMut(Event)) {
        for (_, record) in self.buffer.iter().into_iter().flatten() {
            match record {
                Record::Sample(sample) => handle(Event::Sample(read_sample(*sample))),
                Record::Fork(fork) if fork.task.pid != fork.parent_task.pid => {
                    handle(Event::Forked { pid: fork.task.pid, parent: fork.parent_task.pid });
                }
                Record::Comm(comm) => {
                    if comm.by_execve {
                        handle(Event::Executed { pid: comm.task.pid });
                    }
                    let name = comm.comm.to_string_lossy().into_owned();
                    handle(Event::Named { tid: comm.task.tid, name });
                }
                Record::LostRecords(lost) => handle(Event::Lost(lost.lost_records)),
                Record::LostSamples(lost) => handle(Event::Lost(lost.lost_samples)),
                _ => {}
            }
        }
    }
}

/// The registers that unwinding needs, as a mask.
pub(crate) const UNWIND_REGISTERS: u64 = registers::MASK;

/// The stacks of a sample.
pub(crate) fn read_sample(sample: Sample) -> CpuSample {
    let task = sample.record_id.task;
    let chains = sample.call_chain.unwrap_or_default();
    let kernel = chains.into_iter().find_map(|chain| match chain {
        RecordedChain::Kernel(addresses) => Some(addresses),
        _ => None,
    });
    let user = match sample.user_regs {
        Some((values, Abi::_64)) => {
            let value = |at: usize| values.get(at).copied().unwrap_or_default();
            let registers = Registers {
                instruction: value(registers::INSTRUCTION),
                stack: value(registers::STACK),
                frame: value(registers::FRAME),
                link: registers::LINK.map_or(0, value),
            };
            Some((registers, sample.user_stack.unwrap_or_default()))
        }
        _ => None,
    };
    let (pid, tid) = task.map_or((0, 0), |task| (task.pid, task.tid));
    CpuSample { pid, tid, kernel: kernel.unwrap_or_default(), user }
}

fn event_options(options: &CpuSamplerOptions, has_kernel: bool) -> Opts {
    let mut opts = Opts::default();
    opts.exclude.kernel = !has_kernel;
    opts.exclude.hv = !has_kernel;
    opts.exclude.idle = true;
    opts.sample_on = SampleOn::Freq(u64::from(options.samples_per_s));
    opts.record_id_format.task = true;
    opts.sample_format.user_regs = Some(RegsMask(registers::MASK));
    opts.sample_format.user_stack = Some(Size(options.stack_bytes));
    if has_kernel {
        let chain =
            CallChain { exclude_user: true, exclude_kernel: false, defer_user: false, max_stack_frames: 0 };
        opts.sample_format.call_chain = Some(chain);
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
            if let Ok(events) = machine_wide(source, &opts, options.cpus.as_ref()) {
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

    fn each(&self, act: impl Fn(&OpenEvent)) {
        match &self.scope {
            Scope::Machine(events) => events.iter().for_each(act),
            Scope::Threads(events) => events.values().for_each(act),
        }
    }

    /// Reads what the kernel has reported since the last time.
    pub(super) fn drain(&self, handle: &mut impl FnMut(Event)) {
        match &self.scope {
            Scope::Machine(events) => events.iter().for_each(|event| event.drain(handle)),
            Scope::Threads(events) => events.values().for_each(|event| event.drain(handle)),
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
            match OpenEvent::open(self.source, &self.options, (Proc(tid), Cpu::ALL), sizes) {
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

fn machine_wide(source: SampleSource, opts: &Opts, cpus: Option<&CpuSet>) -> io::Result<Vec<OpenEvent>> {
    let online = online_cpus()?;
    let cpus = cpus.unwrap_or(&online);
    cpus.iter()
        .map(|cpu| OpenEvent::open(source, opts, (Proc::ALL, Cpu(cpu as u32)), &MACHINE_BUFFERS))
        .collect()
}

/// The CPUs that the kernel uses.
pub(crate) fn online_cpus() -> io::Result<CpuSet> {
    let text = fs::read_to_string("/sys/devices/system/cpu/online")?;
    text.trim().parse().map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

fn threads_of(pid: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Why the kernel refused, and what to do.
pub(crate) fn refusal(error: &io::Error) -> (String, String) {
    let (reason, remedy) = match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::ACCESS | rustix::io::Errno::PERM) => {
            let level = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
            let reason = match level.trim() {
                "" => "the kernel does not permit perf_event_open".to_owned(),
                level => format!("the kernel does not permit it, kernel.perf_event_paranoid is {level}"),
            };
            (reason, "run as root, or set kernel.perf_event_paranoid to 1 for your own processes")
        }
        Some(rustix::io::Errno::NOSYS) => {
            ("this kernel or container has no perf_event_open".to_owned(), "profile outside the container")
        }
        Some(rustix::io::Errno::MFILE) => {
            ("too many open files".to_owned(), "raise the limit with ulimit -n")
        }
        Some(rustix::io::Errno::NOENT | rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NODEV) => (
            "this machine has no such event: a virtual machine often has no counters".to_owned(),
            "use a machine with hardware counters, or give the virtual machine a virtual PMU",
        ),
        _ => (error.to_string(), "see perf_event_open(2)"),
    };
    (reason, remedy.to_owned())
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
        Trial::OwnUserCode => OpenEvent::open(SampleSource::CpuClock, &opts, own, &THREAD_BUFFERS).map(drop),
        Trial::Counters => OpenEvent::open(SampleSource::Cycles, &opts, own, &THREAD_BUFFERS).map(drop),
        Trial::Kernel => {
            let opts = event_options(&options, true);
            let of_own = || OpenEvent::open(SampleSource::CpuClock, &opts, own, &THREAD_BUFFERS).map(drop);
            machine_wide(SampleSource::CpuClock, &opts, None).map(drop).or_else(|_| of_own())
        }
    }
}
