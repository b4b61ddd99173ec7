//! Assigns operations to connections when they are due: closed loop, open loop, and users who walk.
//!
//! It has no clock and no socket; callers pass the time. So a test runs an hour of a schedule in milliseconds. The worker
//! reports when a connection becomes free, and asks for what is due.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;
use std::time::Duration;

use super::connection_id::ConnectionId;
use super::schedule::Schedule;
use super::walks::{PlannedOperation, Walks};
use crate::clock::Nanos;
use crate::record::UserStats;

/// Most operations that wait for a connection, 8 bytes each. A server that is this far behind has not kept up, with or
/// without the rest.
const MOST_WAITING: usize = 4 << 20;

/// An operation to begin now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Assignment {
    pub connection: ConnectionId,
    /// When it should have begun: response time counts from here.
    pub intended_start: Nanos,
    /// When its connection became free: the client cannot be late before that.
    pub free_since: Nanos,
}

/// Closed loop, open loop or users, with its state.
#[derive(Debug)]
enum PacerMode {
    /// Every connection begins its next operation a think time after its last.
    Closed { think: Duration },
    /// Operations arrive on a schedule and take the connection that has been free longest.
    Open { schedule: Schedule, free: VecDeque<(ConnectionId, Nanos)>, backlog: VecDeque<Nanos> },
    /// Each connection is of a user, who says which operation is next and when.
    Users { walks: Box<Walks>, visits: Option<Visits> },
}

/// Users who arrive from outside and leave.
#[derive(Debug)]
struct Visits {
    schedule: Schedule,
    /// Slots without a user.
    free: VecDeque<ConnectionId>,
}

/// Decides when connections begin operations.
#[derive(Debug)]
pub(super) struct Pacer {
    mode: PacerMode,
    /// Operations that may still begin.
    remaining: u64,
    /// Operations due before this are not counted; operations due at its end or later do not begin.
    measured: Range<Nanos>,
    /// Connections in their think time, or waiting to connect again.
    resting: BinaryHeap<Reverse<(Nanos, ConnectionId)>>,
    offered: u64,
    /// Operations beyond the most that may wait.
    overflow: u64,
}

impl Pacer {
    /// At most `remaining` operations, each after `think` on its connection.
    pub fn closed(think: Duration, remaining: u64, measured: Range<Nanos>) -> Self {
        Self::new(PacerMode::Closed { think }, remaining, measured)
    }

    /// At most `remaining` operations, on a schedule.
    pub fn open(schedule: Schedule, remaining: u64, measured: Range<Nanos>) -> Self {
        let mode = PacerMode::Open { schedule, free: VecDeque::new(), backlog: VecDeque::new() };
        Self::new(mode, remaining, measured)
    }

    /// At most `remaining` operations of users.
    pub fn users(walks: Box<Walks>, remaining: u64, measured: Range<Nanos>) -> Self {
        Self::of_walks(walks, None, remaining, measured)
    }

    /// At most `remaining` operations of visits that arrive on a schedule. One that finds no connection without a visit is refused.
    pub fn visits(walks: Box<Walks>, schedule: Schedule, remaining: u64, measured: Range<Nanos>) -> Self {
        Self::of_walks(walks, Some(Visits { schedule, free: VecDeque::new() }), remaining, measured)
    }

    fn of_walks(
        mut walks: Box<Walks>,
        visits: Option<Visits>,
        remaining: u64,
        measured: Range<Nanos>,
    ) -> Self {
        walks.begin_part(measured.clone());
        Self::new(PacerMode::Users { walks, visits }, remaining, measured)
    }

    /// Whether the user of a connection has left, so that the connection ends.
    #[inline]
    pub fn has_left(&self, connection: ConnectionId) -> bool {
        matches!(&self.mode, PacerMode::Users { walks, visits: Some(_) } if walks.is_away(connection))
    }

    /// The part has ended at `now`: its users, for the next one.
    pub fn into_users(self, now: Nanos) -> Option<Box<Walks>> {
        let PacerMode::Users { mut walks, .. } = self.mode else { return None };
        walks.end_part(now);
        Some(walks)
    }

    /// What users did since the last call.
    pub fn take_users(&mut self, into: &mut Option<Box<UserStats>>) {
        let PacerMode::Users { walks, .. } = &mut self.mode else { return };
        match into {
            Some(sum) => sum.merge(&walks.stats),
            None => *into = Some(Box::new(walks.stats.clone())),
        }
        walks.stats.clear();
    }

