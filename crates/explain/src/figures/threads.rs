//! Figures of the server's threads: how many run, wait for a CPU, or are blocked, and on what.
//!
//! A share of the threads says little: a server may have a hundred idle ones. So these are numbers of threads, and numbers for
//! each connection of the load, which has one operation in progress.

use profile::threads::{ThreadGroup, ThreadStates, WaitKind};

use super::plain::Plain;
use super::set::{Figures, Kind, SHARE};

const SOURCE: &str = "samples of the states of threads";

/// Adds them, where threads were sampled.
pub(super) fn add(plain: &Plain<'_>, figures: &mut Figures) {
    let kind = |unit| Kind { unit, source: SOURCE };
    let mean =
        |value: &dyn Fn(&ThreadStates) -> f64| plain.mean(|reading| reading.threads.as_ref().map(value));
    let running = mean(&|states| threads(states, |group| group.running));
    figures.add("threads.running", running, kind("threads"), "threads of the server on a CPU, on average");
    let runnable = mean(&|states| threads(states, |group| group.runnable));
    figures.add(
        "threads.runnable",
        runnable,
        kind("threads"),
        "threads of the server that waited for a CPU, on average",
    );
    let busiest = mean(&|states| states.groups.iter().map(|group| group.busiest_thread).fold(0.0, f64::max));
    figures.add(
        "threads.busiest",
        busiest,
        kind(SHARE),
        "share of the time that the busiest thread was on a CPU",
    );
    let waits: [(&str, &[WaitKind], &str); 6] = [
        ("futex", &[WaitKind::Futex], "locks and conditions"),
        ("flush", &[WaitKind::Flush], "flushes of files"),
        ("file", &[WaitKind::FileRead, WaitKind::FileWrite], "reads and writes of files"),
        ("memory", &[WaitKind::Memory], "memory"),
        ("sleep", &[WaitKind::Sleep], "time to pass"),
        ("file_lock", &[WaitKind::FileLock], "locks of files or between processes"),
    ];
    for (name, kinds, what) in waits {
        let waiting = mean(&|states| threads(states, |group| share_of(group, kinds)));
        let about = format!("threads of the server that waited for {what}, on average");
        figures.add(format!("threads.{name}"), waiting, kind("threads"), about);
        let per_connection = waiting
            .zip(figures.value("loop.connections"))
            .map(|(waiting, connections)| waiting / connections);
        let about = format!("threads that waited for {what}, for each connection of the load");
        figures.add(format!("threads.{name}_per_connection"), per_connection, kind("1"), about);
    }
}

/// The mean number of threads in a state.
fn threads(states: &ThreadStates, share: impl Fn(&ThreadGroup) -> f64) -> f64 {
    let length_s = states.length.as_secs_f64();
    let thread_seconds: f64 = states.groups.iter().map(|group| group.time.as_secs_f64() * share(group)).sum();
    if length_s > 0.0 { thread_seconds / length_s } else { f64::NAN }
}

fn share_of(group: &ThreadGroup, kinds: &[WaitKind]) -> f64 {
    group.waits.iter().filter(|wait| kinds.contains(&wait.kind)).map(|wait| wait.share).sum()
}
