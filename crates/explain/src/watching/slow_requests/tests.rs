//! Slow requests of made-up servers.

use std::time::Duration;

use bakeoff::study_slice::StudySlice;
use load::clock::Nanos;
use profile::stacks::FrameKind;
use profile::threads::WaitKind;
use profile::waits::{ActivityPlace, ThreadActivity, ThreadWait, Transfer, Waker, WakerKind};
use proptest::prelude::*;

use super::*;

const MS: u64 = 1_000_000;

/// A slice with an operation of 1 ms each 10 ms; every hundredth takes 5 ms more.
fn watched() -> SingledSlice {
    let single = |number: u64| {
        let begin = number * 10 * MS;
        let took = if number.is_multiple_of(100) { 6 * MS } else { MS };
        crate::watching::waterfall::single(begin, begin + 10_000, begin + took)
    };
    SingledSlice {
        slice: StudySlice {
            operations: 1000,
            failed: 0,
            length: Duration::from_secs(10),
            throughput_per_s: 100.0,
            mean_response: Duration::from_millis(1),
            client_utilisation: 0.1,
            whole_cpu: Duration::from_secs(1),
            whole_kernel: Duration::ZERO,
            whole_operations: 1000,
        },
        median_us: 1000.0,
        slow_us: 1100.0,
        singles: (0..1000).map(single).collect(),
        operations: vec!["commit".to_owned()],
    }
}

fn frames(names: &[&str]) -> Vec<Frame> {
    let frame =
        |name: &&str| Frame { name: (*name).to_owned(), module: "server".to_owned(), kind: FrameKind::User };
    names.iter().map(frame).collect()
}

/// Its thread runs for 1 ms, and in slow operations waits for a lock for 5 ms before.
fn activity() -> Activity {
    let mut thread = ThreadActivity { name: "worker".to_owned(), ..ThreadActivity::default() };
    let mut transfers = Vec::new();
    let wait = |from, until, place| ThreadWait {
        from,
        until,
        woken: Some(until),
        is_preempted: false,
        place: Some(place),
        is_likely: false,
        waker: Some(0),
    };
    for number in 0..1000_u64 {
        let begin = number * 10 * MS;
        let took = if number.is_multiple_of(100) { 6 * MS } else { MS };
        transfers.push(Transfer { time: begin + 30_000, tid: 7, is_read: true });
        if took > MS {
            thread.waits.push(wait(begin + 40_000, begin + 40_000 + 5 * MS, 1));
            thread.samples.push((begin + 5 * MS + 500_000, 2));
        }
        transfers.push(Transfer { time: begin + took - 5_000, tid: 7, is_read: false });
        thread.waits.push(wait(begin + took, begin + 10 * MS + 20_000, 0));
    }
    let place = |kind, is_idle, names: &[&str]| ActivityPlace { kind, is_idle, frames: frames(names) };
    Activity {
        from: 0,
        until: 20_000 * MS,
        threads: [(7, thread)].into(),
        transfers: [(4000, transfers)].into(),
        places: vec![
            place(WaitKind::Events, true, &["main", "loop"]),
            place(WaitKind::Lock, false, &["main", "handle", "commit"]),
            place(WaitKind::Cpu, false, &["main", "handle", "hash"]),
        ],
        wakers: vec![Waker {
            kind: WakerKind::Thread,
            thread: "holder".to_owned(),
            frames: frames(&["release"]),
            wakes: 1,
        }],
        sees_sends: true,
        ..Activity::default()
    }
}