    /// The next operation of a connection's user; none where the driver chooses.
    #[inline]
    pub fn planned(&self, connection: ConnectionId) -> Option<PlannedOperation> {
        match &self.mode {
            PacerMode::Users { walks, .. } => Some(walks.planned(connection)),
            _ => None,
        }
    }

    fn new(mode: PacerMode, remaining: u64, measured: Range<Nanos>) -> Self {
        Self { mode, remaining, measured, resting: BinaryHeap::new(), offered: 0, overflow: 0 }
    }

    /// A connection joins a run that began at `begin`; it was free from then on. With a think time, its first operation is due after
    /// this share of it, 0 to 1: so those of all connections, also of other workers, are spread evenly.
    pub fn join(
        &mut self,
        connection: ConnectionId,
        share: f64,
        begin: Nanos,
        now: Nanos,
    ) -> Option<Assignment> {
        let at = match &mut self.mode {
            PacerMode::Closed { think } if !think.is_zero() => begin.after(think.mul_f64(share)),
            PacerMode::Users { walks, visits: Some(visits) } if walks.is_away(connection) => {
                visits.free.push_back(connection);
                return None;
            }
            PacerMode::Users { walks, .. } => walks.join(connection, share, begin),
            _ => return self.release(connection, now, begin),
        };
        self.resting.push(Reverse((at, connection)));
        None
    }

    /// A connection has ended its operation. Returns its next one if that is due already.
    #[inline]
    pub fn release(&mut self, connection: ConnectionId, now: Nanos, free_since: Nanos) -> Option<Assignment> {
        match &mut self.mode {
            PacerMode::Closed { think } if think.is_zero() => self.begin(connection, now, free_since),
            PacerMode::Closed { think } => {
                self.resting.push(Reverse((now.after(*think), connection)));
                None
            }
            PacerMode::Open { free, backlog, .. } => {
                if let Some(intended_start) = backlog.pop_front() {
                    return Some(Assignment { connection, intended_start, free_since });
                }
                free.push_back((connection, free_since));
                None
            }
            PacerMode::Users { walks, visits } => {
                let at = match visits {
                    Some(visits) if walks.is_away(connection) => {
                        visits.free.push_back(connection);
                        return None;
                    }
                    visits if walks.is_busy(connection) => {
                        let Some(at) = walks.end(connection, free_since, visits.is_none()) else {
                            if let Some(visits) = visits {
                                visits.free.push_back(connection);
                            }
                            return None;
                        };
                        at
                    }
                    // A connection that opened late has a user who joins now.
                    _ => walks.join(connection, 0.0, now),
                };
                if at <= now {
                    return self.begin(connection, at, free_since);
                }
                self.resting.push(Reverse((at, connection)));
                None
            }
        }
    }

    /// A connection could not be opened: it rests until `until` and then counts as free. Its user's operation has failed.
    pub fn rest(&mut self, connection: ConnectionId, until: Nanos) {
        let mut until = until;
        if let PacerMode::Users { walks, visits } = &mut self.mode {
            let has_left =
                walks.is_busy(connection) && walks.end(connection, until, visits.is_none()).is_none();
            match visits {
                Some(visits) if has_left || walks.is_away(connection) => {
                    return visits.free.push_back(connection);
                }
                _ => walks.postpone(connection, until),
            }
            until = walks.due(connection);
        }
        self.resting.push(Reverse((until, connection)));
    }

    /// The next operation that is due by `now` and has a connection. Call until there is none.
    #[inline]
    pub fn due(&mut self, now: Nanos) -> Option<Assignment> {
        while let Some(&Reverse((at, connection))) = self.resting.peek()
            && at <= now
        {
            self.resting.pop();
            let assignment = match self.mode {
                PacerMode::Closed { .. } | PacerMode::Users { .. } => self.begin(connection, at, at),
                PacerMode::Open { .. } => self.release(connection, now, now),
            };
            if assignment.is_some() {
                return assignment;
            }
        }
        if let PacerMode::Users { visits: Some(_), .. } = &self.mode {
            return self.next_visit(now);
        }
        let PacerMode::Open { schedule, free, backlog } = &mut self.mode else { return None };
        while self.remaining > 0
            && let Some(intended_start) = schedule.take_due(now, self.measured.end)
        {
            self.remaining -= 1;
            self.offered += u64::from(intended_start >= self.measured.start);
            if let Some((connection, free_since)) = free.pop_front() {
                return Some(Assignment { connection, intended_start, free_since });
            }
            if backlog.len() < MOST_WAITING {
                backlog.push_back(intended_start);
            } else {
                self.overflow += 1;
            }
        }
        None
    }

