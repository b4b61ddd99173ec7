//! Tests of watts with made-up runs: nginx carries 1.6 × apache's load, and apache's machine takes 6 % more of its power of load.

use archive::model::Trial;
use power::Boundary;

use super::*;
use crate::testing::{comparison, metered_comparison};

const LEVELS: [f64; 3] = [1.0, 0.5, 0.1];

fn report(blocks: u32, shares: &[f64], lost_from: Option<u32>) -> MeteredReport {
    metered(&metered_comparison(blocks, shares, lost_from)).unwrap()
}

fn is_close(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 0.01
}

#[test]
fn each_meter_has_watts_and_operations_a_joule_of_each_variant() {
    let report = report(8, &[1.0], None);
    let names: Vec<(&str, &str)> =
        report.variants.iter().map(|found| (found.variant.as_str(), found.meter.name.as_str())).collect();
    assert_eq!(
        names,
        [("nginx", "rack"), ("nginx", "rapl-package"), ("apache", "rack"), ("apache", "rapl-package")]
    );
    let nginx = &report.variants[0];
    assert_eq!(nginx.meter.boundary, Boundary::Wall);
    assert!(is_close(nginx.watts_at_load.value, 166.0), "{nginx:?}");
    assert!(is_close(nginx.watts_idle.unwrap().value, 92.0), "{nginx:?}");
    let full = &nginx.levels[0];
    assert!(is_close(nginx.operations_per_joule.value, full.work_per_s / 166.0));
    assert!(nginx.operations_per_joule.interval().unwrap().contains(nginx.operations_per_joule.value));
    assert_eq!(nginx.overall_operations_per_joule, None, "there is one level");
}

#[test]
fn overall_is_the_sum_of_operations_over_the_sum_of_watts_with_idle() {
    let report = report(8, &LEVELS, None);
    let nginx = &report.variants[0];
    let shares: Vec<f64> = nginx.levels.iter().map(|level| level.share).collect();
    assert_eq!(shares, [1.0, 0.5, 0.1, 0.0]);
    let (work, watts) = nginx
        .levels
        .iter()
        .fold((0.0, 0.0), |(work, watts), level| (work + level.work_per_s, watts + level.watts.value));
    assert!(is_close(nginx.overall_operations_per_joule.unwrap().value, work / watts));
    assert!(nginx.levels.windows(2).all(|pair| pair[0].watts.value > pair[1].watts.value));
    assert_eq!(nginx.levels[3].operations_per_joule.value, 0.0);
}

#[test]
fn variants_are_compared_within_blocks_and_within_a_boundary() {
    let report = report(8, &LEVELS, None);
    let kinds: Vec<(Boundary, bool)> =
        report.comparisons.iter().map(|found| (found.boundary, found.is_overall)).collect();
    assert_eq!(
        kinds,
        [
            (Boundary::Wall, false),
            (Boundary::Wall, true),
            (Boundary::Package, false),
            (Boundary::Package, true)
        ]
    );
    let wall = &report.comparisons[0];
    assert!(wall.ratio.low.unwrap() > 1.0, "{wall:?}");
    assert!(wall.sentence.starts_with("nginx does 1."), "{wall:?}");
    assert!(wall.sentence.contains("× the operations of apache for each joule (95 % CI"), "{wall:?}");
    assert!(wall.sentence.ends_with("; wall, indicative)"), "{wall:?}");
    assert!(report.notes.iter().any(|note| note.starts_with("Watts of different boundaries")));
}

#[test]
fn a_meter_that_disappears_costs_its_watts_and_is_named() {
    let report = report(8, &[1.0], Some(9));
    let wall = report.variants.iter().find(|found| found.meter.name == "rack").unwrap();
    let package = report.variants.iter().find(|found| found.meter.name == "rapl-package").unwrap();
    assert!(wall.trials < package.trials, "{wall:?} {package:?}");
    let [lost] = &report.lost[..] else { panic!("{:?}", report.lost) };
    assert!(lost.starts_with("rack gave no watts at a level of trials 9, 10,"), "{lost}");
    assert!(lost.ends_with("10.0.0.9:161 does not answer"), "{lost}");
}

#[test]
fn without_any_watts_there_are_no_figures_but_the_reason() {
    let mut run = metered_comparison(4, &[1.0], Some(1));
    for record in &mut run.trials {
        let Trial { power: Some(power), .. } = &mut record.trial else { panic!("power") };
        power.meters.retain(|meter| meter.name == "rack");
    }
    let report = metered(&run).unwrap();
    assert!(report.variants.is_empty() && report.comparisons.is_empty());
    assert_eq!(report.lost.len(), 1);
}

#[test]
fn meters_of_different_boundaries_are_not_compared() {
    let mut run = metered_comparison(6, &[1.0], None);
    for record in &mut run.trials {
        let trial = &mut record.trial;
        let kept = if trial.variant == "nginx" { "rack" } else { "rapl-package" };
        trial.power.as_mut().unwrap().meters.retain(|meter| meter.name == kept);
    }
    let report = metered(&run).unwrap();
    assert!(report.comparisons.is_empty());
    assert!(
        report.notes.iter().any(|note| note.contains("their watts have the boundaries wall and package")),
        "{:?}",
        report.notes
    );
}

#[test]
fn the_meters_of_the_hosts_of_a_kind_are_one_meter() {
    let mut run = metered_comparison(8, &[1.0], None);
    let of_one = metered(&run).unwrap().variants[0].clone();
    // The variants take two hosts in turns, each with an outlet of its own.
    for record in &mut run.trials {
        let trial = &mut record.trial;
        let number = 1 + trial.block % 2;
        trial.host = Some(format!("h{number}"));
        let power = trial.power.as_mut().unwrap();
        power.meters.retain(|meter| meter.name == "rack");
        let name = format!("rack-{number}");
        power.meters[0].name.clone_from(&name);
        power.meters[0].uncertainty_percent = Some(f64::from(number));
        for watts in power.levels.iter_mut().flat_map(|level| &mut level.watts) {
            if watts.meter == "rack" {
                watts.meter.clone_from(&name);
            }
        }
    }
    let report = metered(&run).unwrap();
    let [nginx, apache] = &report.variants[..] else { panic!("{:?}", report.variants) };
    assert_eq!(nginx.meter.name, "rack-2, rack-1");
    assert_eq!((nginx.meter.boundary, nginx.meter.uncertainty_percent), (Boundary::Wall, Some(2.0)));
    assert_eq!((nginx.trials, nginx.watts_at_load), (of_one.trials, of_one.watts_at_load));
    assert_eq!(apache.meter.name, nginx.meter.name);
    assert_eq!(report.comparisons.len(), 1, "{:?}", report.comparisons);
}

#[test]
fn a_run_without_a_meter_has_no_watts() {
    assert_eq!(metered(&comparison(3)), None);
}
