//! The users of one worker: where each is in its walk, and when its next operation is due.
//!
//! It has no clock and no socket; callers pass the time. So a test runs hours of a population in milliseconds. A user has the
//! connection slot of its number, and 16 bytes here: nothing grows while users walk.

use std::ops::Range;

use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::connection_id::ConnectionId;
use crate::clock::Nanos;
use crate::driver::OperationId;
use crate::record::{UserStats, micros_of, record};
use crate::users::delay::DelayKind;
use crate::users::{NextOperation, UserPlan};

/// What a user is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UserState {
    /// It has not come yet.
    Away,
    /// It waits until its next operation is due.
    Waiting,
    /// Its operation is in flight.
    Busy,
}

/// One user.
#[derive(Clone, Copy, Debug)]
struct User {
    /// When its operation was or will be due. Between two parts of a load: how long after the begin of the next one.
    due: Nanos,
    /// The place in its walk of that operation.
    place: u16,
    state: UserState,
    /// Whether that operation is its first.
    is_new: bool,
}

const _: () = assert!(size_of::<User>() <= 16);

/// The next operation of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlannedOperation {
    pub operation: OperationId,
    /// Whether it is the first of its user, who has no session yet.
    pub is_first: bool,
}

/// All users of a worker.
#[derive(Debug)]
pub(super) struct Walks {
    plan: UserPlan,
    /// For each place: the shares of the next places; none where every user leaves. One row for all where the next is independent.
    rows: Vec<Option<WeightedIndex<f64>>>,
    rng: Pcg64Mcg,
    users: Vec<User>,
    /// What they did since this was taken last.
    pub stats: UserStats,
    /// Only operations that are due in this time are counted.
    measured: Range<Nanos>,
}

impl Walks {
    /// Users of this plan, none of whom has come yet.
    pub fn new(plan: &UserPlan, slots: u32, seed: u64) -> Self {
        let shares = |row: &Vec<f64>| WeightedIndex::new(row).ok();
        let rows = match &plan.next {
            NextOperation::Matrix(rows) => rows.iter().map(shares).collect(),
            NextOperation::Weights(weights) => vec![shares(weights)],
            NextOperation::Sequence(_) => Vec::new(),
        };
        let away = User { due: Nanos(0), place: 0, state: UserState::Away, is_new: true };
        let has_transitions = matches!(plan.next, NextOperation::Matrix(_));
        Self {
            plan: plan.clone(),
            rows,
            rng: Pcg64Mcg::seed_from_u64(seed),
            users: vec![away; slots as usize],
            stats: UserStats::new(plan.operations(), has_transitions),
            measured: Nanos(0)..Nanos(0),
        }
    }

    /// A part of the load begins: what is due in `measured` is counted.
    pub fn begin_part(&mut self, measured: Range<Nanos>) {
        self.measured = measured;
        self.stats.clear();
    }

    /// A part of the load is over at `now`. Users keep what is left of their delays, and go on with the next part.
    pub fn end_part(&mut self, now: Nanos) {
        for user in &mut self.users {
            match user.state {
                UserState::Away => {}
                UserState::Waiting => user.due = user.due.since(now),
                // The load did not wait for its end.
                UserState::Busy => (user.state, user.due) = (UserState::Waiting, Nanos(0)),
            }
        }
    }

    /// A user joins a part that began at `begin`, or goes on in it. Returns when its operation is due. The first operation of a user is
    /// due as if the user had been there before: so users do not come all at once, and the rate at the begin is the rate of later.
    /// `share` of the users, 0 to 1, come before this one.
    pub fn join(&mut self, id: ConnectionId, share: f64, begin: Nanos) -> Nanos {
        let place = self.first_place();
        let user = &mut self.users[id as usize];
        if user.state == UserState::Away {
            let operation = usize::from(self.plan.operation_at(place));
            let first = Nanos((self.plan.delays[operation].residual(share) * 1e9) as u64);
            *user = User { due: first, place, state: UserState::Waiting, is_new: true };
        }
        user.due = Nanos(begin.0.saturating_add(user.due.0));
        user.due
    }

    /// The place at which a new user begins.
    fn first_place(&mut self) -> u16 {
        match (self.plan.start, &self.plan.next) {
            (Some(start), _) => start,
            (None, NextOperation::Weights(_)) => self.draw(0),
            (None, _) => 0,
        }
    }

