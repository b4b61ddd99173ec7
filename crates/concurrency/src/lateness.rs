//! Whether the client kept to its pace: how late its reads were, and how late they may be. What follows is left to `client`.
//!
//! The window of a transfer holds what its pace asks for until its next read is due. A read that is late by a part of that finds all of
//! it, and the next one is due as early as before: the transfer keeps its pace. A read that is later loses as much of it
//! ([`load::transfers::most_late`]). Lateness costs something where that happens, where it grows, and where all that the client does is
//! late (`docs/decisions/0022-transfers-in-progress.md`).

use std::time::Duration;

use archive::model::ConcurrencyStep;
use load::record::Micros;
use load::transfers::{TransferSecond, most_late};

/// A client that falls further behind by more than this part of the time has lost as much of its pace.
const MOST_BEHIND: f64 = 0.05;

/// Fewer seconds do not show whether the client falls behind.
const FEWEST_SECONDS: usize = 4;

/// How late reads may be (99th percentile, microseconds), from the time between two reads of a transfer and from
/// [`Lateness::behind_share`]. Where clients are not served well, late reads may be a sign of why: nothing is hidden then.
pub(crate) fn limit_us(interval: Duration, behind_share: Option<f64>, is_served_well: bool) -> u64 {
    let keeps_up = behind_share.is_some_and(|share| share <= MOST_BEHIND);
    let hides = if keeps_up && is_served_well { interval } else { Duration::ZERO };
    most_late(hides).as_micros() as u64
}

/// Whether no read of a rise waits for the client any more.
pub(crate) fn has_caught_up(second: &TransferSecond<Micros>) -> bool {
    second.times.late.value_at_quantile(0.99) <= most_late(Duration::ZERO).as_micros() as u64
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

/// How far transfers were behind their pace in each second of a step that had reads.
#[derive(Debug, Default)]
pub(crate) struct Lateness {
    seconds: Vec<LateSecond>,
    /// What a transfer has lost so far, where reads began its pace anew, seconds.
    lost: f64,
}

/// Seconds, both.
#[derive(Debug)]
struct LateSecond {
    at: f64,
    behind: f64,
}

impl Lateness {
    /// Adds the next second.
    pub fn add(&mut self, second: &TransferSecond<Micros>) {
        let late = &second.times.late;
        if !late.is_empty() {
            self.seconds.push(LateSecond { at: second.second as f64, behind: late.mean() / 1e6 + self.lost });
        }
        self.lost += second.lost_us as f64 / 1e6 / second.in_progress.max(1) as f64;
    }

    /// The part of the step by which transfers fell behind from its begin to its end: as much of their pace clients lost. Negative
    /// where the client caught up; none where the step was too short to tell.
    pub fn behind_share(&self) -> Option<f64> {
        let seconds = &self.seconds;
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
        Some(grown(|second| second.behind) / grown(|second| second.at))
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

    /// The seconds of a step with a read that is so late, seconds.
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
    fn what_is_lost_where_a_pace_begins_anew_is_not_made_up_for() {
        let mut lateness = Lateness::default();
        // Each second a tenth of ten transfers is read, 9 s late: of 10 s from read to read, 9 are lost.
        for at in 0..60 {
            let mut second =
                TransferSecond { in_progress: 10, lost_us: 9_000_000, ..TransferSecond::new(at) };
            second.times.late.record(9_000_000).expect("a lateness within an hour");
            lateness.add(&second);
        }
        assert!(is_about(lateness.behind_share(), 0.9), "{lateness:?}");
    }

    #[test]
    fn seconds_without_a_read_are_left_out_but_not_their_time() {
        let mut seldom = lateness([(0, 1.0), (20, 3.0), (40, 5.0)]);
        seldom.add(&TransferSecond::new(50));
        assert_eq!(seldom.behind_share(), None);
        assert!(is_about(lateness([(0, 1.0), (20, 3.0), (40, 5.0), (60, 7.0)]).behind_share(), 0.1));
    }
}
