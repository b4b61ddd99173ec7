//! Whether the client kept to its pace: how late its reads were, and how late they may be. What follows is left to `client`.
//!
//! The window of a transfer holds what its pace asks for until its next read is due. A read that is late by less finds all of it, and
//! the next one is due as early as before: the transfer keeps its pace. Lateness costs something where it comes near to the time between
//! two reads, where it grows, and where all that the client does is late (`docs/decisions/0022-transfers-in-progress.md`).

use std::time::Duration;

use archive::model::ConcurrencyStep;
use load::record::Micros;
use load::transfers::TransferSecond;

/// Reads that are not later than this at their 99th percentile are never the client's limit.
const NEVER_LATE: Duration = Duration::from_secs(1);

/// The part of the time between two reads by which they may be late. The rest of it is the server's, to fill the window again.
const LATE_SHARE: f64 = 0.25;

/// A client that falls further behind by more than this part of the time has lost as much of its pace.
const MOST_BEHIND: f64 = 0.05;

/// Fewer seconds do not show whether the client falls behind.
const FEWEST_SECONDS: usize = 4;

/// How late reads may be (99th percentile, microseconds), from the time between two reads of a transfer and from
/// [`Lateness::behind_share`]. Where clients are not served well, late reads may be a sign of why: nothing is hidden then.
pub(crate) fn limit_us(interval: Duration, behind_share: Option<f64>, is_served_well: bool) -> u64 {
    let keeps_up = behind_share.is_some_and(|share| share <= MOST_BEHIND);
    let hidden = if keeps_up && is_served_well { interval.mul_f64(LATE_SHARE) } else { Duration::ZERO };
    hidden.max(NEVER_LATE).as_micros() as u64
}

/// Whether the client was too slow for its pace.
pub(crate) fn is_late(step: &ConcurrencyStep) -> bool {
    step.client_late_p99_us > step.client_late_limit_us
}

/// How late its reads were, and how late they may be.
pub(crate) fn late_reads(step: &ConcurrencyStep) -> String {
    let seconds = |us: u64| us as f64 / 1e6;
    format!(
        "reads were {:.1} s late (p99), more than {:.1} s",
        seconds(step.client_late_p99_us),
        seconds(step.client_late_limit_us)
    )
}

/// How late reads were in each second of a hold that had some.
#[derive(Debug, Default)]
pub(crate) struct Lateness(Vec<LateSecond>);

/// Seconds, both.
#[derive(Debug)]
struct LateSecond {
    at: f64,
    mean: f64,
}

impl Lateness {
    /// Adds the next second.
    pub fn add(&mut self, second: &TransferSecond<Micros>) {
        let late = &second.times.late;
        if !late.is_empty() {
            self.0.push(LateSecond { at: second.second as f64, mean: late.mean() / 1e6 });
        }
    }

    /// The part of the hold by which reads became later from its begin to its end: as much of their pace clients lost. Negative
    /// where the client caught up; none where the hold was too short to tell.
    pub fn behind_share(&self) -> Option<f64> {
        let seconds = &self.0;
        if seconds.len() < FEWEST_SECONDS {
            return None;
        }
        // Of each half: one second alone may be that of many reads at once.
        let half = seconds.len() / 2;
        let mean = |part: &[LateSecond], of: fn(&LateSecond) -> f64| {
            part.iter().map(of).sum::<f64>() / part.len() as f64
        };
        let (first, last) = (&seconds[..half], &seconds[seconds.len() - half..]);
        let grown = |of: fn(&LateSecond) -> f64| mean(last, of) - mean(first, of);
        Some(grown(|second| second.mean) / grown(|second| second.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_may_be_late_by_what_the_window_hides() {
        let limit_ms =
            |interval_ms, behind| limit_us(Duration::from_millis(interval_ms), behind, true) / 1_000;
        // A client that reads every second, as at the usual pace of few transfers, has a second.
        assert_eq!([500, 1_000, 4_000].map(|interval_ms| limit_ms(interval_ms, Some(0.0))), [1_000; 3]);
        // One that reads every 28 s has a quarter of that, also while it catches up with what the rise has left.
        assert_eq!([0.0, -0.3, 0.05].map(|behind| limit_ms(28_000, Some(behind))), [7_000; 3]);
        // One that does nine of ten reads falls behind: its reads would be later with each second.
        assert_eq!([Some(0.1), None].map(|behind| limit_ms(28_000, behind)), [1_000; 2]);
        // Clients that wait for their first byte may wait for a client that gets no CPU.
        assert_eq!(limit_us(Duration::from_secs(28), Some(0.0), false), 1_000_000);
    }

    /// The seconds of a hold with a read that is so late, seconds.
    fn lateness(seconds: impl IntoIterator<Item = (u64, f64)>) -> Lateness {
        let mut lateness = Lateness::default();
        for (at, late_s) in seconds {
            let mut second = TransferSecond::new(at);
            second.times.late.record((late_s * 1e6) as u64).expect("a lateness within an hour");
            lateness.add(&second);
        }
        lateness
    }

    fn is_about(share: Option<f64>, expected: f64) -> bool {
        // Histograms have three digits.
        share.is_some_and(|share| (share - expected).abs() < 0.01)
    }

    #[test]
    fn a_client_falls_behind_by_the_reads_that_it_does_not_do() {
        let grows =
            |by_s: f64, seconds: u64| lateness((7..7 + seconds).map(|at| (at, 3.0 + by_s * (at - 7) as f64)));
        // Nine of ten seconds' reads in each second: a tenth of a second later each time.
        assert!([5, 10, 61].iter().all(|seconds| is_about(grows(0.1, *seconds).behind_share(), 0.1)));
        assert!(is_about(grows(0.0, 60).behind_share(), 0.0));
        assert!(is_about(grows(-0.04, 60).behind_share(), -0.04));
        assert_eq!(grows(0.1, 3).behind_share(), None);
    }

    #[test]
    fn seconds_without_a_read_are_left_out_but_not_their_time() {
        let mut seldom = lateness([(0, 1.0), (20, 3.0), (40, 5.0)]);
        seldom.add(&TransferSecond::new(50));
        assert_eq!(seldom.behind_share(), None);
        assert!(is_about(lateness([(0, 1.0), (20, 3.0), (40, 5.0), (60, 7.0)]).behind_share(), 0.1));
    }
}
