//! A server's processes, summed: `/proc/PID/stat`, the number of `/proc/PID/fd`, `/proc/PID/task/*/status`.

use std::fs;

use procfs::process::Stat;

use super::Readings;
use crate::courtesy::Courtesy;
use crate::process::Processes;
use crate::root::Root;
use crate::telemetry::Watch;

/// The switches of a process are those of its threads, each in a file that takes the kernel 20 µs to make.
/// A server with more threads than this would cost more than we may take.
const MOST_THREADS_FOR_SWITCHES: i64 = 100;

pub(in crate::telemetry) fn read(root: &Root, processes: &Processes, watch: &Watch, out: &mut Readings) {
    let name = |value: &str| format!("{}.{value}", watch.name);
    let trees: Vec<Vec<&Stat>> = watch.trees.iter().map(|tree| tree.among(processes)).collect();
    let ticks_per_second = rustix::param::clock_ticks_per_second() as f64;
    // With the time of children that were waited for, nothing is lost when a worker ends: its parent has it
    // then. So this counts those that only wait for others (the keeper, zombies) too.
    let cpu = |time: fn(&Stat) -> (u64, i64)| -> f64 {
        let own_and_children = trees.iter().flatten().copied().map(time);
        let ticks = own_and_children.map(|(own, children)| own as f64 + children as f64);
        ticks.sum::<f64>() / ticks_per_second
    };
    out.counter(name("cpu.user"), "cores", "CPU time in the server's programs", cpu(|p| (p.utime, p.cutime)));
    out.counter(
        name("cpu.system"),
        "cores",
        "CPU time in the kernel for the server",
        cpu(|p| (p.stime, p.cstime)),
    );

    let running: Vec<&Stat> = watch
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
    out.gauge(name("rss"), "B", "Memory of the server; what processes share counts in each", bytes);
    let courtesy = Courtesy::new();
    let each = running.iter().inspect(|_| courtesy.give_way());
    if let Some(descriptors) = each.map(|stat| descriptors(root, stat.pid)).sum::<Option<u64>>() {
        out.gauge(name("descriptors"), "1", "Files and sockets that the server has open", descriptors as f64);
    }
    if threads <= MOST_THREADS_FOR_SWITCHES {
        let (voluntary, involuntary) = running
            .iter()
            .map(|stat| switches(root, stat.pid, &courtesy))
            .fold((0.0, 0.0), |(a, b), (voluntary, involuntary)| (a + voluntary, b + involuntary));
        let help = "Times that the server's threads waited for something";
        out.counter(name("switches.voluntary"), "1/s", help, voluntary);
        let help = "Times that the server's threads had to leave a CPU to others";
        out.counter(name("switches.involuntary"), "1/s", help, involuntary);
    }
}

/// The number of open descriptors: since Linux 6.2 the size of the directory, before that its entries. None
/// if we may not look.
fn descriptors(root: &Root, pid: i32) -> Option<u64> {
    let dir = root.path(format!("/proc/{pid}/fd"));
    let size = fs::metadata(&dir).ok()?.len();
    if size > 0 { Some(size) } else { Some(fs::read_dir(&dir).ok()?.count() as u64) }
}

/// Voluntary and involuntary context switches of all threads of a process.
fn switches(root: &Root, pid: i32, courtesy: &Courtesy) -> (f64, f64) {
    let dir = format!("/proc/{pid}/task");
    let mut sums = (0.0, 0.0);
    for thread in root.list(&dir) {
        courtesy.give_way();
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
