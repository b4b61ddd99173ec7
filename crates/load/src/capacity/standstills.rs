//! Standstills of a closed loop: for how long a server answered nobody. A pause that comes once in some seconds of work is seen rarely
//! at the rates near a capacity. In the same time a closed loop has many more operations, so it sees more of such pauses.
//!
//! In a closed loop a pause leaves no queue, and holds up one operation of each connection. So a standstill shows as late operations
//! of most connections within one interval. Operations that are late by themselves, such as the largest replies, come in every
//! interval alike: their usual number is no standstill.

use stats::describe::Sample;

use super::budget::{BudgetUse, late_share_allowed};
use crate::inputs::slo::Slo;
use crate::outcome::{LoadOutcome, TimedInterval};

/// A closed loop knows standstills where it answers each connection this many times within the limit. In a slower one, a reply takes
/// that long wherever the server is a little slower for a moment.
const REPLIES_WITHIN_LIMIT: f64 = 1.5;
/// Late operations of an interval, beyond their usual number, as a share of the connections, from which on nobody was answered.
const MOST_CONNECTIONS: f64 = 0.5;
/// One part in this many at the begin of the loop is left out: connections have just been opened.
const OPENING_PART: usize = 10;

impl BudgetUse {
    /// What standstills of a closed loop spent of each bound: the operations that would have fallen due in them, at the loop's
    /// throughput, and waited for longer than the limit. Nothing of a bound that is on no single operation, or whose limit
    /// is too short for the loop. None where the loop says nothing of any bound.
    pub fn of_standstills(slo: &Slo, closed: &LoadOutcome) -> Option<Self> {
        let observations = closed.observations();
        let loop_after_opening = &observations[observations.len() / OPENING_PART..];
        let seconds: f64 = loop_after_opening.iter().map(|one| one.length.as_secs_f64()).sum();
        let operations = loop_after_opening.iter().map(|one| one.stats.succeeded()).sum::<u64>() as f64;
        let connections = f64::from(closed.opened);
        if closed.spec.users.is_some() || connections == 0.0 || operations == 0.0 {
            return None;
        }
        let per_s = operations / seconds;
        let usual_reply_us = connections / per_s * 1e6;
        let mut bounds: Vec<(f64, f64)> = Vec::new();
        for bound in slo.bounds() {
            let is_long_enough = REPLIES_WITHIN_LIMIT * usual_reply_us <= bound.limit;
            bounds.push(match late_share_allowed(bound) {
                Some(share) if is_long_enough => {
                    // An operation waits for those of the other connections as well.
                    let late_from_us = usual_reply_us + bound.limit;
                    let standing_s = standstill_s(loop_after_opening, late_from_us, connections);
                    (standing_s * per_s, share * operations)
                }
                _ => (0.0, 0.0),
            });
        }
        let says_something = bounds.iter().any(|(_, budget)| *budget > 0.0);
        says_something.then(|| Self::from_bounds(bounds.into_iter(), operations))
    }
}

/// For how long operations that fall due would have been late, seconds: what standstills add to the response time from which on an
/// operation of the loop is late.
fn standstill_s(observations: &[&TimedInterval], late_from_us: f64, connections: f64) -> f64 {
    let late: Vec<Late> = observations.iter().map(|one| Late::of(one, late_from_us)).collect();
    let counts: Vec<f64> = late.iter().map(|late| late.operations).collect();
    let usual = Sample::new(&counts).map_or(0.0, |sample| sample.median());
    let mut beyond_us = 0.0;
    for interval in late {
        if interval.operations - usual >= MOST_CONNECTIONS * connections {
            beyond_us += interval.beyond_us;
        }
    }
    beyond_us / connections / 1e6
}

/// Late operations of an interval.
struct Late {
    /// Their number.
    operations: f64,
    /// How much longer they took, microseconds in all.
    beyond_us: f64,
}