    /// The user's operation, which is due or in flight.
    #[inline]
    pub fn planned(&self, id: ConnectionId) -> PlannedOperation {
        let user = &self.users[id as usize];
        PlannedOperation { operation: self.plan.operation_at(user.place), is_first: user.is_new }
    }

    /// When the user's operation is due.
    #[inline]
    pub fn due(&self, id: ConnectionId) -> Nanos {
        self.users[id as usize].due
    }

    /// Whether the user's operation is in flight.
    pub fn is_busy(&self, id: ConnectionId) -> bool {
        self.users[id as usize].state == UserState::Busy
    }

    /// The user's operation begins.
    #[inline]
    pub fn begin(&mut self, id: ConnectionId) {
        let user = &mut self.users[id as usize];
        user.state = UserState::Busy;
        if self.measured.contains(&user.due) {
            let operation = self.plan.operation_at(user.place);
            self.stats.delays[usize::from(operation)].begun += 1;
        }
    }

    /// A visit arrives in this slot at `at`, when its first operation is due.
    pub fn arrive(&mut self, id: ConnectionId, at: Nanos) {
        let place = self.first_place();
        self.users[id as usize] = User { due: at, place, state: UserState::Waiting, is_new: true };
    }

    /// A visit arrived at `at`, and found a slot or not.
    pub fn count_arrival(&mut self, at: Nanos, has_slot: bool) {
        if self.measured.contains(&at) {
            self.stats.arrived += 1;
            self.stats.refused += u64::from(!has_slot);
        }
    }

    /// Whether no user has this slot.
    pub fn is_away(&self, id: ConnectionId) -> bool {
        self.users[id as usize].state == UserState::Away
    }

    /// The user's operation has ended at `end`. Draws the next one and its delay; returns when it is due. None where the user has
    /// left: where users stay (`stays`), another one comes in its place instead.
    #[inline]
    pub fn end(&mut self, id: ConnectionId, end: Nanos, stays: bool) -> Option<Nanos> {
        let before = self.users[id as usize];
        let operation = usize::from(self.plan.operation_at(before.place));
        let leave = self.plan.leave[operation];
        let leaves = leave > 0.0 && self.rng.random::<f64>() < leave;
        if leaves {
            self.stats.left += u64::from(self.measured.contains(&before.due));
            if !stays {
                self.users[id as usize].state = UserState::Away;
                return None;
            }
        }
        let next = match &self.plan.next {
            _ if leaves => self.first_place(),
            NextOperation::Sequence(order) if usize::from(before.place) + 1 == order.len() => 0,
            NextOperation::Sequence(_) => before.place + 1,
            NextOperation::Weights(_) => self.draw(0),
            NextOperation::Matrix(_) => self.draw(before.place.into()),
        };
        let delay = &self.plan.delays[operation];
        let drawn = Nanos::from(delay.draw(&mut self.rng));
        let (due, late, actual) = match delay.kind {
            DelayKind::Think => (end.after(drawn.into()), Nanos(0), drawn),
            DelayKind::Cycle => {
                let planned = before.due.after(drawn.into());
                let due = planned.max(end);
                (due, end.since(planned), due.since(before.due))
            }
        };
        if self.measured.contains(&before.due) {
            let delays = &mut self.stats.delays[operation];
            delays.followed += 1;
            delays.drawn_ns += drawn.0;
            delays.actual_ns += actual.0;
            delays.idle_ns += due.since(end).0;
            if late.0 > 0 {
                record(&mut self.stats.late, micros_of(late));
            }
            let pair = operation * self.plan.operations() + usize::from(next);
            if !leaves && let Some(count) = self.stats.transitions.get_mut(pair) {
                *count += 1;
            }
        }
        self.users[id as usize] = User { due, place: next, state: UserState::Waiting, is_new: leaves };
        Some(due)
    }

    /// The user's operation is due at `until` at the earliest.
    pub fn postpone(&mut self, id: ConnectionId, until: Nanos) {
        if self.users[id as usize].state == UserState::Away {
            self.join(id, 0.0, until);
        }
        let user = &mut self.users[id as usize];
        user.due = user.due.max(until);
    }

