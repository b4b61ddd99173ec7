//! Searches of scripted servers, slice by slice.

use super::*;
use crate::inputs::slo::Slo;
use crate::record::Micros;

const PLAN: LevelPlan = LevelPlan {
    load: Duration::from_secs(8),
    limit: Duration::from_millis(5),
    soak: Duration::ZERO,
    most_soaks: 0,
};
const MS: Duration = Duration::from_millis(1);
const CLOSED_LOOP: f64 = 40_000.0;

/// A slice of 50 ms, in which this share of 10,000 operations was late.
fn slice(late: f64, drain: Duration) -> SliceSpending {
    let slo: Slo = "p99<5ms".parse().expect("an objective");
    let mut times = Micros::new(3).expect("three digits");
    let late = (10_000.0 * late.min(1.0)) as u64;
    times.record_n(1_000, 10_000 - late).expect("a time");
    times.record_n(8_000, late).expect("a time");
    let spent = BudgetUse::of_times(&slo, &times, 0);
    SliceSpending { own_time: 50 * MS + drain, drain, spent, is_client_limited: false }
}

/// What a server of 30,000/s that queues has late.
fn steep(rate: f64) -> f64 {
    0.01 * (rate / 30_000.0).powi(8)
}

/// The same with pauses that come after seconds only.
fn pausing_late(rate: f64, is_soak: bool) -> f64 {
    if is_soak { 0.01 * rate / 6_000.0 } else { steep(rate) }
}

/// Searches a server of which this share is late at a rate, as long as it takes.
fn search(late: impl Fn(f64) -> f64) -> LevelSearch {
    search_by(PLAN, |rate, _| late(rate))
}

/// The same by another plan, where the share also depends on whether the slice is one of a soak.
fn search_by(plan: LevelPlan, late: impl Fn(f64, bool) -> f64) -> LevelSearch {
    let mut search = LevelSearch::new(&StartingLoop::at(CLOSED_LOOP), plan, 1);
    for _ in 0..10_000 {
        let Some(next) = search.next() else { return search };
        let is_soak = matches!(search.stage, Some(Stage::Soak { .. }));
        search.add(&slice(late(next.rate_per_s, is_soak), MS));
    }
    panic!("a search ends");
}

#[test]
fn what_fell_due_in_a_drain_is_due_in_the_next_slice_of_the_level() {
    let mut search = LevelSearch::new(&StartingLoop::at(CLOSED_LOOP), PLAN, 1);
    let first = search.next().expect("a slice");
    assert_eq!(first.due_before, Duration::ZERO);
    search.add(&slice(0.0, 40 * MS));
    let second = search.next().expect("a slice");
    assert_eq!((second.rate_per_s, second.due_before), (first.rate_per_s, 40 * MS));
}

#[test]
fn a_level_ends_when_the_server_has_caught_up() {
    let mut search = LevelSearch::new(&StartingLoop::at(CLOSED_LOOP), PLAN, 1);
    let first = search.next().expect("a slice").rate_per_s;
    for _ in 0..2 {
        search.add(&slice(0.0, MS));
    }
    // The level is long enough with this slice, but a pause has left a queue.
    search.add(&slice(0.01, 60 * MS));
    for drain in [40, 20, 8] {
        assert_eq!(search.next().map(|next| next.rate_per_s), Some(first), "it catches up");
        search.add(&slice(0.01, drain * MS));
    }
    search.add(&slice(0.0, MS));
    let next = search.next().expect("a slice");
    assert!((next.rate_per_s - first).abs() > 1.0 && next.due_before.is_zero(), "{next:?}");
}

#[test]
fn a_server_that_falls_behind_ends_its_level_and_every_cycle_has_all_levels() {
    let mut search = LevelSearch::new(&StartingLoop::at(CLOSED_LOOP), PLAN, 1);
    let mut tried = Vec::new();
    for _ in LEVELS {
        let rate = search.next().expect("a slice").rate_per_s;
        for drain in [10, 20, 30] {
            assert_eq!(search.next().map(|next| next.rate_per_s), Some(rate));
            search.add(&slice(0.9, drain * MS));
        }
        tried.push(rate);
    }
    assert!(!tried.is_sorted(), "in random order: {tried:?}");
    tried.sort_by(f64::total_cmp);
    assert_eq!(tried, LEVELS.map(|share| share * CLOSED_LOOP));
}

