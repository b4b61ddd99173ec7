//! Response times by the server's log where requests are due evenly: what a user waits, from the moment at which a
//! request was due and not from the one at which a client got round to sending it.

use load::clock::Nanos;

use super::account::{ExactTimes, ServedRequest};

/// The quantiles of the times from when each request was due until its reply was sent; `None` for an empty log. The requests
/// were due evenly, at this rate per second.
///
/// No request arrives before it is due, so the first moment is the least of all that follow from an arrival. The n-th reply
/// belongs to the n-th request: where several connections change that order, the times are dealt out otherwise and their
/// sum is the same.
pub fn response_times(log: &[ServedRequest], rate_per_s: f64) -> Option<ExactTimes> {
    let gap_ns = 1e9 / rate_per_s;
    let due_after = |number: usize| (number as f64 * gap_ns) as u64;
    let mut received: Vec<u64> = log.iter().map(|served| served.received.0).collect();
    received.sort_unstable();
    let begin = received.iter().enumerate().map(|(n, at)| at.saturating_sub(due_after(n))).min()?;
    let mut sent: Vec<Nanos> = log.iter().map(|served| served.sent).collect();
    sent.sort_unstable();
    let times = sent.iter().enumerate().map(|(n, sent)| sent.since(Nanos(begin + due_after(n))));
    ExactTimes::of(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: u64 = 1_000;
    const SECOND: u64 = 1_000_000_000;

    /// The log of a server that needs this long for a request and freezes from 4.5 to 5.5 s, for 10 s. The client sends a
    /// request when it is due and the reply to the one before is there: one connection.
    fn frozen_log(service_ns: u64) -> Vec<ServedRequest> {
        let freeze = 9 * SECOND / 2..11 * SECOND / 2;
        let mut free_at = 0;
        let served = |n: u64| {
            let received = (n * SECOND / RATE).max(free_at);
            let begin = if freeze.contains(&received) { freeze.end } else { received };
            free_at = begin + service_ns;
            let start = 7 * SECOND;
            ServedRequest { received: Nanos(start + received), sent: Nanos(start + free_at) }
        };
        (0..10 * RATE).map(served).collect()
    }

    /// A request that is due u into a freeze of length F waits F − u, and then for the requests that were due before it in
    /// the freeze. So the wait falls in a straight line to 0, which it reaches F / (1 − load) after the begin: the fluid limit of
    /// a queue with interruptions (L. Kleinrock, *Queueing Systems*, vol. 2, 1976, §2.7).
    #[test]
    fn the_quantiles_of_a_freeze_are_those_of_arithmetic() {
        for service_ns in [1_000, 200_000] {
            let load = (RATE * service_ns) as f64 / SECOND as f64;
            let times = response_times(&frozen_log(service_ns), RATE as f64).expect("a log");
            for (quantile, measured_us) in [(0.95, times.p95), (0.99, times.p99), (1.0, times.max)] {
                let arithmetic_us = 1e6 * (1.0 - (1.0 - quantile) * (1.0 - load) * 10.0);
                assert!(
                    (measured_us - arithmetic_us).abs() < 3_000.0,
                    "{quantile}: {measured_us} {arithmetic_us}"
                );
            }
        }
        assert_eq!(response_times(&[], 1.0), None);
    }

    #[test]
    fn a_late_first_request_does_not_move_the_schedule() {
        let log = [(5_000, 5_100), (5_100, 5_200), (2_000_000, 2_000_100)];
        let served =
            log.map(|(received, sent)| ServedRequest { received: Nanos(received), sent: Nanos(sent) });
        // Due at 0, 1 and 2 ms from the third request's arrival, less its 2 ms.
        let times = response_times(&served, 1_000.0).expect("a log");
        assert!((times.max - 5.1).abs() < 1e-9, "{times:?}");
    }
}
