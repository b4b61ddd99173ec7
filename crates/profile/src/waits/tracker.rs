//! Follows threads from switch to switch: when each left its CPU, with which stack, who woke it, and when it ran again.

use std::collections::HashMap;

use super::stack_table::StackId;
use super::tally::{EndedWait, Tally, WakerId};

/// What happened to a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// It was waiting when watching began.
    Waiting(Option<StackId>),
    /// It leaves its CPU with this stack.
    Stack(StackId),
    /// It left its CPU.
    Out {
        /// Whether it wanted to go on.
        is_preempted: bool,
    },
    /// It was woken.
    Woken {
        /// By whom.
        waker: WakerId,
        /// Whether the waker's stack is known. The same wake can be reported twice, with and without.
        has_stack: bool,
    },
    /// It runs.
    In,
    /// It has ended.
    Ended,
}

#[derive(Debug, Clone, Copy)]
struct Off {
    since: u64,
    is_preempted: bool,
    stack: Option<StackId>,
    /// A stack that was read at this time, if it is still the same wait then.
    later: Option<(u64, StackId)>,
    waker: Option<WakerId>,
    /// When it was woken, as far as that is known.
    woken: Option<u64>,
}

/// A wait of the journal. Times are nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JournalWait {
    pub tid: u32,
    pub thread: usize,
    pub from: u64,
    pub until: u64,
    pub woken: Option<u64>,
    pub is_preempted: bool,
    pub stack: Option<StackId>,
    pub waker: Option<WakerId>,
}

/// A time of which nobody knows what a thread did. Times are nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnseenTime {
    pub tid: u32,
    pub thread: usize,
    pub from: u64,
    pub until: u64,
}

/// What threads did, instant by instant.
#[derive(Debug, Default)]
pub(super) struct Journaled {
    /// Every wait.
    pub waits: Vec<JournalWait>,
    /// Where records were lost.
    pub unseen: Vec<UnseenTime>,
}

#[derive(Debug)]
struct Tracked {
    pid: u32,
    thread: usize,
    next: Option<StackId>,
    off: Option<Off>,
    /// Since records were lost, nothing was heard of it.
    unseen_since: Option<u64>,
    has_ended: bool,
}

/// Threads from switch to switch.
#[derive(Debug, Default)]
pub(super) struct Tracker {
    threads: HashMap<u32, Tracked>,
    tally: Tally,
    /// Where a journal is kept.
    journal: Option<Journaled>,
    /// Waits whose end or begin was lost.
    pub dropped: u64,
}

impl Tracker {
    /// Keeps every wait.
    pub(super) fn with_journal() -> Self {
        Self { journal: Some(Journaled::default()), ..Self::default() }
    }

    /// The waits of the journal so far.
    pub(super) fn journaled(&self) -> usize {
        self.journal.as_ref().map_or(0, |journal| journal.waits.len())
    }

    /// Takes a change. Times are nanoseconds of one clock, and do not fall.
    pub(super) fn take(&mut self, (pid, tid): (u32, u32), thread: usize, time: u64, change: Change) {
        let fresh = || Tracked { pid, thread, next: None, off: None, unseen_since: None, has_ended: false };
        let tracked = self.threads.entry(tid).or_insert_with(fresh);
        tracked.thread = thread;
        if tracked.has_ended && matches!(change, Change::Out { .. }) {
            // It leaves its CPU once more after its end.
            self.threads.remove(&tid);
            return;
        }
        if matches!(change, Change::Out { .. } | Change::In)
            && let Some(from) = tracked.unseen_since.take()
        {
            let unseen = UnseenTime { tid, thread, from, until: time };
            self.journal.iter_mut().for_each(|journal| journal.unseen.push(unseen));
        }
        let off = |is_preempted, stack| Off {
            since: time,
            is_preempted,
            stack,
            later: None,
            waker: None,
            woken: None,
        };
        match change {
            Change::Waiting(stack) => tracked.off = Some(off(false, stack)),
            Change::Stack(stack) => tracked.next = Some(stack),
            Change::Out { is_preempted } => tracked.off = Some(off(is_preempted, tracked.next.take())),
            Change::Woken { waker, has_stack } => {
                if let Some(off) = &mut tracked.off {
                    off.waker = off.waker.filter(|_| !has_stack).or(Some(waker));
                    off.woken.get_or_insert(time);
                }
            }
            Change::In => {
                // Another thread can have its ID.
                tracked.has_ended = false;
                tracked.next = None;
                if let Some(off) = tracked.off.take() {
                    let wait = ended(tid, thread, &off, time);
                    self.journal.iter_mut().for_each(|journal| journal.waits.push(off.journaled(&wait)));
                    self.tally.add(&wait);
                }
            }
            Change::Ended => (tracked.has_ended, tracked.off) = (true, None),
        }
    }

