//! Which connection does an operation, and when it is due: closed and open loop.
//!
//! Pure bookkeeping in time that is passed in: no clock, no socket, so that a schedule of an hour is tested
//! in milliseconds. The worker tells the pacer when a connection becomes free and asks it what is due.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64Mcg;

use crate::clock::Nanos;
use crate::inputs::rate::{RateClock, RateProfile};
use crate::spec::Arrivals;

/// Index of a connection within its worker.
pub(super) type ConnectionId = u32;

/// An operation to begin now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Assignment {
    pub connection: ConnectionId,
    /// When it should have begun: response time counts from here.
    pub due: Nanos,
    /// When its connection became free: what the client can be late against.
    pub free_since: Nanos,
}

/// One worker's share of an open loop's arrivals, as instants in rising order.
#[derive(Debug)]
pub(super) struct Schedule {
    begin: Nanos,
    rate: RateClock,
    arrivals: Arrivals,
    rng: Pcg64Mcg,
    count: f64,
    next: Nanos,
}

impl Schedule {
    /// The share of worker `worker` of `workers` in a profile that starts at `begin` with the warm-up.
    /// At a constant rate the workers take turns, so that their connections do not fire together.
    pub fn new(
        profile: &RateProfile,
        arrivals: Arrivals,
        warmup: Duration,
        begin: Nanos,
        (worker, workers): (u32, u32),
        seed: u64,
    ) -> Self {
        let share = 1.0 / f64::from(workers);
        let count = match arrivals {
            Arrivals::Poisson => 0.0,
            Arrivals::Constant => f64::from(worker) * share - 1.0,
        };
        let mut schedule = Self {
            begin,
            rate: profile.clock(warmup, share),
            arrivals,
            rng: Pcg64Mcg::seed_from_u64(seed),
            count,
            next: begin,
        };
        schedule.advance();
        schedule
    }

    fn advance(&mut self) {
        self.count += match self.arrivals {
            Arrivals::Poisson => Exp1.sample(&mut self.rng),
            Arrivals::Constant => 1.0,
        };
        let seconds = self.rate.instant_of(self.count);
        self.next = Nanos(self.begin.0.saturating_add((seconds * 1e9) as u64));
    }

    fn take_due(&mut self, now: Nanos, end: Nanos) -> Option<Nanos> {
        let due = self.next;
        (due <= now && due < end).then(|| {
            self.advance();
            due
        })
    }
}

#[derive(Debug)]
enum Loop {
    /// Every connection does its next operation a think time after its last.
    Closed { think: Duration },
    /// Operations arrive by themselves and take the connection that has been free longest.
    Open { schedule: Schedule, free: VecDeque<(ConnectionId, Nanos)>, backlog: VecDeque<Nanos> },
}

/// Decides when connections begin operations.
#[derive(Debug)]
pub(super) struct Pacer {
    mode: Loop,
    /// Operations that may still begin.
    remaining: u64,
    /// Operations due from here on are not begun.
    end: Nanos,
    /// Connections that think, or wait before they try again.
    resting: BinaryHeap<Reverse<(Nanos, ConnectionId)>>,
    due_count: u64,
}

impl Pacer {
    /// At most `remaining` operations, each after `think` on its connection.
    pub fn closed(think: Duration, remaining: u64, end: Nanos) -> Self {
        Self::new(Loop::Closed { think }, remaining, end)
    }

    /// At most `remaining` operations, on a schedule.
    pub fn open(schedule: Schedule, remaining: u64, end: Nanos) -> Self {
        Self::new(Loop::Open { schedule, free: VecDeque::new(), backlog: VecDeque::new() }, remaining, end)
    }

    fn new(mode: Loop, remaining: u64, end: Nanos) -> Self {
        Self { mode, remaining, end, resting: BinaryHeap::new(), due_count: 0 }
    }

