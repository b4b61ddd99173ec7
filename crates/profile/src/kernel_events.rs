//! Events of the kernel's perf subsystem: their buffers, the stacks in their samples, and why they are refused. Which events are
//! opened, and what their records mean, is left to samplers.

use std::fs;
use std::io::{self, ErrorKind};

use host::CpuSet;
use perf_event_open::config::{CallChain, Clock, Cpu, Opts, Proc, RegsMask, Size, Target};
use perf_event_open::count::Counter;
use perf_event_open::sample::Sampler;
use perf_event_open::sample::record::Record;
use perf_event_open::sample::record::sample::{Abi, CallChain as RecordedChain, Sample};

use crate::code::address_space::Registers;

/// Sizes of a CPU's buffer as powers of two of pages, the best first.
pub(crate) const MACHINE_BUFFERS: [u8; 5] = [10, 9, 8, 7, 5];

/// The kernel's functions of a sample. Those of the program are unwound from a copy of its stack.
pub(crate) const KERNEL_CHAIN: CallChain =
    CallChain { exclude_user: true, exclude_kernel: false, defer_user: false, max_stack_frames: 0 };

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
pub(crate) struct ThreadSample {
    pub pid: u32,
    pub tid: u32,
    /// The kernel's functions, innermost first.
    pub kernel: Vec<u64>,
    /// Registers in user mode, and a copy of the stack. None for a 32-bit program.
    pub user: Option<(Registers, Vec<u8>)>,
}

/// What changes in processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProcessChange {
    /// A process has started another one.
    Forked { pid: u32, parent: u32 },
    /// A process runs another program.
    Executed { pid: u32 },
    /// A thread has another name.
    Named { tid: u32, name: String },
    /// Records that had no room in the buffer.
    Lost(u64),
}

impl ProcessChange {
    /// How many records were lost, if that is what it reports.
    pub(crate) fn lost(self) -> Option<u64> {
        if let Self::Lost(records) = self { Some(records) } else { None }
    }
}

/// The changes that a record reports: another program comes with another name.
pub(crate) fn process_changes(record: Record) -> impl Iterator<Item = ProcessChange> {
    let (first, second) = match record {
        Record::Fork(fork) if fork.task.pid != fork.parent_task.pid => {
            (Some(ProcessChange::Forked { pid: fork.task.pid, parent: fork.parent_task.pid }), None)
        }
        Record::Comm(comm) => {
            let name = comm.comm.to_string_lossy().into_owned();
            let named = ProcessChange::Named { tid: comm.task.tid, name };
            (comm.by_execve.then_some(ProcessChange::Executed { pid: comm.task.pid }), Some(named))
        }
        Record::LostRecords(lost) => (Some(ProcessChange::Lost(lost.lost_records)), None),
        Record::LostSamples(lost) => (Some(ProcessChange::Lost(lost.lost_samples)), None),
        _ => (None, None),
    };
    first.into_iter().chain(second)
}

/// An event with its buffer. The counter is kept: closing it ends the event.
pub(crate) struct KernelEvent {
    pub counter: Counter,
    pub buffer: Sampler,
}

impl KernelEvent {
    /// Gives an event the first of these sizes of a buffer that the kernel has room for.
    pub(crate) fn with_buffer(counter: Counter, sizes: &[u8]) -> io::Result<Self> {
        let mut failure = io::Error::from(ErrorKind::OutOfMemory);
        for size in sizes {
            match counter.sampler(*size) {
                Ok(buffer) => return Ok(Self { counter, buffer }),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// Opens an event of all processes on each of these CPUs. They do not count yet.
    pub(crate) fn on_each(
        cpus: &CpuSet,
        sizes: &[u8],
        open: impl Fn(Target) -> io::Result<Counter>,
    ) -> io::Result<Vec<Self>> {
        let one = |cpu| Self::with_buffer(open((Proc::ALL, Cpu(cpu as u32)).into())?, sizes);
        cpus.iter().map(one).collect()
    }
}

/// Options of an event whose records say which thread they are of, and when, in nanoseconds of `CLOCK_MONOTONIC`.
pub(crate) fn timed_options() -> Opts {
    let mut opts = Opts::default();
    opts.record_id_format.task = true;
    opts.record_id_format.time = true;
    opts.record_id_all = true;
    opts.timer = Some(Clock::Monotonic);
    opts
}

/// Adds what unwinding a program needs to the samples of an event: registers, and so many bytes of the stack.
pub(crate) fn with_user_stacks(mut opts: Opts, bytes: u32) -> Opts {
    opts.sample_format.user_regs = Some(RegsMask(registers::MASK));
    opts.sample_format.user_stack = Some(Size(bytes));
    opts
}

/// The stacks of a sample.
pub(crate) fn read_sample(sample: Sample) -> ThreadSample {
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
    ThreadSample { pid, tid, kernel: kernel.unwrap_or_default(), user }
}

/// Why the kernel refused, and what to do.
pub(crate) fn refusal(error: &io::Error) -> (String, String) {
    let (reason, remedy) = match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::ACCESS | rustix::io::Errno::PERM) => {
            let level = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
            prohibition(level.trim(), rustix::process::geteuid().is_root())
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

/// Why it is forbidden at this level of `kernel.perf_event_paranoid`, and what to do. A container's filter of system calls can forbid
/// what the level permits, also to root.
fn prohibition(level: &str, is_root: bool) -> (String, &'static str) {
    let is_permitted_by_level = is_root || level.parse().is_ok_and(|level: i32| level <= 1);
    if is_permitted_by_level || level.is_empty() {
        let reason = "a container or a security module forbids perf_event_open".to_owned();
        return (reason, "permit it (the capability PERFMON, and seccomp), or profile outside the container");
    }
    let reason = format!("the kernel does not permit it, kernel.perf_event_paranoid is {level}");
    (reason, "run as root, or set kernel.perf_event_paranoid to 1 for your own processes")
}

#[cfg(test)]
mod tests {
    use super::prohibition;

    #[test]
    fn what_forbids_it_is_named() {
        for (level, is_root, reason) in [
            ("2", false, "the kernel does not permit it, kernel.perf_event_paranoid is 2"),
            ("4", false, "the kernel does not permit it, kernel.perf_event_paranoid is 4"),
            ("2", true, "a container or a security module forbids perf_event_open"),
            ("1", false, "a container or a security module forbids perf_event_open"),
            ("", false, "a container or a security module forbids perf_event_open"),
        ] {
            assert_eq!(prohibition(level, is_root).0, reason, "level {level:?}, root: {is_root}");
        }
    }
}