impl Late {
    /// By the server's time: what the client took is no standstill of the server.
    fn of(interval: &TimedInterval, late_from_us: f64) -> Self {
        let times = interval.stats.merged(|operation| &operation.server_time);
        let mut late = Self { operations: 0.0, beyond_us: 0.0 };
        for step in times.iter_recorded() {
            let longer_us = step.value_iterated_to() as f64 - late_from_us;
            if longer_us > 0.0 {
                let operations = step.count_at_value() as f64;
                late.operations += operations;
                late.beyond_us += operations * longer_us;
            }
        }
        late
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::outcome::example;
    use crate::record::Interval;
    use crate::spec::{LoadPart, LoadSpec, Shape};

    const INTERVAL: Duration = Duration::from_millis(20);
    const CONNECTIONS: u32 = 10;

    /// A closed loop of ten connections and 100 intervals. Each interval has 200 operations of 1 ms, and these: their time
    /// (microseconds) and number.
    fn closed_loop(others: impl Fn(u32) -> Vec<(u64, u64)>) -> LoadOutcome {
        let like = example::outcome();
        let measured = INTERVAL * 100;
        let mut intervals = Vec::new();
        for index in 0..100 {
            let mut stats = Interval::new(1, 0);
            for (time_us, number) in others(index).into_iter().chain([(1_000, 200)]) {
                let operation = &mut stats.operations[0];
                operation.response_time.record_n(time_us, number).expect("a time");
                operation.server_time.record_n(time_us, number).expect("a time");
            }
            let times = (measured, Duration::ZERO);
            intervals.push(TimedInterval::new((i64::from(index), stats.compact()), INTERVAL, times));
        }
        let part = LoadPart { shape: Shape::closed(), interval: INTERVAL, ..like.spec.part.clone() };
        LoadOutcome {
            intervals,
            measured,
            opened: CONNECTIONS,
            spec: LoadSpec { connections: CONNECTIONS, part, ..like.spec },
            ..like
        }
    }

    /// The burn rate of the standstills.
    fn burn_rate(objective: &str, closed: &LoadOutcome) -> Option<f64> {
        let slo: Slo = objective.parse().expect("an objective");
        BudgetUse::of_standstills(&slo, closed)?.burn_rate()
    }

    #[test]
    fn a_pause_of_the_whole_server_is_a_standstill() {
        // 190 ms, and the usual millisecond. 185 ms of it are beyond the limit, of 1.8 s of which 1 % may be late.
        let pausing = closed_loop(|index| if index == 50 { vec![(191_000, 10)] } else { vec![] });
        let burn = burn_rate("p99<5ms", &pausing).expect("a burn rate");
        assert!((burn / (0.185 / 1.8 / 0.01) - 1.0).abs() < 0.01, "{burn}");
        assert_eq!(burn_rate("p99<5ms", &closed_loop(|_| vec![])), Some(0.0));
    }

    #[test]
    fn operations_that_are_late_by_themselves_are_no_standstill() {
        let with_large_replies = closed_loop(|_| vec![(40_000, 8)]);
        assert_eq!(burn_rate("p99<5ms", &with_large_replies), Some(0.0));
        let one_of_many_workers = closed_loop(|index| if index == 50 { vec![(190_000, 3)] } else { vec![] });
        assert_eq!(burn_rate("p99<5ms", &one_of_many_workers), Some(0.0));
    }

    #[test]
    fn a_loop_in_which_connections_wait_for_each_other_says_nothing() {
        // Each connection is answered once in 1 ms.
        let closed = closed_loop(|_| vec![]);
        assert_eq!(burn_rate("p99<1ms", &closed), None);
        assert_eq!(burn_rate("mean<5ms", &closed), None);
        assert_eq!(burn_rate("p99<5ms,p50<1ms", &closed), Some(0.0));
        assert_eq!(burn_rate("p99<5ms", &LoadOutcome { opened: 0, ..closed }), None);
    }

    #[test]
    fn what_happens_while_connections_open_is_left_out() {
        let at_first = closed_loop(|index| if index == 3 { vec![(190_000, 10)] } else { vec![] });
        assert_eq!(burn_rate("p99<5ms", &at_first), Some(0.0));
    }
}
