//! What profiles and watched waits tell of an operation: the shares of its time that have a name beyond a server's own functions,
//! such as the memory allocator or the resolver. Whether a share is a cause is left to rules.

use std::collections::BTreeMap;

use profile::Stacks;
use profile::stacks::{Frame, FrameKind, called_name};
use profile::threads::WaitKind;
use profile::waits::Waits;

/// Functions of memory allocators.
const ALLOCATOR: [&str; 14] = [
    "malloc",
    "calloc",
    "realloc",
    "free",
    "cfree",
    "posix_memalign",
    "aligned_alloc",
    "memalign",
    "operator new",
    "operator delete",
    "int_malloc",
    "int_free",
    "je_malloc",
    "je_free",
];

/// How the names of threads begin that collect garbage: those of the JVM's collectors.
const COLLECTING_THREADS: [&str; 5] = ["GC Thread", "G1 ", "ParGC", "ZWorker", "VM Thread"];

/// How functions begin that collect garbage, where the threads of the program do it: those of Go.
const COLLECTING: [&str; 3] = ["runtime.gcBgMarkWorker", "runtime.gcAssistAlloc", "runtime.gcStart"];

/// How the kernel's functions of system calls begin.
const CALLS: [&str; 4] = ["__x64_sys_", "__arm64_sys_", "__do_sys_", "__se_sys_"];

/// System calls that read and write what a server serves, or wait for it: they are its work.
const WORK: [&str; 28] = [
    "read",
    "readv",
    "pread64",
    "preadv",
    "write",
    "writev",
    "pwrite64",
    "pwritev",
    "recvfrom",
    "recvmsg",
    "recvmmsg",
    "sendto",
    "sendmsg",
    "sendmmsg",
    "sendfile64",
    "sendfile",
    "splice",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "io_uring_enter",
    "accept4",
    "accept",
    "futex",
];

/// Functions of the kernel that send or receive, whichever system call they run in: the one that removes `TCP_CORK` sends what has
/// waited, and what loopback receives is handled within the call that sent it.
const NETWORK: [&str; 4] = ["tcp_write_xmit", "__tcp_transmit_skb", "net_rx_action", "__napi_poll"];

/// What a profile tells.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WatchedCpu {
    /// Share of the CPU time in the memory allocator, 0 to 1.
    pub allocator: f64,
    /// The same in the garbage collector.
    pub collector: f64,
    /// The system call with the largest share of the CPU time, of those that are not the work itself.
    pub call: Option<(String, f64)>,
}

/// What watched waits tell: time an operation, all threads together, microseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WatchedWaits {
    /// All waits within operations.
    pub blocked_us: f64,
    /// Those for locks, but for the allocator's.
    pub locks_us: f64,
    /// Those for locks of the memory allocator.
    pub allocator_us: f64,
    /// Those for the answer to a name lookup.
    pub lookups_us: f64,
    /// Those for a time to pass.
    pub sleep_us: f64,
    /// Those for a flush of a file.
    pub flush_us: f64,
}

/// What is known of a server's operations beyond the figures of its slices.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Watched {
    /// What the profile tells, if there is one.
    pub cpu: Option<WatchedCpu>,
    /// What the waits tell, if they were watched.
    pub waits: Option<WatchedWaits>,
}

impl WatchedCpu {
    /// The shares of a profile.
    pub(crate) fn of(stacks: &Stacks) -> Self {
        let (mut all, mut in_allocator, mut in_collector) = (0, 0, 0);
        let mut calls: BTreeMap<&str, u64> = BTreeMap::new();
        let each =
            stacks.threads.iter().flat_map(|thread| thread.stacks.iter().map(move |stack| (thread, stack)));
        for (thread, stack) in each {
            let frames = || stack.frames.iter().map(|frame| &stacks.frames[*frame as usize]);
            all += stack.samples;
            if frames().any(is_allocator) {
                in_allocator += stack.samples;
            }
            let collects = COLLECTING_THREADS.iter().any(|begin| thread.name.starts_with(begin));
            if collects || frames().any(|frame| COLLECTING.iter().any(|begin| frame.name.starts_with(begin)))
            {
                in_collector += stack.samples;
            }
            if let Some(call) = frames().find_map(call_of)
                && !frames().any(is_network)
            {
                *calls.entry(call).or_default() += stack.samples;
            }
        }
        let share = |samples: u64| samples as f64 / all.max(1) as f64;
        let call = calls
            .into_iter()
            .filter(|(name, _)| !WORK.contains(name))
            .max_by_key(|(_, samples)| *samples)
            .map(|(name, samples)| (name.to_owned(), share(samples)));
        Self { allocator: share(in_allocator), collector: share(in_collector), call }
    }
}