    /// The next visit that has arrived by `now` and has a slot.
    #[cold]
    fn next_visit(&mut self, now: Nanos) -> Option<Assignment> {
        while self.remaining > 0 {
            let PacerMode::Users { walks, visits: Some(visits) } = &mut self.mode else { return None };
            let at = visits.schedule.take_due(now, self.measured.end)?;
            let slot = visits.free.pop_front();
            walks.count_arrival(at, slot.is_some());
            if let Some(slot) = slot {
                walks.arrive(slot, at);
                return self.begin(slot, at, at);
            }
        }
        None
    }

    /// An operation of a closed loop or of a user is due at `intended_start`, unless all have begun.
    #[inline]
    fn begin(
        &mut self,
        connection: ConnectionId,
        intended_start: Nanos,
        free_since: Nanos,
    ) -> Option<Assignment> {
        if self.remaining == 0 || intended_start >= self.measured.end {
            return None;
        }
        self.remaining -= 1;
        self.offered += u64::from(intended_start >= self.measured.start);
        if let PacerMode::Users { walks, .. } = &mut self.mode {
            walks.begin(connection);
        }
        Some(Assignment { connection, intended_start, free_since })
    }

    /// When to call [`Pacer::due`] next, at the latest.
    pub fn next_due(&self) -> Nanos {
        let rested = self.resting.peek().map_or(Nanos::NEVER, |Reverse((at, _))| *at);
        rested.min(self.next_arrival())
    }

    /// When the next operation of an open loop is due; never if there is none.
    fn next_arrival(&self) -> Nanos {
        match &self.mode {
            PacerMode::Open { schedule, .. }
            | PacerMode::Users { visits: Some(Visits { schedule, .. }), .. }
                if self.remaining > 0 && schedule.next() < self.measured.end =>
            {
                schedule.next()
            }
            _ => Nanos::NEVER,
        }
    }

    /// Drops operations that have waited for a connection since before `since`; returns how many.
    pub fn drop_waiting(&mut self, since: Nanos) -> u64 {
        let PacerMode::Open { backlog, .. } = &mut self.mode else { return 0 };
        let stale = backlog.partition_point(|&intended_start| intended_start < since);
        backlog.drain(..stale);
        stale as u64 + std::mem::take(&mut self.overflow)
    }

    /// No operation begins that is due at `now` or later.
    pub fn stop(&mut self, now: Nanos) {
        self.measured.end = self.measured.end.min(now);
    }

    /// Can no operation begin any more, except when a busy connection is released?
    pub fn is_finished(&self) -> bool {
        match &self.mode {
            PacerMode::Closed { .. } | PacerMode::Users { .. } => {
                let next = self.resting.peek().map_or(Nanos::NEVER, |Reverse((at, _))| *at);
                let next = next.min(self.next_arrival());
                self.remaining == 0 || next >= self.measured.end
            }
            PacerMode::Open { backlog, .. } => backlog.is_empty() && self.next_arrival() == Nanos::NEVER,
        }
    }

    /// Do operations wait for a connection?
    pub fn is_behind(&self) -> bool {
        matches!(&self.mode, PacerMode::Open { backlog, .. } if !backlog.is_empty())
    }

    /// Have all allowed operations begun?
    pub fn is_exhausted(&self) -> bool {
        self.remaining == 0
    }

