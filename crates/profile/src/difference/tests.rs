//! Differences of made-up profiles, whose truth is known.

use std::time::Duration;

use rand::SeedableRng;
use rand_distr::{Distribution, Gamma, Poisson};
use rand_pcg::Pcg64;

use super::*;
use crate::folded;
use crate::frames::{MeasuredWork, costs};
use crate::stacks::SampleSource;

/// A profile of 1000 operations with 10 ms a sample, so 10 µs an operation: `name samples` pairs.
fn profile(samples: &[(&str, u64)]) -> FrameCosts {
    let lines = samples
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("t;main;{name} {count}\n"));
    let period = Duration::from_millis(10);
    let stacks = folded::parse(&lines.collect::<String>(), SampleSource::CpuClock, period).expect("folded");
    let cpu = stacks.time() + Duration::from_millis(5);
    costs(&stacks, MeasuredWork { cpu, operations: 1000 }).expect("operations")
}

fn of<'a>(difference: &'a ProfileDifference, name: &str) -> &'a FrameDifference {
    difference.frames.iter().find(|frame| frame.frame.name == name).expect(name)
}

#[test]
fn a_function_that_costs_more_leads_and_its_callers_have_it_in_their_total() {
    let a = [profile(&[("parse", 100), ("send", 200)]), profile(&[("parse", 104), ("send", 196)])];
    let b = [profile(&[("parse", 400), ("send", 201)]), profile(&[("parse", 405), ("send", 203)])];
    let difference = difference(&a, &b).expect("two profiles a side");
    let first = &difference.frames[0];
    assert_eq!((first.frame.name.as_str(), first.presence), ("parse", Presence::Both));
    assert!((first.own.us() - 3005.0).abs() < 1e-6, "{first:?}");
    assert!(first.own.is_significant && !of(&difference, "send").own.is_significant);
    let main = of(&difference, "main");
    assert!(main.total.us() > 3000.0 && main.own.us() == 0.0);
}

#[test]
fn removed_and_new_functions_are_kept() {
    let (a, b) = (
        [profile(&[("old", 300)]), profile(&[("old", 310)])],
        [profile(&[("new", 90)]), profile(&[("new", 95)])],
    );
    let difference = difference(&a, &b).expect("two profiles a side");
    assert_eq!(of(&difference, "old").presence, Presence::OnlyA);
    assert_eq!(of(&difference, "new").presence, Presence::OnlyB);
    assert!(of(&difference, "old").own.high_us < 0.0);
}

#[test]
fn a_sample_in_each_profile_of_one_side_is_no_difference() {
    let (a, b) = (vec![profile(&[("f", 50)]); 3], vec![profile(&[("f", 50), ("rare", 1)]); 3]);
    let rare = of(&difference(&a, &b).expect("three profiles a side"), "rare").own;
    assert!(!rare.is_significant && rare.adjusted_p.is_none(), "{rare:?}");
    assert!(rare.low_us < 0.0);
}

#[test]
fn the_differences_of_functions_and_rest_are_that_of_the_measured_time() {
    let a = [profile(&[("f", 50), ("g", 3)]), profile(&[("f", 70), ("h", 9)])];
    let b = [profile(&[("f", 90)]), profile(&[("i", 70), ("h", 9)])];
    let difference = difference(&a, &b).expect("two profiles a side");
    let sum: f64 = difference.frames.iter().map(|frame| frame.own.us()).sum();
    assert!((sum + difference.rest.us() - difference.cpu.us()).abs() < 1e-6);
}

#[test]
fn one_profile_a_side_is_too_few() {
    let one = [profile(&[("f", 5)])];
    assert_eq!(difference(&one, &one), Err(DifferenceError::TooFew { a: 1, b: 1 }));
}

#[test]
fn a_server_that_used_no_cpu_time_has_no_difference() {
    let busy = vec![profile(&[("f", 5)]); 2];
    let idle = vec![FrameCosts { cpu_us: 0.0, ..profile(&[]) }; 2];
    assert_eq!(difference(&idle, &busy), Err(DifferenceError::NoCpuTime));
    assert_eq!(difference(&busy, &idle), Err(DifferenceError::NoCpuTime));
}

/// Six profiles a side of a program with 40 functions, of which one may cost more.
fn simulated(rng: &mut Pcg64, factor: f64) -> ProfileDifference {
    let names: Vec<String> = (0..40).map(|index| format!("f{index}")).collect();
    let mut side = |factor: f64| -> Vec<FrameCosts> {
        (0..6)
            .map(|_| {
                let counts: Vec<(&str, u64)> = (0_i32..)
                    .zip(&names)
                    .map(|(index, name)| {
                        // From 200 samples down to 1.
                        let mean = 200.0 * 0.875_f64.powi(index) * if index == 3 { factor } else { 1.0 };
                        (name.as_str(), Poisson::new(mean).expect("a mean").sample(rng) as u64)
                    })
                    .collect();
                profile(&counts)
            })
            .collect()
    };
    let (a, b) = (side(1.0), side(factor));
    difference(&a, &b).expect("six profiles a side")
}

