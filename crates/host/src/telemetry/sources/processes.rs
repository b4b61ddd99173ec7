//! Sums over a server's processes: `/proc/PID/stat`, `/proc/PID/fd`, `/proc/PID/task/*/status`.

use std::fs;

use procfs::process::Stat;

use super::Readings;
use crate::process::{CpuUsed, ProcessTree, Processes};
use crate::root::Root;
use crate::scheduling::PeriodicYield;

/// A server whose processes are sampled.
#[derive(Debug, Clone)]
pub struct SampledServer {
    /// The prefix of its columns, such as `server`.
    pub name: String,
    /// Its process trees: one, or several if it has several instances. Their processes are listed at each tick.
    pub trees: Vec<ProcessTree>,
}

/// With more threads than this, context switches are not sampled. Each thread has a file that takes the kernel
/// 20 µs, and the sampler must stay below 1 % of a core.
const MOST_THREADS_FOR_SWITCHES: i64 = 100;

pub(in crate::telemetry) fn read(
    root: &Root,
    processes: &Processes,
    server: &SampledServer,
    out: &mut Readings,
) {
    let name = |value: &str| format!("{}.{value}", server.name);
    let trees: Vec<Vec<&Stat>> = server.trees.iter().map(|tree| tree.among(processes)).collect();
    // When a worker ends, the kernel adds its CPU time to the parent that waits for it. The sum includes the time
    // of such children, and processes that only wait (the supervisor, zombies), so no time is lost.
    let used: CpuUsed = trees.iter().flatten().copied().map(CpuUsed::of_process).sum();
    // Ticks of 10 ms are rounded down in each process. Of 64 that began a second ago, most of the time is in no tick.
    out.counter(
        name("cpu.time"),
        "cores",
        "CPU time of the server, by the clocks of its processes",
        used.time.as_secs_f64(),
    );
    out.counter(
        name("cpu.user"),
        "cores",
        "CPU time of the server in user mode, in clock ticks",
        used.user.as_secs_f64(),
    );
    out.counter(
        name("cpu.system"),
        "cores",
        "CPU time of the server in the kernel, in clock ticks",
        used.system.as_secs_f64(),
    );

    let running: Vec<&Stat> = server
        .trees
        .iter()
        .zip(&trees)
        .flat_map(|(tree, all)| all.iter().copied().filter(|stat| tree.is_server(stat)))
        .collect();
    let threads: i64 = running.iter().map(|stat| stat.num_threads).sum();
    let pages: u64 = running.iter().map(|stat| stat.rss).sum();
    let bytes = pages as f64 * rustix::param::page_size() as f64;
    out.gauge(name("processes"), "1", "Processes of the server", running.len() as f64);
    out.gauge(name("threads"), "1", "Threads of the server", threads as f64);
    out.gauge(name("rss"), "B", "Resident memory of the server; shared memory counts in each process", bytes);
    let periodic_yield = PeriodicYield::new();
    let processes = running.iter().inspect(|_| periodic_yield.yield_if_due());
    if let Some(descriptors) = processes.map(|stat| descriptors(root, stat.pid)).sum::<Option<u64>>() {
        out.gauge(name("descriptors"), "1", "Open file descriptors of the server", descriptors as f64);
    }
    if threads <= MOST_THREADS_FOR_SWITCHES {
        let (voluntary, involuntary) = running
            .iter()
            .map(|stat| switches(root, stat.pid, &periodic_yield))
            .fold((0.0, 0.0), |(a, b), (voluntary, involuntary)| (a + voluntary, b + involuntary));
        let help = "Voluntary context switches: a thread of the server waited";
        out.counter(name("switches.voluntary"), "1/s", help, voluntary);
        let help = "Involuntary context switches: a thread of the server was preempted";
        out.counter(name("switches.involuntary"), "1/s", help, involuntary);
    }
}

/// The number of open descriptors: since Linux 6.2 the size of the directory, before that the number of its
/// entries. None if the directory is not readable for this user.
fn descriptors(root: &Root, pid: i32) -> Option<u64> {
    let dir = root.path(format!("/proc/{pid}/fd"));
    let size = fs::metadata(&dir).ok()?.len();
    if size > 0 { Some(size) } else { Some(fs::read_dir(&dir).ok()?.count() as u64) }
}

/// Voluntary and involuntary context switches of all threads of a process.
///
/// They are the last two lines of a thread's status. `procfs::process::Status` would parse all of about 60 lines
/// for each thread at each tick.
fn switches(root: &Root, pid: i32, periodic_yield: &PeriodicYield) -> (f64, f64) {
    let dir = format!("/proc/{pid}/task");
    let mut sums = (0.0, 0.0);
    for thread in root.list(&dir) {
        periodic_yield.yield_if_due();
        let status = root.read(format!("{dir}/{thread}/status")).unwrap_or_default();
        for (name, value) in status.lines().rev().filter_map(|line| line.split_once(':')).take(2) {
            let value = value.trim().parse().unwrap_or(0.0);
            match name {
                "voluntary_ctxt_switches" => sums.0 += value,
                "nonvoluntary_ctxt_switches" => sums.1 += value,
                _ => {}
            }
        }
    }
    sums
}
