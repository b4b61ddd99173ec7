//! Schedules of connections, of arrivals and of users, hours of them in milliseconds.

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
    assert_eq!(pacer.take_offered(Nanos(0)), 3);
}

/// A worker that was kept from its CPU for 0.35 s ends the interval of 0.2 s and then begins what was due meanwhile.
#[test]
fn a_late_worker_counts_operations_in_the_interval_in_which_they_fell_due() {
    let mut pacer = Pacer::open(constant(10.0, 0, 1), u64::MAX, ALWAYS);
    let late = Nanos(SECOND / 20 * 7);
    assert_eq!(pacer.take_offered(Nanos(SECOND / 5)), 2, "due at 0 and 0.1 s");
    assert_eq!(pacer.due(late), None, "no connection is free");
    assert_eq!(pacer.take_offered(Nanos(SECOND / 5 * 2)), 2, "due at 0.2 and 0.3 s");
    assert_eq!(pacer.drop_waiting(Nanos::NEVER), 4);
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
    assert_eq!((pacer.drop_waiting(Nanos::NEVER), pacer.take_offered(Nanos(0))), (4, 5));
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
    assert_eq!((begun, pacer.take_offered(Nanos(0))), (20, 10));
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
        prop_assert_eq!(pacer.take_offered(Nanos(0)), begun + dropped);
        prop_assert!(begun + dropped <= limit);
        if mode == 2 {
            prop_assert_eq!(begun + dropped, limit.min(200), "100 a second for two seconds");
        }
    }
}
