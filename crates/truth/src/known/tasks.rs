//! Decides the outcome of each request and when its reply is due. The caller passes in the time; no I/O.

use std::collections::VecDeque;
use std::time::Duration;

use load::clock::Nanos;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::behaviour::{Behaviour, Freeze};

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestOutcome {
    /// A successful reply.
    Served,
    /// An error reply.
    Failed,
    /// The connection is closed without a reply.
    Dropped,
    /// A refusal, because the queue is full.
    Refused,
}

/// The requests of one server.
#[derive(Debug)]
pub(super) struct Tasks<T> {
    behaviour: Behaviour,
    rng: Pcg64Mcg,
    first: Option<Nanos>,
    count: u64,
    /// Occupied slots, including waiting requests.
    taken: usize,
    /// Requests that wait for a slot, with their service times.
    waiting: VecDeque<(T, Duration)>,
    freezes: u64,
}

impl<T> Tasks<T> {
    pub fn new(behaviour: &Behaviour) -> Self {
        Self {
            behaviour: behaviour.clone(),
            rng: Pcg64Mcg::seed_from_u64(behaviour.seed),
            first: None,
            count: 0,
            taken: 0,
            waiting: VecDeque::new(),
            freezes: 0,
        }
    }

    /// The outcome of a request that arrives now.
    pub fn outcome(&mut self, received: Nanos) -> RequestOutcome {
        self.first.get_or_insert(received);
        self.count += 1;
        let is_nth = |every: Option<u64>| every.is_some_and(|n| self.count.is_multiple_of(n));
        match &self.behaviour {
            behaviour if is_nth(behaviour.drops_every) => RequestOutcome::Dropped,
            behaviour if is_nth(behaviour.errs_every) => RequestOutcome::Failed,
            behaviour if behaviour.slots.is_some_and(|slots| self.taken >= slots + behaviour.queue) => {
                RequestOutcome::Refused
            }
            _ => RequestOutcome::Served,
        }
    }

    /// Starts a request; returns it with the time of its reply, or `None` if it waits for a slot.
    pub fn begin(&mut self, task: T, received: Nanos) -> Option<(T, Nanos)> {
        let service = self.service(received);
        self.taken += 1;
        if self.behaviour.slots.is_some_and(|slots| self.taken > slots) {
            self.waiting.push_back((task, service));
            return None;
        }
        Some((task, received.after(service)))
    }

    /// Ends a request; returns the one that gets its slot, with the time of its reply.
    pub fn end(&mut self, now: Nanos) -> Option<(T, Nanos)> {
        self.taken -= 1;
        let (task, service) = self.waiting.pop_front()?;
        Some((task, now.after(service)))
    }

    fn service(&mut self, received: Nanos) -> Duration {
        let since_first = Duration::from(received.since(self.first.unwrap_or(received)));
        let slower = self.behaviour.slows.mul_f64(since_first.as_secs_f64());
        let colder = match self.behaviour.warms {
            Some(warms) if since_first < warms.length => {
                let misses = 1.0 - since_first.as_secs_f64() / warms.length.as_secs_f64();
                if self.rng.random::<f64>() < misses { warms.extra } else { Duration::ZERO }
            }
            _ => Duration::ZERO,
        };
        self.behaviour.service.draw(&mut self.rng) + slower + colder
    }

    /// Start and end of the next freeze.
    pub fn next_freeze(&self) -> Option<(Nanos, Nanos)> {
        let Freeze { length, period } = self.behaviour.freeze?;
        let before = period.saturating_sub(length) / 2 + period * self.freezes as u32;
        let begin = self.first?.after(before);
        Some((begin, begin.after(length)))
    }

    /// Ends a freeze.
    pub fn end_freeze(&mut self) {
        self.freezes += 1;
    }

    /// Number of freezes that ended.
    pub fn freezes(&self) -> u64 {
        self.freezes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use super::RequestOutcome::{Dropped, Failed, Served};

    const MS: u64 = 1_000_000;

    fn tasks(change: impl FnOnce(&mut Behaviour)) -> Tasks<u32> {
        let mut behaviour = Behaviour::on(80);
        change(&mut behaviour);
        Tasks::new(&behaviour)
    }

    #[test]
    fn every_nth_request_fails_or_is_dropped() {
        let mut tasks = tasks(|b| (b.errs_every, b.drops_every) = (Some(2), Some(3)));
        let outcomes: Vec<RequestOutcome> = (0..6).map(|n| tasks.outcome(Nanos(n))).collect();
        assert_eq!(outcomes, [Served, Failed, Dropped, Failed, Served, Dropped]);
    }

    #[test]
    fn a_request_is_refused_when_slots_and_queue_are_full() {
        let mut tasks = tasks(|b| {
            b.service = "fixed:10ms".parse().expect("a service time");
            (b.slots, b.queue) = (Some(1), 1);
        });
        assert_eq!((tasks.outcome(Nanos(0)), tasks.begin(1, Nanos(0))), (Served, Some((1, Nanos(10 * MS)))));
        assert_eq!((tasks.outcome(Nanos(MS)), tasks.begin(2, Nanos(MS))), (Served, None), "it waits");
        assert_eq!(tasks.outcome(Nanos(2 * MS)), RequestOutcome::Refused);
        assert_eq!(
            tasks.end(Nanos(10 * MS)),
            Some((2, Nanos(20 * MS))),
            "its service starts when a slot is free"
        );
        assert_eq!(tasks.end(Nanos(20 * MS)), None);
        assert_eq!(tasks.outcome(Nanos(20 * MS)), Served);
    }

    #[test]
    fn freezes_are_in_the_middle_of_their_periods() {
        let mut tasks = tasks(|b| b.freeze = Some("1s/10s".parse().expect("a freeze")));
        assert_eq!(tasks.next_freeze(), None, "periods start with the first request");
        tasks.outcome(Nanos(7 * MS));
        assert_eq!(tasks.next_freeze(), Some((Nanos(4_507 * MS), Nanos(5_507 * MS))));
        tasks.end_freeze();
        assert_eq!(tasks.next_freeze(), Some((Nanos(14_507 * MS), Nanos(15_507 * MS))));
    }

    #[test]
    fn a_slowdown_and_a_cache_follow_the_clock() {
        let mut slows = tasks(|b| b.slows = Duration::from_millis(1));
        slows.outcome(Nanos(0));
        assert_eq!(slows.begin(1, Nanos(3_000 * MS)), Some((1, Nanos(3_003 * MS))));
        let mut warms = tasks(|b| b.warms = Some("4s/8ms".parse().expect("a warm-up")));
        warms.outcome(Nanos(0));
        let misses = |warms: &mut Tasks<u32>, at_ms: u64| {
            (0..1_000).filter(|n| warms.begin(*n, Nanos(at_ms * MS)) != Some((*n, Nanos(at_ms * MS)))).count()
        };
        assert_eq!((misses(&mut warms, 0), misses(&mut warms, 4_000)), (1_000, 0));
        assert!((400..600).contains(&misses(&mut warms, 2_000)));
    }
}