    /// Records were lost since then: what has begun may have ended.
    pub(super) fn lose(&mut self, since: u64) {
        for tracked in self.threads.values_mut() {
            tracked.next = None;
            let off = tracked.off.take();
            self.dropped += u64::from(off.is_some());
            let from = off.map_or(since, |off| off.since.min(since));
            tracked.unseen_since.get_or_insert(from);
        }
    }

    /// The threads that have waited for longer than this without a stack: process, thread, and since when.
    pub(super) fn long_without_stack(&self, now: u64, long: u64) -> Vec<(u32, u32, u64)> {
        let threads = self.threads.iter().filter_map(|(tid, tracked)| {
            let off = tracked.off.as_ref().filter(|off| off.stack.is_none() && off.later.is_none())?;
            (now.saturating_sub(off.since) > long && !off.is_preempted).then_some((
                tracked.pid,
                *tid,
                off.since,
            ))
        });
        threads.collect()
    }

    /// A stack that was read at a time, for the wait that has begun at `since`.
    pub(super) fn read_later(&mut self, tid: u32, since: u64, at: u64, stack: StackId) {
        let off = self.threads.get_mut(&tid).and_then(|tracked| tracked.off.as_mut());
        if let Some(off) = off.filter(|off| off.since == since) {
            off.later = Some((at, stack));
        }
    }

    /// Whether a thread was met.
    pub(super) fn knows(&self, tid: u32) -> Option<u32> {
        self.threads.get(&tid).map(|tracked| tracked.pid)
    }

    /// All waits, summed and in the journal; those that last are counted until the end.
    pub(super) fn finish(mut self, end: u64) -> (Tally, Journaled) {
        for (&tid, &Tracked { thread, ref off, unseen_since, .. }) in &self.threads {
            if let Some(off) = off {
                let wait = ended(tid, thread, off, end);
                self.journal.iter_mut().for_each(|journal| journal.waits.push(off.journaled(&wait)));
                self.tally.add(&wait);
            }
            if let (Some(from), Some(journal)) = (unseen_since, &mut self.journal) {
                journal.unseen.push(UnseenTime { tid, thread, from, until: end });
            }
        }
        (self.tally, self.journal.unwrap_or_default())
    }
}

impl Off {
    fn journaled(&self, wait: &EndedWait) -> JournalWait {
        JournalWait {
            tid: wait.tid,
            thread: wait.thread,
            from: self.since,
            until: self.since + wait.ns,
            woken: self.woken,
            is_preempted: wait.is_preempted,
            stack: wait.stack,
            waker: wait.waker,
        }
    }
}

