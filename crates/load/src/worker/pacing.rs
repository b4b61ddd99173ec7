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
    /// Operations that [`Pacer::take_offered`] has counted and that have yet to begin.
    counted_ahead: u64,
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
        Self {
            mode,
            remaining,
            measured,
            resting: BinaryHeap::new(),
            offered: 0,
            counted_ahead: 0,
            overflow: 0,
        }
    }

    /// A connection joins a run that began at `begin`; it was free from then on. With a think time, its first operation is due after
    /// `share` of the think time, 0 to 1: so the first operations of all connections, also of other workers, are spread evenly.
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

    /// Operations that fell due in the measured time since the last call. Those of an open loop that a late worker has yet to begin
    /// are among them, if they were due before `until`: they belong to the interval that ends there.
    pub fn take_offered(&mut self, until: Nanos) -> u64 {
        let ahead = self.due_and_not_begun(until);
        let fell_due = std::mem::take(&mut self.offered) + ahead;
        fell_due.saturating_sub(std::mem::replace(&mut self.counted_ahead, ahead))
    }

    #[cold]
    fn due_and_not_begun(&self, until: Nanos) -> u64 {
        let PacerMode::Open { schedule, .. } = &self.mode else { return 0 };
        let mut schedule = schedule.clone();
        let (mut measured, mut remaining) = (0, self.remaining);
        while remaining > 0
            && schedule.next() < until
            && let Some(intended_start) = schedule.take_due(until, self.measured.end)
        {
            remaining -= 1;
            measured += u64::from(intended_start >= self.measured.start);
        }
        measured
    }
}

#[cfg(test)]
mod tests;
