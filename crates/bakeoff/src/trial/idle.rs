//! Whether servers that are up together leave each other alone: what one does while another is loaded disturbs the
//! comparison, and what it keeps in memory may push the other out.

use std::thread;
use std::time::{Duration, Instant};

use host::Host;

use super::member::TrialMember;

/// How long all servers are watched while none is loaded.
const WATCHED: Duration = Duration::from_millis(400);
/// Largest use of CPU meanwhile, of a core.
const MAX_IDLE_CORES: f64 = 0.005;
/// Least share of the memory that must be available with all servers up.
const MIN_AVAILABLE_MEMORY: f64 = 0.05;

/// The CPU time that each server uses while none is loaded, in cores.
pub fn idle_cores(members: &[&TrialMember<'_>]) -> Vec<f64> {
    let read = || members.iter().map(|member| (Instant::now(), member.cpu_time())).collect::<Vec<_>>();
    let before = read();
    thread::sleep(WATCHED);
    let after = read();
    let cores = before.iter().zip(&after).map(|((from, cpu_before), (to, cpu_after))| {
        cpu_after.saturating_sub(*cpu_before).as_secs_f64() / to.duration_since(*from).as_secs_f64()
    });
    cores.collect()
}

/// Why these servers must run one at a time; none if they leave each other alone. `servers` has names and idle cores.
pub fn why_one_at_a_time<'n>(
    host: &Host,
    servers: impl IntoIterator<Item = (&'n str, f64)>,
) -> Option<String> {
    let busiest = servers.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((name, cores)) = busiest.filter(|(_, cores)| *cores > MAX_IDLE_CORES) {
        return Some(format!(
            "{name} used {:.1} % of a core while it was not loaded (at most {:.1} %)",
            cores * 100.0,
            MAX_IDLE_CORES * 100.0
        ));
    }
    let available = host.available_memory_share()?;
    (available < MIN_AVAILABLE_MEMORY).then(|| {
        format!(
            "with all servers up, {:.0} % of the memory was available (at least {:.0} %)",
            available * 100.0,
            MIN_AVAILABLE_MEMORY * 100.0
        )
    })
}