    /// A connection joins at the start of the run. With a think time they do not begin all at once but
    /// spread over the first one, in their order (`of` connections).
    pub fn join(&mut self, connection: ConnectionId, of: u32, now: Nanos) -> Option<Assignment> {
        if let Loop::Closed { think } = self.mode
            && !think.is_zero()
        {
            let at = now.after(think.mul_f64(f64::from(connection) / f64::from(of)));
            self.resting.push(Reverse((at, connection)));
            return None;
        }
        self.release(connection, now, now)
    }

    /// A connection has ended its operation. Gives it the next one if that is due already.
    pub fn release(&mut self, connection: ConnectionId, now: Nanos, free_since: Nanos) -> Option<Assignment> {
        match &mut self.mode {
            Loop::Closed { think } if think.is_zero() => self.begin(connection, now, free_since),
            Loop::Closed { think } => {
                self.resting.push(Reverse((now.after(*think), connection)));
                None
            }
            Loop::Open { free, backlog, .. } => {
                if let Some(due) = backlog.pop_front() {
                    return Some(Assignment { connection, due, free_since });
                }
                free.push_back((connection, free_since));
                None
            }
        }
    }

    /// A connection could not be opened: it rests until `until` and then counts as free.
    pub fn rest(&mut self, connection: ConnectionId, until: Nanos) {
        self.resting.push(Reverse((until, connection)));
    }

    /// The next operation that is due by `now` and has a connection; ask until there is none.
    pub fn due(&mut self, now: Nanos) -> Option<Assignment> {
        while let Some(&Reverse((at, connection))) = self.resting.peek()
            && at <= now
        {
            self.resting.pop();
            let assignment = match self.mode {
                Loop::Closed { .. } => self.begin(connection, at, at),
                Loop::Open { .. } => self.release(connection, now, now),
            };
            if assignment.is_some() {
                return assignment;
            }
        }
        let Loop::Open { schedule, free, backlog } = &mut self.mode else { return None };
        while self.remaining > 0
            && let Some(due) = schedule.take_due(now, self.end)
        {
            self.remaining -= 1;
            self.due_count += 1;
            if let Some((connection, free_since)) = free.pop_front() {
                return Some(Assignment { connection, due, free_since });
            }
            backlog.push_back(due);
        }
        None
    }

    /// A closed loop's operation is due at `due`, unless there are enough.
    fn begin(&mut self, connection: ConnectionId, due: Nanos, free_since: Nanos) -> Option<Assignment> {
        if self.remaining == 0 || due >= self.end {
            return None;
        }
        self.remaining -= 1;
        self.due_count += 1;
        Some(Assignment { connection, due, free_since })
    }

    /// When [`Pacer::due`] should be asked next, at the latest.
    pub fn next_due(&self) -> Nanos {
        let rested = self.resting.peek().map_or(Nanos::NEVER, |Reverse((at, _))| *at);
        match &self.mode {
            Loop::Open { schedule, .. } if self.remaining > 0 && schedule.next < self.end => {
                rested.min(schedule.next)
            }
            _ => rested,
        }
    }

    /// Drops operations that have waited for a connection since before `since`; returns how many.
    pub fn drop_waiting(&mut self, since: Nanos) -> u64 {
        let Loop::Open { backlog, .. } = &mut self.mode else { return 0 };
        let stale = backlog.partition_point(|&due| due < since);
        backlog.drain(..stale);
        stale as u64
    }

    /// No operation begins that is due at `now` or later.
    pub fn stop(&mut self, now: Nanos) {
        self.end = self.end.min(now);
    }

    /// Can nothing begin any more, whatever becomes free?
    pub fn is_finished(&self, now: Nanos) -> bool {
        let waiting = matches!(&self.mode, Loop::Open { backlog, .. } if !backlog.is_empty());
        !waiting && (self.remaining == 0 || now >= self.end)
    }

