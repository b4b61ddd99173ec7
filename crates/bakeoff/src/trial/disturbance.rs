//! Whether servers that are up together leave each other alone. A server that works while another one is loaded disturbs the comparison;
//! its memory may push the other server's out; and a fixed port can belong to one server only.

use std::thread;
use std::time::Duration;

use machine::{CpuMeter, CpuReading, MachineError};

/// After a load, servers put their house in order for about this long.
const SETTLE: Duration = Duration::from_millis(200);
/// How long all servers are watched while none is loaded.
const WATCHED: Duration = Duration::from_millis(400);
/// Watches, one of which at least must show nothing: what a server still does after its load, memcached for one, ends (decision 0009).
const WATCHES: usize = 4;
/// Largest use of CPU meanwhile, in cores.
const MAX_IDLE_CORES: f64 = 0.03;
/// How much more CPU an idle server may use than another one, in cores. It takes the difference from the slices of the other server; what
/// all servers use cancels in a ratio.
const MAX_IDLE_DIFFERENCE: f64 = 0.01;
/// Largest mean use of CPU over all watches, in cores. Bursts leave some of the watches quiet, and what a server still does after its load
/// fills one or two of them.
const MAX_MEAN_CORES: f64 = 0.06;
/// Least share of the memory that must be available with all servers up.
const MIN_AVAILABLE_MEMORY: f64 = 0.05;

/// One watch of all servers.
pub struct Watch {
    /// Why they must run one at a time; none if they leave each other alone.
    pub why: Option<String>,
    /// The server that used most CPU, and how much of it, in cores.
    pub busiest: Option<(String, f64)>,
}

/// Watches several times; returns why servers must run one at a time, if each watch says so, or if one of them works in bursts.
pub fn why_each_time(mut watch: impl FnMut() -> Watch) -> Option<String> {
    let watches: Vec<Watch> = (0..WATCHES).map(|_| watch()).collect();
    let mean =
        watches.iter().filter_map(|watch| Some(watch.busiest.as_ref()?.1)).sum::<f64>() / WATCHES as f64;
    let busiest =
        watches.iter().filter_map(|watch| watch.busiest.as_ref()).max_by(|a, b| a.1.total_cmp(&b.1));
    let in_bursts = match busiest {
        Some((name, _)) if mean > MAX_MEAN_CORES => Some(format!(
            "{name} worked in bursts while it was not loaded: {:.1} % of a core on average (at most {:.0} %)",
            mean * 100.0,
            MAX_MEAN_CORES * 100.0
        )),
        _ => None,
    };
    let last = watches.into_iter().map(|watch| watch.why).collect::<Option<Vec<String>>>();
    last.and_then(|mut reasons| reasons.pop()).or(in_bursts)
}

/// The CPU time that each server uses while none is loaded, in cores; or why it cannot be read.
pub fn idle_cores(servers: &[Box<dyn CpuMeter>]) -> Vec<Result<f64, MachineError>> {
    let read = || servers.iter().map(|server| server.of_running()).collect::<Vec<_>>();
    thread::sleep(SETTLE);
    let before = read();
    thread::sleep(WATCHED);
    let after = read();
    before.into_iter().zip(after).map(|(from, to)| Ok(cores(&from?, &to?))).collect()
}

fn cores(from: &CpuReading, to: &CpuReading) -> f64 {
    to.time.saturating_sub(from.time).as_secs_f64() / to.at.since(from.at).as_secs_f64()
}

/// Why these servers must run one at a time; none if they leave each other alone. `servers` has names and idle cores,
/// `available_memory` the share of the memory of their machine that is left, where it is known.
pub fn why_one_at_a_time<'n>(
    available_memory: Option<f64>,
    servers: impl IntoIterator<Item = (&'n str, f64)>,
) -> Option<String> {
    let mut by_use: Vec<(&str, f64)> = servers.into_iter().collect();
    by_use.sort_by(|a, b| a.1.total_cmp(&b.1));
    if let (Some((_, least)), Some((name, most))) = (by_use.first(), by_use.last()) {
        let limit = MAX_IDLE_CORES.min(least + MAX_IDLE_DIFFERENCE);
        if *most > limit {
            return Some(format!(
                "{name} used {:.1} % of a core while it was not loaded (at most {:.1} %)",
                most * 100.0,
                limit * 100.0
            ));
        }
    }
    let available = available_memory?;
    (available < MIN_AVAILABLE_MEMORY).then(|| {
        format!(
            "with all servers up, {:.0} % of the memory was available (at least {:.0} %)",
            available * 100.0,
            MIN_AVAILABLE_MEMORY * 100.0
        )
    })
}