    /// Draws a place by a row of shares.
    fn draw(&mut self, row: usize) -> u16 {
        let shares =
            self.rows[row].as_ref().expect("an operation that is not the last of every user has a next one");
        u16::try_from(shares.sample(&mut self.rng)).expect("as many places as there are operations, or fewer")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::users::PassCriteria;
    use crate::users::delay::Delay;

    const SECOND: u64 = 1_000_000_000;
    const ALWAYS: Range<Nanos> = Nanos(0)..Nanos::NEVER;

    fn plan(next: NextOperation, delay: Delay, operations: usize) -> UserPlan {
        let (delays, limits, leave) =
            (vec![delay; operations], vec![None; operations], vec![0.0; operations]);
        UserPlan { start: None, next, leave, delays, limits, pass: PassCriteria::default() }
    }

    /// Ends the operation of a user who stays.
    fn finish(walks: &mut Walks, id: ConnectionId, end: Nanos) -> Nanos {
        walks.end(id, end, true).expect("who leaves is followed by another")
    }

    fn cycle(text: &str) -> Delay {
        Delay::parse(DelayKind::Cycle, text, None).expect("a delay")
    }

    /// The upper 99.9 % point of chi-squared, after Wilson and Hilferty.
    fn chi_squared_limit(degrees: f64) -> f64 {
        let part = 2.0 / (9.0 * degrees);
        degrees * (1.0 - part + 3.09 * part.sqrt()).powi(3)
    }

    #[test]
    fn each_row_of_the_walk_has_its_declared_shares() {
        let rows = vec![
            vec![0.0, 0.11, 0.52, 0.37],
            vec![0.2, 0.2, 0.3, 0.3],
            vec![0.5, 0.0, 0.25, 0.25],
            vec![1.0, 0.0, 0.0, 0.0],
        ];
        let plan = plan(NextOperation::Matrix(rows.clone()), cycle("1s"), 4);
        let mut walks = Walks::new(&plan, 1, 11);
        walks.begin_part(ALWAYS);
        let mut now = walks.join(0, 0.0, Nanos(0));
        for _ in 0..50_000 {
            walks.begin(0);
            now = finish(&mut walks, 0, now);
        }
        for (from, row) in rows.iter().enumerate() {
            let counts = &walks.stats.transitions[from * 4..][..4];
            let all = counts.iter().sum::<u64>() as f64;
            let terms = row.iter().zip(counts).filter(|(share, _)| **share > 0.0);
            let chi: f64 = terms.clone().map(|(p, n)| (*n as f64 - all * p).powi(2) / (all * p)).sum();
            let degrees = (terms.count() - 1) as f64;
            assert!(chi <= chi_squared_limit(degrees.max(1.0)), "row {from}: {chi}");
            assert!(row.iter().zip(counts).all(|(share, count)| *share > 0.0 || *count == 0));
        }
        let shares = plan.shares();
        for (share, delay) in shares.iter().zip(&walks.stats.delays) {
            assert!((delay.begun as f64 / 50_000.0 - share).abs() < 0.02, "{shares:?}");
        }
    }

    #[test]
    fn a_population_has_the_throughput_of_its_cycle_while_replies_are_fast() {
        let (users, hour) = (200_u32, 3_600.0);
        let plan = plan(NextOperation::Weights(vec![1.0]), cycle("exp:5s"), 1);
        let mut walks = Walks::new(&plan, users, 3);
        let end = Nanos(3_600 * SECOND);
        walks.begin_part(Nanos(0)..end);
        for id in 0..users {
            let mut due = walks.join(id, f64::from(id) / f64::from(users), Nanos(0));
            while due < end {
                walks.begin(id);
                due = finish(&mut walks, id, due.after(Duration::from_millis(3)));
            }
        }
        let begun = walks.stats.delays[0].begun as f64;
        let expected = f64::from(users) * hour / plan.mean_delay();
        assert!((begun / expected - 1.0).abs() < 0.01, "{begun} of {expected}");
        let mean = walks.stats.delays[0].actual_ns as f64 / walks.stats.delays[0].followed as f64 / 1e9;
        assert!((mean / plan.mean_delay() - 1.0).abs() < 0.02, "{mean}");
    }

    #[test]
    fn a_population_has_its_rate_from_the_begin_on() {
        let (users, seconds) = (20_000_u32, 4_u64);
        let plan = plan(NextOperation::Weights(vec![1.0]), cycle("exp:5s"), 1);
        let mut walks = Walks::new(&plan, users, 3);
        let mut due_in = vec![0.0; seconds as usize];
        walks.begin_part(ALWAYS);
        for id in 0..users {
            let mut due = walks.join(id, f64::from(id) / f64::from(users), Nanos(0));
            while due < Nanos(seconds * SECOND) {
                due_in[(due.0 / SECOND) as usize] += 1.0;
                walks.begin(id);
                due = finish(&mut walks, id, due);
            }
        }
        let expected = f64::from(users) / plan.mean_delay();
        for (second, due) in due_in.iter().enumerate() {
            assert!((due / expected - 1.0).abs() < 0.06, "second {second}: {due} of {expected}");
        }
    }

    #[test]
    fn a_cycle_counts_from_due_to_due_and_a_late_one_is_recorded() {
        let plan = plan(NextOperation::Weights(vec![1.0]), cycle("2s"), 1);
        let mut walks = Walks::new(&plan, 1, 1);
        walks.begin_part(ALWAYS);
        assert_eq!(walks.join(0, 0.5, Nanos(10 * SECOND)), Nanos(11 * SECOND), "half of a cycle later");
        walks.begin(0);
        assert_eq!(finish(&mut walks, 0, Nanos(12 * SECOND)), Nanos(13 * SECOND));
        walks.begin(0);
        assert_eq!(
            finish(&mut walks, 0, Nanos(18 * SECOND)),
            Nanos(18 * SECOND),
            "three seconds after its cycle"
        );
        assert_eq!((walks.stats.late.len(), walks.stats.late.max() / 10_000), (1, 300));
        let delays = walks.stats.delays[0];
        assert_eq!((delays.drawn_ns, delays.actual_ns), (4 * SECOND, 7 * SECOND));
    }

    #[test]
    fn a_think_time_counts_from_the_end() {
        let think = Delay::parse(DelayKind::Think, "2s", None).expect("a delay");
        let mut walks = Walks::new(&plan(NextOperation::Sequence(vec![0, 0]), think, 1), 1, 1);
        walks.begin_part(ALWAYS);
        walks.join(0, 0.0, Nanos(0));
        walks.begin(0);
        assert_eq!(finish(&mut walks, 0, Nanos(9 * SECOND)), Nanos(11 * SECOND));
        assert!(walks.stats.late.is_empty());
    }

    #[test]
    fn visits_leave_by_their_shares() {
        let mut of_visits = plan(NextOperation::Weights(vec![1.0]), cycle("1s"), 1);
        of_visits.leave = vec![0.1];
        let mut walks = Walks::new(&of_visits, 1, 4);
        walks.begin_part(ALWAYS);
        let (mut visits, mut operations) = (0_u32, 0_u32);
        while visits < 2_000 {
            walks.arrive(0, Nanos(SECOND));
            assert!(walks.planned(0).is_first);
            let mut due = Some(Nanos(SECOND));
            while let Some(at) = due {
                operations += 1;
                walks.begin(0);
                due = walks.end(0, at, false);
            }
            assert!(walks.is_away(0));
            visits += 1;
        }
        let mean = f64::from(operations) / f64::from(visits);
        assert!((mean - 10.0).abs() < 0.8, "geometric, with a mean of ten: {mean}");
        assert_eq!(walks.stats.left, 2_000);
    }

    #[test]
    fn users_go_on_in_the_next_part_of_a_load() {
        let plan = plan(NextOperation::Sequence(vec![0, 1]), cycle("10s"), 2);
        let mut walks = Walks::new(&plan, 1, 1);
        walks.begin_part(ALWAYS);
        walks.join(0, 0.0, Nanos(0));
        assert!(walks.planned(0).is_first);
        walks.begin(0);
        finish(&mut walks, 0, Nanos(SECOND));
        walks.end_part(Nanos(4 * SECOND));
        walks.begin_part(ALWAYS);
        assert_eq!(walks.join(0, 0.0, Nanos(100 * SECOND)), Nanos(106 * SECOND), "six seconds were left");
        let planned = walks.planned(0);
        assert_eq!((planned.operation, planned.is_first), (1, false));
    }
}