fn ended(tid: u32, thread: usize, off: &Off, time: u64) -> EndedWait {
    let later = off.later.filter(|(at, _)| *at < time).map(|(_, stack)| stack);
    EndedWait {
        tid,
        thread,
        is_preempted: off.is_preempted,
        ns: time.saturating_sub(off.since),
        stack: off.stack.or(later),
        waker: off.waker,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn tracker(changes: &[(u32, u64, Change)]) -> Tracker {
        let mut tracker = Tracker::default();
        for (tid, time, change) in changes {
            tracker.take((1, *tid), 0, *time, *change);
        }
        tracker
    }

    /// Stack, ns and number of waits, in the order of stacks.
    fn waits(tally: &Tally) -> Vec<(Option<StackId>, bool, f64)> {
        let mut waits: Vec<_> =
            tally.waits().into_iter().map(|wait| (wait.stack, wait.is_preempted, wait.ns)).collect();
        waits.sort_by(|a, b| a.partial_cmp(b).expect("times are numbers"));
        waits
    }

    #[test]
    fn a_wait_lasts_from_switch_to_switch_and_has_the_stack_of_its_begin() {
        let changes = [
            (7, 0, Change::In),
            (7, 10, Change::Stack(3)),
            (7, 11, Change::Out { is_preempted: false }),
            (7, 30, Change::Woken { waker: 9, has_stack: true }),
            (7, 41, Change::In),
            (7, 50, Change::Out { is_preempted: true }),
            (7, 55, Change::In),
        ];
        let tally = tracker(&changes).finish(60).0;
        assert_eq!(waits(&tally), [(None, true, 5.0), (Some(3), false, 30.0)]);
        let woken = tally.waits().into_iter().find(|wait| wait.stack == Some(3)).expect("a wait");
        assert_eq!(woken.wakers.into_iter().collect::<Vec<_>>(), [(9, 1)]);
    }

    #[test]
    fn the_journal_has_each_wait_with_its_wake() {
        let mut tracker = Tracker::with_journal();
        let plain = |waker| Change::Woken { waker, has_stack: false };
        for (time, change) in [
            (11, Change::Stack(3)),
            (11, Change::Out { is_preempted: false }),
            (30, plain(1)),
            (31, Change::Woken { waker: 9, has_stack: true }),
            (32, plain(1)),
            (41, Change::In),
            (50, Change::Out { is_preempted: false }),
        ] {
            tracker.take((1, 7), 0, time, change);
        }
        assert_eq!(tracker.journaled(), 1);
        let wait = JournalWait {
            tid: 7,
            thread: 0,
            from: 11,
            until: 41,
            woken: Some(30),
            is_preempted: false,
            stack: Some(3),
            waker: Some(9),
        };
        let last = JournalWait { from: 50, until: 60, woken: None, stack: None, waker: None, ..wait };
        assert_eq!(tracker.finish(60).1.waits, [wait, last]);
    }

    #[test]
    fn what_waits_from_begin_to_end_is_counted() {
        let tally = tracker(&[(1, 5, Change::Waiting(Some(2))), (2, 5, Change::In)]).finish(1005).0;
        assert_eq!(waits(&tally), [(Some(2), false, 1000.0)]);
    }

    #[test]
    fn a_thread_that_has_ended_does_not_wait() {
        let out = Change::Out { is_preempted: false };
        let changes = [(1, 5, Change::In), (1, 6, Change::Ended), (1, 7, Change::Stack(2)), (1, 8, out)];
        assert_eq!(waits(&tracker(&changes).finish(1000).0), []);
        assert_eq!(waits(&tracker(&changes[..2]).finish(1000).0), []);
        // Another one has its ID.
        let again = [&changes[..], &[(1, 20, Change::In), (1, 30, out), (1, 50, Change::In)]].concat();
        assert_eq!(waits(&tracker(&again).finish(1000).0), [(None, false, 20.0)]);
    }

    #[test]
    fn lost_records_end_what_is_not_certain() {
        let mut tracker = tracker(&[(1, 5, Change::Out { is_preempted: false })]);
        tracker.lose(400);
        tracker.take((1, 1), 0, 900, Change::In);
        assert_eq!(tracker.dropped, 1);
        assert_eq!(waits(&tracker.finish(1000).0), []);
    }

    #[test]
    fn what_a_thread_did_while_records_were_lost_is_unseen_until_the_next_one_of_it() {
        let mut tracker = Tracker::with_journal();
        let out = Change::Out { is_preempted: false };
        for (tid, time, change) in [(1, 5, out), (2, 6, Change::In), (3, 7, Change::In)] {
            tracker.take((1, tid), 0, time, change);
        }
        tracker.lose(400);
        // Once more, before anything is heard.
        tracker.lose(500);
        for (tid, time, change) in [(1, 900, Change::In), (2, 910, out), (2, 950, Change::In)] {
            tracker.take((1, tid), 0, time, change);
        }
        let Journaled { waits, mut unseen } = tracker.finish(1000).1;
        unseen.sort_by_key(|unseen| unseen.tid);
        let times: Vec<_> = unseen.iter().map(|unseen| (unseen.tid, unseen.from, unseen.until)).collect();
        assert_eq!(times, [(1, 5, 900), (2, 400, 910), (3, 400, 1000)]);
        assert_eq!(
            waits.iter().map(|wait| (wait.tid, wait.from, wait.until)).collect::<Vec<_>>(),
            [(2, 910, 950)]
        );
    }

    #[test]
    fn a_stack_that_was_read_later_is_that_of_its_own_wait_only() {
        let out = Change::Out { is_preempted: false };
        let mut tracker = tracker(&[(1, 0, out), (2, 0, out)]);
        let mut long = tracker.long_without_stack(100 * MS, 60 * MS);
        long.sort_unstable();
        assert_eq!(long, [(1, 1, 0), (1, 2, 0)]);
        for tid in [1, 2] {
            tracker.read_later(tid, 0, 100 * MS, 4);
        }
        assert_eq!(tracker.long_without_stack(200 * MS, 60 * MS), []);
        // The first had run again before its stack was read.
        tracker.take((1, 1), 0, 20 * MS, Change::In);
        tracker.take((1, 2), 0, 110 * MS, Change::In);
        let ms = MS as f64;
        assert_eq!(
            waits(&tracker.finish(120 * MS).0),
            [(None, false, 20.0 * ms), (Some(4), false, 110.0 * ms)]
        );
    }
}
