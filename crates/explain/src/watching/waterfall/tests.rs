//! Waterfalls of made-up operations.

use proptest::prelude::*;

use profile::waits::{ActivityPlace, ThreadActivity, ThreadWait};

use super::*;

/// Places: 0 waits for events of connections, 1 for a lock within an operation.
fn activity(threads: Vec<(u32, Vec<ThreadWait>)>, transfers: Vec<Transfer>) -> Activity {
    let place = |kind, is_idle| ActivityPlace { kind, is_idle, frames: Vec::new() };
    let thread = |(tid, waits)| {
        (tid, ThreadActivity { name: "worker".to_owned(), waits, ..ThreadActivity::default() })
    };
    Activity {
        from: 0,
        until: 10_000,
        threads: threads.into_iter().map(thread).collect(),
        transfers: BTreeMap::from([(4000, transfers)]),
        places: vec![place(WaitKind::Events, true), place(WaitKind::Lock, false)],
        sees_sends: true,
        ..Activity::default()
    }
}

fn wait(from: u64, woken: u64, until: u64, place: Option<u32>) -> ThreadWait {
    ThreadWait { from, until, woken: Some(woken), is_preempted: false, place, is_likely: false, waker: None }
}

fn transfer(time: u64, tid: u32, is_read: bool) -> Transfer {
    Transfer { time, tid, is_read }
}

/// Part and length of each step.
fn found(single: &SingleOperation, activity: &Activity) -> Option<Vec<(Part, u64)>> {
    let steps = waterfall(single, &Served::new(activity))?;
    Some(steps.iter().map(|step| (step.part, step.ns())).collect())
}

#[test]
fn an_operation_that_waits_for_a_lock_shows_it() {
    let waits = vec![wait(0, 1100, 1120, Some(0)), wait(1200, 1700, 1800, Some(1))];
    let activity = activity(vec![(7, waits)], vec![transfer(1130, 7, true), transfer(1900, 7, false)]);
    let parts = found(&single(1000, 1050, 1910), &activity).unwrap();
    assert_eq!(
        parts,
        [
            (Part::Client, 50),
            (Part::Network, 50),
            (Part::Runnable, 20),
            (Part::OnCpu, 80),
            (Part::Blocked(WaitKind::Lock), 500),
            (Part::Runnable, 100),
            (Part::OnCpu, 100),
            (Part::Reply, 10),
        ]
    );
}

#[test]
fn an_operation_can_wait_behind_others_of_its_thread() {
    let waits = vec![wait(0, 900, 900, Some(0)), wait(1100, 1400, 1400, Some(1))];
    let mut activity = activity(vec![(7, waits)], vec![transfer(1600, 7, true), transfer(1700, 7, false)]);
    // It serves another connection until 1550.
    activity.transfers.insert(4001, vec![transfer(950, 7, true), transfer(1550, 7, false)]);
    let parts = found(&single(1000, 1000, 1690), &activity).unwrap();
    // Its send ends after the client has the reply.
    assert_eq!(parts, [(Part::Behind, 100), (Part::Behind, 300), (Part::Behind, 150), (Part::OnCpu, 140)]);
}

#[test]
fn a_place_that_is_only_likely_is_not_one_where_threads_wait_for_work() {
    let likely = |place| ThreadWait { is_likely: true, ..wait(1200, 1700, 1700, Some(place)) };
    for (place, kind) in [(0, WaitKind::Unknown), (1, WaitKind::Lock)] {
        let waits = vec![wait(0, 1100, 1100, Some(0)), likely(place)];
        let activity = activity(vec![(7, waits)], vec![transfer(1100, 7, true), transfer(1800, 7, false)]);
        let parts = found(&single(1000, 1000, 1800), &activity).unwrap();
        assert_eq!(parts[2], (Part::Blocked(kind), 500));
    }
}

#[test]
fn another_thread_can_answer() {
    let threads = vec![
        (7, vec![wait(0, 1100, 1100, Some(0)), wait(1200, 5000, 5000, Some(0))]),
        (8, vec![wait(0, 1190, 1300, None)]),
    ];
    let activity = activity(threads, vec![transfer(1110, 7, true), transfer(1500, 8, false)]);
    let parts = found(&single(1000, 1000, 1500), &activity).unwrap();
    assert_eq!(
        parts,
        [
            (Part::Network, 100),
            (Part::OnCpu, 10),
            (Part::HandedOver, 80),
            (Part::Runnable, 110),
            (Part::OnCpu, 200)
        ]
    );
}

#[test]
fn an_operation_of_several_requests_has_time_between_them() {
    let transfers = [(1010, true), (1100, false), (1300, true), (1310, true), (1400, false)]
        .map(|(at, is_read)| transfer(at, 7, is_read));
    let activity = activity(vec![(7, vec![wait(0, 1005, 1005, Some(0))])], transfers.to_vec());
    let parts = found(&single(1000, 1000, 1420), &activity).unwrap();
    assert_eq!(
        parts,
        [(Part::Network, 5), (Part::OnCpu, 95), (Part::Between, 200), (Part::OnCpu, 100), (Part::Reply, 20)]
    );
}

#[test]
fn what_nobody_saw_is_not_made_up() {
    let read = vec![transfer(1010, 7, true)];
    let mut seen = activity(vec![(7, Vec::new())], read);
    assert!(found(&single(1000, 1000, 1100), &seen).is_some(), "sends need not be seen");
    assert_eq!(found(&single(1000, 1000, 20_000), &seen), None, "it ends after watching");
    let unknown_port = SingleOperation { local_port: None, ..single(1000, 1000, 1100) };
    assert_eq!(found(&unknown_port, &seen), None);
    seen.threads.entry(7).or_default().unseen.push((1050, 1060));
    assert_eq!(found(&single(1000, 1000, 1100), &seen), None, "records of its thread were lost");
    assert!(found(&single(1000, 1000, 1045), &seen).is_some(), "but not of this time");
    seen.transfers.clear();
    assert_eq!(found(&single(1000, 1000, 1100), &seen), None, "nobody read it");
}

proptest! {
    #[test]
    fn steps_have_no_gaps_and_sum_to_the_response_time(
        edges in prop::collection::vec(0_u64..3000, 0..30),
        transfers in prop::collection::vec((0_u64..3000, 7_u32..9, any::<bool>()), 0..12),
        begin in 0_u64..1000,
        late in 0_u64..100,
        took in 1_u64..1500,
    ) {
        let thread = |tid: u32| {
            let mut own: Vec<u64> = edges.iter().map(|edge| edge + u64::from(tid)).collect();
            own.sort_unstable();
            let waits = own.chunks_exact(2).map(|pair| wait(pair[0], u64::midpoint(pair[0], pair[1]), pair[1], Some(tid % 2)));
            (tid, waits.collect())
        };
        let mut transfers: Vec<Transfer> =
            transfers.into_iter().map(|(time, tid, is_read)| transfer(time, tid, is_read)).collect();
        transfers.sort_by_key(|transfer| transfer.time);
        let activity = activity(vec![thread(7), thread(8)], transfers);
        let single = single(begin, begin + late, begin + late + took);
        if let Some(steps) = waterfall(&single, &Served::new(&activity)) {
            let mut at = begin;
            for step in &steps {
                prop_assert!(step.from == at && step.until > step.from, "{steps:?}");
                at = step.until;
            }
            prop_assert_eq!(at, begin + late + took);
            prop_assert_eq!(parts(&steps).values().sum::<u64>(), late + took);
        }
    }
}