    /// Operations that fell due since the last call.
    pub fn take_due_count(&mut self) -> u64 {
        std::mem::take(&mut self.due_count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn constant(rate: f64, worker: u32, workers: u32) -> Schedule {
        let profile = RateProfile::constant(rate);
        Schedule::new(&profile, Arrivals::Constant, Duration::ZERO, Nanos(0), (worker, workers), 1)
    }

    fn instants(mut schedule: Schedule, until: Nanos) -> Vec<Nanos> {
        std::iter::from_fn(|| schedule.take_due(Nanos::NEVER, until)).collect()
    }

    #[test]
    fn a_constant_rate_is_kept_for_two_thousand_seconds() {
        let instants = instants(constant(1_000.0, 0, 1), Nanos(2_000 * SECOND));
        assert_eq!(instants.len(), 2_000_000);
        let last = instants[instants.len() - 1];
        assert!(last.0.abs_diff(1_999_999_000_000) <= 1_000, "{last:?}");
    }

    #[test]
    fn workers_take_turns_at_a_constant_rate() {
        let first = instants(constant(1_000.0, 0, 2), Nanos(SECOND));
        let second = instants(constant(1_000.0, 1, 2), Nanos(SECOND));
        assert_eq!((first.len(), second.len()), (500, 500));
        assert!(first.iter().zip(&second).all(|(a, b)| b.0.abs_diff(a.0 + 1_000_000) <= 1));
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_the_spread_of_an_exponential() {
        let profile = RateProfile::constant(10_000.0);
        let schedule = Schedule::new(&profile, Arrivals::Poisson, Duration::ZERO, Nanos(0), (0, 1), 42);
        let instants = instants(schedule, Nanos(20 * SECOND));
        let gaps: Vec<f64> = instants.windows(2).map(|w| (w[1].0 - w[0].0) as f64 / 1e5).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.01 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
    }

    #[test]
    fn in_an_open_loop_what_finds_no_connection_waits_and_keeps_its_due_time() {
        let mut pacer = Pacer::open(constant(10.0, 0, 1), u64::MAX, Nanos::NEVER);
        assert_eq!(pacer.release(0, Nanos(0), Nanos(0)), None);
        let first = pacer.due(Nanos(0)).expect("the first is due at once");
        assert_eq!((first.connection, first.due), (0, Nanos(0)));
        assert_eq!(pacer.due(Nanos(SECOND / 4)), None, "two are due, but no connection is free");
        let freed = Nanos(SECOND / 2);
        let second = pacer.release(0, freed, freed).expect("one waits");
        assert_eq!((second.due, second.free_since), (Nanos(SECOND / 10), freed));
        assert_eq!(pacer.drop_waiting(Nanos(SECOND)), 1);
        assert_eq!(pacer.take_due_count(), 3);
    }

    #[test]
    fn in_a_closed_loop_a_connection_thinks_between_operations() {
        let mut pacer = Pacer::closed(Duration::from_millis(10), 3, Nanos::NEVER);
        assert_eq!(pacer.join(0, 2, Nanos(0)), None);
        assert_eq!(pacer.join(1, 2, Nanos(0)), None);
        assert_eq!(pacer.next_due(), Nanos(0));
        assert_eq!(pacer.due(Nanos(0)).map(|a| a.connection), Some(0));
        assert_eq!(pacer.due(Nanos(5_000_000)).map(|a| a.connection), Some(1), "half a think time later");
        assert_eq!(pacer.release(0, Nanos(7_000_000), Nanos(7_000_000)), None);
        assert_eq!(pacer.next_due(), Nanos(17_000_000));
        assert!(pacer.due(Nanos(17_000_000)).is_some());
        assert!(pacer.is_finished(Nanos(17_000_000)), "three were allowed");
    }

    #[test]
    fn without_think_time_the_next_operation_is_due_when_the_last_ends() {
        let mut pacer = Pacer::closed(Duration::ZERO, u64::MAX, Nanos(SECOND));
        let next = pacer.release(4, Nanos(9), Nanos(9)).expect("at once");
        assert_eq!((next.connection, next.due), (4, Nanos(9)));
        assert_eq!(pacer.release(4, Nanos(SECOND), Nanos(SECOND)), None, "the run has ended");
    }
}