    /// Operations that fell due in the measured time since the last call.
    pub fn take_offered(&mut self) -> u64 {
        std::mem::take(&mut self.offered)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::inputs::rate::RateProfile;
    use crate::spec::Arrivals;
    use crate::users::delay::{Delay, DelayKind};
    use crate::users::{NextOperation, PassCriteria, UserPlan};

    const SECOND: u64 = 1_000_000_000;
    const ALWAYS: Range<Nanos> = Nanos(0)..Nanos::NEVER;

    fn constant(rate: f64, worker: u32, workers: u32) -> Schedule {
        let profile = RateProfile::constant(rate);
        Schedule::new(&profile, Arrivals::Constant, Duration::ZERO, Nanos(0), (worker, workers), 1)
    }

    #[test]
    fn in_an_open_loop_an_operation_without_a_connection_waits_and_keeps_its_due_time() {
        let mut pacer = Pacer::open(constant(10.0, 0, 1), u64::MAX, ALWAYS);
        assert_eq!(pacer.release(0, Nanos(0), Nanos(0)), None);
        let first = pacer.due(Nanos(0)).expect("the first is due at once");
        assert_eq!((first.connection, first.intended_start), (0, Nanos(0)));
        assert_eq!(pacer.due(Nanos(SECOND / 4)), None, "two are due, but no connection is free");
        let freed = Nanos(SECOND / 2);
        let second = pacer.release(0, freed, freed).expect("one waits");
        assert_eq!((second.intended_start, second.free_since), (Nanos(SECOND / 10), freed));
        assert_eq!(pacer.drop_waiting(Nanos(SECOND)), 1);
        assert_eq!(pacer.take_offered(), 3);
    }

    #[test]
    fn in_a_closed_loop_a_connection_thinks_between_operations() {
        let mut pacer = Pacer::closed(Duration::from_millis(10), 3, ALWAYS);
        assert_eq!(pacer.join(0, 0.0, Nanos(0), Nanos(0)), None);
        assert_eq!(pacer.join(1, 0.5, Nanos(0), Nanos(0)), None);
        assert_eq!(pacer.next_due(), Nanos(0));
        assert_eq!(pacer.due(Nanos(0)).map(|a| a.connection), Some(0));
        assert_eq!(pacer.due(Nanos(5_000_000)).map(|a| a.connection), Some(1), "half a think time later");
        assert_eq!(pacer.release(0, Nanos(7_000_000), Nanos(7_000_000)), None);
        assert_eq!(pacer.next_due(), Nanos(17_000_000));
        assert!(pacer.due(Nanos(17_000_000)).is_some());
        assert!(pacer.is_finished(), "three were allowed");
    }

    #[test]
    fn without_think_time_the_next_operation_is_due_when_the_last_one_ends() {
        let mut pacer = Pacer::closed(Duration::ZERO, u64::MAX, Nanos(0)..Nanos(SECOND));
        let next = pacer.release(4, Nanos(9), Nanos(9)).expect("at once");
        assert_eq!((next.connection, next.intended_start), (4, Nanos(9)));
        assert_eq!(pacer.release(4, Nanos(SECOND), Nanos(SECOND)), None, "the run has ended");
    }

    #[test]
    fn operations_due_before_the_end_begin_even_after_it() {
        let mut pacer = Pacer::open(constant(10.0, 0, 1), u64::MAX, Nanos(0)..Nanos(SECOND / 2));
        pacer.release(0, Nanos(0), Nanos(0));
        assert!(!pacer.is_finished(), "five are due in half a second");
        assert!(pacer.due(Nanos(SECOND)).is_some());
        assert_eq!(pacer.due(Nanos(SECOND)), None, "no connection is free");
        assert!(!pacer.is_finished(), "four wait");
        assert_eq!((pacer.drop_waiting(Nanos::NEVER), pacer.take_offered()), (4, 5));
        assert!(pacer.is_finished());
        let mut pacer = Pacer::closed(Duration::from_millis(10), 3, Nanos(0)..Nanos(SECOND));
        pacer.rest(0, Nanos(SECOND - 1));
        assert!(!pacer.is_finished());
        assert!(pacer.due(Nanos(2 * SECOND)).is_some_and(|a| a.intended_start == Nanos(SECOND - 1)));
    }

    #[test]
    fn operations_due_in_the_warm_up_begin_and_are_not_counted() {
        let mut pacer = Pacer::open(constant(10.0, 0, 1), u64::MAX, Nanos(SECOND)..Nanos(2 * SECOND));
        let mut begun = 0;
        for id in 0..30 {
            pacer.release(id, Nanos(0), Nanos(0));
        }
        while pacer.due(Nanos(3 * SECOND)).is_some() {
            begun += 1;
        }
        assert_eq!((begun, pacer.take_offered()), (20, 10));
    }

    /// Users of two operations with delays around 20 ms, a tenth of whom leave after each.
    fn walks(users: u32) -> Box<Walks> {
        let delay = |kind| Delay::parse(kind, "exp:20ms", None).expect("a delay");
        let plan = UserPlan {
            start: None,
            next: NextOperation::Weights(vec![0.5, 0.5]),
            leave: vec![0.1; 2],
            delays: vec![delay(DelayKind::Cycle), delay(DelayKind::Think)],
            limits: vec![None; 2],
            pass: PassCriteria::default(),
        };
        Box::new(Walks::new(&plan, users, 1))
    }

    #[derive(Clone, Debug)]
    enum Action {
        /// Time passes, and everything that is due begins.
        Pass { ms: u64 },
        /// One of the busy connections ends its operation.
        Release { pick: usize },
        /// One of them could not be opened.
        Rest { pick: usize, ms: u64 },
        /// Operations that have waited for this long are dropped.
        Drop { ms: u64 },
    }

    fn actions() -> impl Strategy<Value = Vec<Action>> {
        let action = prop_oneof![
            4 => (0_u64..50).prop_map(|ms| Action::Pass { ms }),
            4 => (0_usize..8).prop_map(|pick| Action::Release { pick }),
            1 => ((0_usize..8), 0_u64..100).prop_map(|(pick, ms)| Action::Rest { pick, ms }),
            1 => (0_u64..200).prop_map(|ms| Action::Drop { ms }),
        ];
        prop::collection::vec(action, 0..200)
    }

    proptest! {
        /// In any sequence of events, no connection gets two operations or is lost, and no operation is lost or begun
        /// twice.
        #[test]
        fn connections_and_operations_are_conserved(
            actions in actions(),
            connections in 1_u32..8,
            mode in 0..5,
            limit in prop_oneof![Just(u64::MAX), 0_u64..60],
        ) {
            let end = Nanos(2 * SECOND);
            let mut pacer = match mode {
                0 => Pacer::closed(Duration::ZERO, limit, Nanos(0)..end),
                1 => Pacer::closed(Duration::from_millis(7), limit, Nanos(0)..end),
                2 => Pacer::open(constant(100.0, 0, 1), limit, Nanos(0)..end),
                3 => Pacer::users(walks(connections), limit, Nanos(0)..end),
                _ => Pacer::visits(walks(connections), constant(100.0, 0, 1), limit, Nanos(0)..end),
            };
            let mut now = Nanos(0);
            let mut busy = BTreeSet::new();
            let (mut begun, mut dropped) = (0_u64, 0_u64);
            let mut last_due = Nanos(0);
            macro_rules! begin {
                ($assignment:expr) => {
                    if let Some(Assignment { connection, intended_start, .. }) = $assignment {
                        prop_assert!(busy.insert(connection), "{connection} is busy already");
                        prop_assert!(intended_start <= now && intended_start < end);
                        prop_assert!(mode != 2 || intended_start >= last_due, "arrivals begin in their order");
                        last_due = intended_start;
                        begun += 1;
                    }
                };
            }
            for id in 0..connections {
                begin!(pacer.join(id, f64::from(id) / f64::from(connections), now, now));
            }
            for action in actions {
                let at = |pick: usize| busy.iter().nth(pick % busy.len().max(1)).copied();
                match action {
                    Action::Pass { ms } => {
                        now = now.after(Duration::from_millis(ms));
                        while let assignment @ Some(_) = pacer.due(now) {
                            begin!(assignment);
                        }
                        prop_assert!(pacer.next_due() > now, "everything that is due has begun");
                    }
                    Action::Release { pick } => if let Some(id) = at(pick) {
                        busy.remove(&id);
                        begin!(pacer.release(id, now, now));
                    },
                    Action::Rest { pick, ms } => if let Some(id) = at(pick) {
                        busy.remove(&id);
                        pacer.rest(id, now.after(Duration::from_millis(ms)));
                    },
                    Action::Drop { ms } => {
                        dropped += pacer.drop_waiting(now.since(Nanos::from(Duration::from_millis(ms))));
                    }
                }
            }
            // At the end, release every connection repeatedly until no operation can begin.
            now = now.max(end).after(Duration::from_secs(1));
            while !(pacer.is_finished() && busy.is_empty()) {
                while let assignment @ Some(_) = pacer.due(now) {
                    begin!(assignment);
                }
                for id in std::mem::take(&mut busy) {
                    begin!(pacer.release(id, now, now));
                }
            }
            prop_assert_eq!(pacer.take_offered(), begun + dropped);
            prop_assert!(begun + dropped <= limit);
            if mode == 2 {
                prop_assert_eq!(begun + dropped, limit.min(200), "100 a second for two seconds");
            }
        }
    }
}
