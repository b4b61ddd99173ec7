//! How long other programs kept a server from the CPUs: the time that its threads spent in the run queue. What it used is left to
//! [`CpuUsed`](super::CpuUsed).

use std::time::Duration;

use procfs::process::Process;

use super::ProcessTree;

/// A server that other programs kept from the CPUs for more than half of a time, and that used less than half of a CPU in it: how long its
/// thread that waited longest did so. None for any other server. Threads also wait for each other, but then the server uses its CPUs.
pub(crate) fn kept_from_cpus(tree: &ProcessTree, within: Duration) -> Option<Duration> {
    starved(longest_wait(tree)?, tree.cpu_time(), within)
}

fn starved(waited: Duration, used: Duration, within: Duration) -> Option<Duration> {
    let half = within / 2;
    (waited > half && used < half).then_some(waited)
}

/// The time in the run queue of the thread that was longest in it; none where the kernel does not count it.
fn longest_wait(tree: &ProcessTree) -> Option<Duration> {
    let mut longest = None;
    for id in tree.processes() {
        let Ok(tasks) = Process::new(id.pid.cast_signed()).and_then(|process| process.tasks()) else {
            continue;
        };
        for task in tasks.flatten() {
            longest = longest.max(task.schedstat().ok().map(|stat| Duration::from_nanos(stat.run_delay)));
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_starved_if_it_waited_for_most_of_the_time_and_did_not_use_the_cpus_itself() {
        let s = Duration::from_secs;
        assert_eq!(starved(s(7), s(1), s(10)), Some(s(7)));
        assert_eq!(starved(s(2), s(1), s(10)), None, "it slept");
        assert_eq!(starved(s(7), s(9), s(10)), None, "its own threads had the CPU");
    }
}