#[test]
fn a_search_finds_the_rate_at_which_one_in_a_hundred_is_late() {
    for (found, truth) in [(search(steep), 30_000.0), (search(|rate| 0.01 * rate / 6_000.0), 6_000.0)] {
        let SustainedCapacity::Found(rate) = found.capacity() else { panic!("{:?}", found.capacity()) };
        assert!((rate / truth - 1.0).abs() < 0.05, "{rate} of {truth}");
        let interval = found.interval().expect("an interval");
        assert!(interval.low <= rate && rate <= interval.high, "{interval:?}");
    }
}

#[test]
fn a_capacity_is_sustained_again_and_again_and_one_that_is_not_is_searched_below() {
    let plan = PLAN.with_soaks();
    let soaked = search_by(plan, |rate, _| 0.9 * steep(rate)).soaked().expect("a soak");
    assert!(soaked.is_sustained() && soaked.own_time >= PASSES * plan.soak, "{soaked:?}");
    assert!(soaked.soaks == PASSES && (0.9..1.05).contains(&(soaked.rate_per_s / 30_000.0)), "{soaked:?}");
    let lower = search_by(plan, pausing_late).soaked().expect("a soak");
    assert!(lower.is_sustained() && lower.rate_per_s <= 6_000.0, "{lower:?}");
    let never = search_by(plan, |rate, is_soak| if is_soak { 0.9 } else { steep(rate) });
    assert!(never.soaked().is_some_and(|soak| !soak.is_sustained()));
    assert_eq!(search_by(PLAN, pausing_late).soaked(), None);
}

#[test]
fn a_soak_that_the_client_limited_is_run_again() {
    let plan = PLAN.with_soaks();
    let mut search = LevelSearch::new(&StartingLoop::at(CLOSED_LOOP), plan, 1);
    let mut limited = 0;
    while let Some(next) = search.next() {
        let number = match search.stage {
            Some(Stage::Soak { number, .. }) => Some(number),
            _ => None,
        };
        let is_client_limited = number == Some(0);
        limited += u32::from(is_client_limited);
        let late = if number.is_some() { 0.001 } else { steep(next.rate_per_s) };
        search.add(&SliceSpending { is_client_limited, ..slice(late, MS) });
    }
    let soak = search.soaked().expect("a soak");
    assert!(limited > 0 && soak.soaks == PASSES, "{soak:?}");
}

#[test]
fn one_bad_second_does_not_keep_the_search_down() {
    let is_first = std::cell::Cell::new(0);
    let found = search(|rate| {
        is_first.set(is_first.get() + 1);
        if is_first.get() == 4 { 0.2 } else { 0.01 * (rate / 30_000.0).powi(8) }
    });
    let SustainedCapacity::Found(rate) = found.capacity() else { panic!("{:?}", found.capacity()) };
    assert!((rate / 30_000.0 - 1.0).abs() < 0.1, "{rate}");
}

#[test]
fn an_interval_ends_at_the_highest_rate_that_was_offered() {
    // Every eleventh slice has a pause, at any rate.
    let slices = std::cell::Cell::new(0);
    let found = search(|_| {
        slices.set(slices.get() + 1);
        if slices.get() % 11 == 0 { 0.12 } else { 0.0 }
    });
    let interval = found.interval().expect("an interval");
    assert!(interval.low < interval.high, "{interval:?}");
    assert!(interval.high <= LEVELS[LEVELS.len() - 1] * CLOSED_LOOP, "{interval:?}");
}

#[test]
fn a_server_that_pauses_often_is_searched_below_and_one_that_is_always_late_meets_the_objective_nowhere() {
    let SustainedCapacity::Found(rate) = search(|rate| 0.01 * rate / 500.0).capacity() else {
        panic!("a capacity")
    };
    assert!((400.0..650.0).contains(&rate), "{rate}");
    assert_eq!(search(|_| 0.5).capacity(), SustainedCapacity::NoRateMeets);
    assert_eq!(LevelSearch::new(&StartingLoop::at(0.0), PLAN, 1).capacity(), SustainedCapacity::NoRateMeets);
}

#[test]
fn where_nothing_is_late_the_capacity_is_at_least_the_highest_rate() {
    let found = search(|_| 0.0);
    assert_eq!(found.capacity(), SustainedCapacity::AllCarried(LEVELS[LEVELS.len() - 1] * CLOSED_LOOP));
}