#[test]
fn equal_sides_have_a_false_discovery_in_few_runs() {
    let rng = &mut Pcg64::seed_from_u64(1);
    let runs = 200;
    let discoveries =
        (0..runs).filter(|_| simulated(rng, 1.0).frames.iter().any(|frame| frame.own.is_significant)).count();
    assert!(discoveries <= runs / 10, "{discoveries} of {runs}");
}

#[test]
fn a_planted_difference_is_the_first_and_nearly_always_significant() {
    let rng = &mut Pcg64::seed_from_u64(2);
    let runs = 100;
    let found = (0..runs)
        .filter(|_| {
            let difference = simulated(rng, 1.5);
            let first = &difference.frames[0];
            first.frame.name == "f3" && first.own.is_significant
        })
        .count();
    assert!(found >= runs * 9 / 10, "{found} of {runs}");
}

/// Profiles like those of a real server with this many samples each: 300 functions, from 12 % of the time down to 0.01 %, each
/// with a scatter of its own between that of counts and twice as much. `planted` is the share of all samples that one function of
/// 1 % has more on the second side.
fn realistic(rng: &mut Pcg64, profiles: u32, samples: f64, planted: f64) -> ProfileDifference {
    const PLANTED: i32 = 12;
    let names: Vec<String> = (0..300).map(|index| format!("f{index}")).collect();
    let weight = |index: i32| 1.0 / f64::from(index + 7);
    let all: f64 = (0..300).map(weight).sum();
    let mut side = |planted: f64| -> Vec<FrameCosts> {
        (0..profiles)
            .map(|_| {
                let counts: Vec<(&str, u64)> = (0_i32..)
                    .zip(&names)
                    .map(|(index, name)| {
                        let more = if index == PLANTED { planted * samples } else { 0.0 };
                        let mean = samples * weight(index) / all + more;
                        // A Poisson count with a gamma mean scatters (1 + scale) times as much.
                        let scale = f64::from(index % 5) / 5.0;
                        let drawn = if scale > 0.0 {
                            Gamma::new(mean / scale, scale).expect("a shape").sample(rng)
                        } else {
                            mean
                        };
                        let count =
                            if drawn > 0.0 { Poisson::new(drawn).expect("a mean").sample(rng) } else { 0.0 };
                        (name.as_str(), count as u64)
                    })
                    .collect();
                profile(&counts)
            })
            .collect()
    };
    let (a, b) = (side(0.0), side(planted));
    difference(&a, &b).expect("some profiles a side")
}

/// In how many of so many runs the planted function is significant and the first, and in how many no other of 1 % or more is.
fn planted_runs(rng: &mut Pcg64, runs: u32, profiles: u32, samples: f64) -> (u32, u32) {
    let (mut found, mut alone) = (0, 0);
    for _ in 0..runs {
        let difference = realistic(rng, profiles, samples, 0.03);
        let cpu = difference.cpu.a_us;
        let is_planted = |frame: &FrameDifference| frame.frame.name == "f12";
        let significant = || difference.frames.iter().filter(|frame| frame.own.is_significant);
        let large_others =
            significant().filter(|frame| !is_planted(frame) && frame.own.us().abs() > 0.01 * cpu);
        found += u32::from(significant().next().is_some_and(is_planted));
        alone += u32::from(large_others.count() == 0);
    }
    (found, alone)
}

#[test]
fn three_percent_more_in_one_function_are_found_and_nothing_else() {
    let rng = &mut Pcg64::seed_from_u64(3);
    let runs = 50;
    // As `explain` does on one CPU: 499 samples a second, six slices of 2 s.
    let (found, alone) = planted_runs(rng, runs, 6, 998.0);
    assert!(found >= runs * 19 / 20 && alone >= runs * 9 / 10, "found {found}, alone {alone} of {runs}");
    // With `--quick`, four slices of 1 s.
    let (found, alone) = planted_runs(rng, runs, 4, 499.0);
    assert!(found >= runs * 7 / 10 && alone >= runs * 9 / 10, "found {found}, alone {alone} of {runs}");
}

#[test]
fn equal_sides_keep_to_the_rate_of_false_discoveries() {
    let rng = &mut Pcg64::seed_from_u64(4);
    let runs = 100;
    let has_discovery =
        |difference: &ProfileDifference| difference.frames.iter().any(|frame| frame.own.is_significant);
    for (profiles, samples) in [(4, 499.0), (6, 998.0)] {
        let discoveries =
            (0..runs).filter(|_| has_discovery(&realistic(rng, profiles, samples, 0.0))).count();
        // 5 are expected at most, ±2.2.
        assert!(discoveries <= 10, "{discoveries} of {runs} with {profiles} profiles");
    }
}