impl WatchedWaits {
    /// The times of waits in which so many operations ended.
    pub(crate) fn of(waits: &Waits, operations: f64) -> Self {
        let mut found = Self::default();
        for wait in waits.stacks.iter().filter(|wait| !wait.is_idle) {
            let us = wait.time.as_secs_f64() * 1e6 / operations;
            found.blocked_us += us;
            match wait.kind {
                WaitKind::Lock | WaitKind::Futex if wait.frames.iter().any(is_allocator) => {
                    found.allocator_us += us;
                }
                WaitKind::Lock | WaitKind::Futex => found.locks_us += us,
                WaitKind::Lookup => found.lookups_us += us,
                WaitKind::Sleep => found.sleep_us += us,
                WaitKind::Flush => found.flush_us += us,
                _ => {}
            }
        }
        found
    }
}

fn is_allocator(frame: &Frame) -> bool {
    let name = frame.name.split('(').next().unwrap_or_default();
    frame.kind == FrameKind::User && ALLOCATOR.contains(&called_name(name))
}

fn is_network(frame: &Frame) -> bool {
    frame.kind == FrameKind::Kernel && NETWORK.contains(&frame.name.as_str())
}

/// The system call of a function of the kernel.
fn call_of(frame: &Frame) -> Option<&str> {
    let is_kernel = frame.kind == FrameKind::Kernel;
    CALLS.iter().filter(|_| is_kernel).find_map(|begin| frame.name.strip_prefix(begin))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use profile::folded;
    use profile::stacks::SampleSource;
    use profile::waits::{WaitSource, WaitStack};

    use super::*;

    #[test]
    fn shares_of_the_cpu_time_have_names() {
        let text = "w;main;serve;malloc 10\nw;main;serve;read;__x64_sys_read_[k] 50\n\
                    w;main;serve;random;__x64_sys_getrandom_[k];fill_[k] 40\nGC Thread#0;mark 25\n";
        let stacks = folded::parse(text, SampleSource::CpuClock, Duration::from_millis(2)).unwrap();
        let found = WatchedCpu::of(&stacks);
        assert_eq!(found.call, Some(("getrandom".to_owned(), 0.32)));
        assert!((found.collector - 0.2).abs() < 1e-9, "{found:?}");
        assert!((found.allocator - 0.08).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn what_a_call_sends_is_the_work_of_the_server() {
        let text = "w;main;send;__x64_sys_setsockopt_[k];do_tcp_setsockopt_[k] 10\n\
                    w;main;send;__x64_sys_setsockopt_[k];do_tcp_setsockopt_[k];tcp_write_xmit_[k];ip_output_[k] 50\n\
                    w;main;random;__x64_sys_getrandom_[k];fill_[k] 40\n";
        let stacks = folded::parse(text, SampleSource::CpuClock, Duration::from_millis(2)).unwrap();
        assert_eq!(WatchedCpu::of(&stacks).call, Some(("getrandom".to_owned(), 0.4)));
    }

    #[test]
    fn waits_within_operations_are_divided_by_what_they_are_for() {
        let wait = |kind, is_idle, function: &str, us| WaitStack {
            thread: "worker".to_owned(),
            kind,
            is_idle,
            frames: vec![Frame {
                name: function.to_owned(),
                module: "libc.so.6".to_owned(),
                kind: FrameKind::User,
            }],
            time: Duration::from_micros(us),
            waits: None,
            wakers: Vec::new(),
        };
        let waits = Waits {
            source: WaitSource::Switches,
            length: Duration::from_secs(1),
            stacks: vec![
                wait(WaitKind::Lock, false, "pthread_mutex_lock", 300),
                wait(WaitKind::Lock, false, "__GI___libc_malloc", 200),
                wait(WaitKind::Lookup, false, "getaddrinfo", 100),
                wait(WaitKind::Events, true, "epoll_wait", 9000),
            ],
            sampled: 4,
            every: Some(1),
            dropped: 0,
            lost: 0,
            stopped_after: None,
            notes: Vec::new(),
            cost: Duration::ZERO,
        };
        let found = WatchedWaits::of(&waits, 10.0);
        assert_eq!(
            (found.blocked_us, found.locks_us, found.allocator_us, found.lookups_us),
            (60.0, 30.0, 20.0, 10.0)
        );
    }
}