/// Why two servers must run one at a time, where one did not start beside another: it wants an address that is in use. None where
/// the start failed for another reason, which is a result. `reasons` is what the start said.
pub fn why_not_beside(name: &str, reasons: &[String], other: &str) -> Option<String> {
    let is_of_address = reasons.iter().any(|reason| {
        let reason = reason.to_lowercase();
        IN_USE.iter().any(|words| reason.contains(words))
    });
    is_of_address.then(|| {
        format!(
            "{name} wants an address that is in use while {other} is up; each server has {{{{ port + 1 }}}} for itself"
        )
    })
}

/// What servers write of an address that is in use: `strerror(EADDRINUSE)` of the C library, the name of the error in Node.js, and
/// Spring Boot's sentence.
const IN_USE: [&str; 3] = ["address already in use", "eaddrinuse", "was already in use"];

#[cfg(test)]
mod tests {
    use super::*;

    fn why(servers: &[(&str, f64)]) -> String {
        why_one_at_a_time(Some(0.5), servers.iter().copied()).unwrap_or_default()
    }

    #[test]
    fn a_server_that_works_more_than_the_others_while_idle_needs_the_machine_to_itself() {
        assert_eq!(why(&[("nginx", 0.0), ("memcached", 0.008)]), "");
        assert_eq!(why(&[("mariadb", 0.015), ("mariadb#2", 0.02)]), "", "what both use cancels");
        assert!(why(&[("nginx", 0.0), ("mariadb", 0.02)]).starts_with("mariadb used 2.0 % of a core"));
        assert!(why(&[("a", 0.2), ("b", 0.2)]).contains("20.0 % of a core"));
    }

    /// Four watches, in which a server uses these cores.
    fn why_after(cores: [f64; WATCHES]) -> Option<String> {
        let mut cores = cores.into_iter();
        why_each_time(|| {
            let cores = cores.next().expect("four watches");
            let why = why_one_at_a_time(Some(0.5), [("nginx", 0.0), ("cache", cores)]);
            Watch { why, busiest: Some(("cache".to_owned(), cores)) }
        })
    }

    #[test]
    fn one_watch_without_a_disturbance_is_enough() {
        assert_eq!(why_after([0.0; WATCHES]), None);
        assert_eq!(why_after([0.15, 0.03, 0.0, 0.0]), None, "what is left of its load");
        let always = why_after([0.05; WATCHES]).unwrap_or_default();
        assert!(always.starts_with("cache used 5.0 % of a core"), "{always}");
    }

    #[test]
    fn bursts_between_quiet_watches_are_seen() {
        // 0.2 s of work in each second.
        let why = why_after([0.5, 0.0, 0.5, 0.0]).unwrap_or_default();
        assert!(why.starts_with("cache worked in bursts while it was not loaded: 25.0 % of a core"), "{why}");
    }

    #[test]
    fn servers_that_fill_the_memory_run_one_at_a_time() {
        let why = why_one_at_a_time(Some(0.04), [("nginx", 0.0)]).unwrap_or_default();
        assert!(why.contains("4 % of the memory was available"), "{why}");
        assert_eq!(why_one_at_a_time(None, [("nginx", 0.0)]), None, "not known");
    }

    #[test]
    fn a_server_that_wants_a_port_of_another_runs_alone_and_every_other_failed_start_is_a_result() {
        let why = |reason: &str| why_not_beside("api:delay=8", &[reason.to_owned()], "api:delay=5");
        for reason in [
            "its log ends with: OSError: [Errno 98] Address already in use",
            "Error: listen EADDRINUSE: address already in use 127.0.0.1:9000",
            "Web server failed to start. Port 8081 was already in use.",
            "listen tcp 127.0.0.1:9000: bind: address already in use",
        ] {
            let why = why(reason).unwrap_or_default();
            assert!(
                why.starts_with("api:delay=8 wants an address that is in use while api:delay=5 is up"),
                "{why}"
            );
        }
        assert_eq!(why("it ended with exit code 1"), None);
    }

    #[test]
    fn what_a_server_uses_is_related_to_the_time_between_its_own_readings() {
        let reading = |at_ms, time_ms| CpuReading {
            at: Duration::from_millis(at_ms).into(),
            time: Duration::from_millis(time_ms),
        };
        assert!((cores(&reading(1_000, 70), &reading(1_500, 75)) - 0.01).abs() < 1e-9);
        assert!(cores(&reading(1_000, 70), &reading(1_500, 60)).abs() < 1e-9, "a process has ended");
    }
}