#[test]
fn slow_operations_are_told_from_median_ones_by_what_they_wait_for() {
    let (watched, activity) = (watched(), activity());
    let found = summed("server", &watched, &activity, Some(0.97)).unwrap();
    let expected = "a slow operation takes server 6,000 µs, a median one 1,000 µs, mostly because its thread is blocked \
                    (lock) in commit ← handle ← main (5,000 µs more)";
    assert_eq!(found.sentence, expected);
    assert_eq!((found.traced, found.operations), (1, 1000));
    assert_eq!((found.parts[0].part.as_str(), found.parts[0].slow_us), ("blocked: lock", 5000.0));
    let sum = |of: fn(&RequestPart) -> f64| found.parts.iter().map(of).sum::<f64>();
    assert!((sum(|part| part.slow_us) - 6000.0).abs() < 1e-6);
    assert!((sum(|part| part.median_us) - 1000.0).abs() < 1e-6);
    assert_eq!(found.functions[0].frame, "hash");
    let [slow, median] = &found.requests[..] else { panic!("two operations: {found:#?}") };
    assert!(slow.is_slow && !median.is_slow);
    for request in [slow, median] {
        assert_eq!(request.operation, "commit");
        assert!((request.steps.iter().map(|step| step.us).sum::<f64>() - request.response_us).abs() < 1e-6);
        let states = request.meanwhile.iter().map(|m| m.on_cpu + m.runnable + m.blocked + m.idle);
        assert!((states.sum::<f64>() - 1.0).abs() < 1e-6, "one thread: {request:#?}");
    }
    let lock = slow.steps.iter().find(|step| step.part == "blocked: lock").unwrap();
    assert_eq!(lock.woken_by, "holder: release");
}

#[test]
fn the_next_slowest_are_shown_where_watching_ended_before_the_slowest() {
    let (watched, activity) = (watched(), Activity { until: 450 * MS, ..activity() });
    let found = summed("server", &watched, &activity, None).unwrap();
    assert_eq!(found.traced, 1);
}

#[test]
fn a_slow_operation_of_which_records_were_lost_is_not_shown_as_something_else() {
    let lost = |times: &[(u64, u64)]| {
        let mut activity = Activity { lost: 9, ..activity() };
        activity.threads.get_mut(&7).expect("its thread").unseen = times.to_vec();
        summed("server", &watched(), &activity, None)
    };
    let sentence = lost(&[(0, 500 * MS)]).expect("others were seen").sentence;
    assert!(sentence.contains("mostly because its thread is blocked (lock)"), "{sentence}");
    // An operation of 1 ms is no slow one.
    let each_hundredth: Vec<_> = (0..10).map(|at| (at * 1000 * MS, at * 1000 * MS + 5 * MS)).collect();
    let why = lost(&each_hundredth).expect_err("no slow operation was seen");
    assert!(why.contains("no room for 9 records"), "{why}");
}

#[test]
fn nothing_is_told_of_operations_that_nobody_saw() {
    let nobody = Activity { transfers: BTreeMap::new(), ..activity() };
    assert!(summed("server", &watched(), &nobody, None).is_err_and(|why| why.contains("TCP")));
    let without = SingledSlice { singles: Vec::new(), ..watched() };
    assert!(summed("server", &without, &activity(), None).is_err_and(|why| why.contains("own load")));
    let unknown_ports = SingledSlice {
        singles: watched().singles.into_iter().map(|s| SingleOperation { local_port: None, ..s }).collect(),
        ..watched()
    };
    assert!(summed("server", &unknown_ports, &activity(), None).is_err());
    // An instant is no operation.
    let empty = SingleOperation { response: Nanos(0), ..crate::watching::waterfall::single(5, 5, 5) };
    assert!(
        summed("server", &SingledSlice { singles: vec![empty], ..watched() }, &activity(), None).is_err()
    );
}

proptest! {
    #[test]
    fn joined_steps_are_as_long_as_before(lengths in prop::collection::vec(1_u64..1000, 1..200)) {
        let mut at = 0;
        let steps: Vec<Step> = lengths
            .iter()
            .map(|length| {
                let from = at;
                at += length;
                Step { from, until: at, part: Part::OnCpu, tid: None, place: None, waker: None }
            })
            .collect();
        let joined = condensed(&steps);
        prop_assert!(joined.len() <= MOST_STEPS.max(1) && joined.len() <= steps.len());
        prop_assert!(joined.windows(2).all(|pair| pair[0].until == pair[1].from));
        prop_assert_eq!((joined[0].from, joined.last().map(|step| step.until)), (0, Some(at)));
    }
}
