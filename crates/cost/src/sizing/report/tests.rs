//! Tests of fleets with made-up runs: nginx carries 1.6 × apache's load at p99 < 5 ms.

use archive::Run;
use archive::model::{Caveat, Measure, PhaseKind, ReplacedMeasure, TrialPhase};
use stats::cost::FleetRule;
use stats::quantity::OperationsPerSecond;

use crate::sizing::{
    CapacityBasis, Objective, ObjectiveMatch, Pays, SizeError, SizeReport, SizeRequest, size,
};
use crate::targets::Targets;
use crate::testing::comparison;

const TARGETS: &str = include_str!("../../../fixtures/two-machines.toml");

/// Sizes for 400,000/s with 30 % headroom, a spare and three zones. An objective of p99 below a limit in µs.
fn sized(
    run: Run,
    matched: ObjectiveMatch,
    limit_us: u64,
    targets: Option<&str>,
) -> Result<SizeReport, SizeError> {
    let is_met = |phase: &TrialPhase| phase.response_time_us.p99 < limit_us;
    let compare = |_: &str| matched;
    let request = SizeRequest {
        peak: OperationsPerSecond::new(400_000.0),
        objective: Objective { text: format!("p99<{limit_us}us"), compare: &compare, is_met: &is_met },
        headroom: 0.3,
        spares: 1,
        zones: 3,
        rule: FleetRule::new(0.3, 1, 3).unwrap(),
    };
    let targets = targets.map(|text| Targets::parse("targets.toml", text).unwrap());
    size(&[run], targets.as_ref(), &request)
}

#[test]
fn a_fleet_is_sized_from_the_lower_bound_of_the_capacity() {
    let run = comparison(8);
    let report = sized(run, ObjectiveMatch::Same, 5000, Some(TARGETS)).unwrap();
    let nginx = &report.kinds[0];
    let lower = nginx.capacity_per_s.low.unwrap();
    assert!(lower < nginx.capacity_per_s.value);
    assert!((nginx.usable_per_s / (lower * 0.7) - 1.0).abs() < 1e-9);
    let in_a_zone = (200_000.0 / nginx.usable_per_s).ceil();
    assert_eq!(nginx.servers_in_a_zone as f64, in_a_zone);
    assert_eq!(nginx.servers as f64, in_a_zone * 3.0 + 1.0);
    let servers = nginx.servers as f64;
    assert_eq!((nginx.rack_units, nginx.kilowatts), (Some(2.0 * servers), Some(0.2 * servers)));
    assert!((nginx.total_cost.unwrap() / servers - 6102.4).abs() < 1e-6);
    assert_eq!(nginx.basis, CapacityBasis::Measured);
    let peak = nginx.curve.iter().find(|point| point.load_per_s == 400_000.0).unwrap();
    assert_eq!(peak.servers, nginx.servers);
    assert!(nginx.curve.windows(2).all(|pair| pair[0].servers <= pair[1].servers));
    assert_eq!(report.kinds[1].missing[0].why, "target small has no rack_units");
}

#[test]
fn one_kind_replaces_another_by_the_verdicts_ratio_and_pays_above_the_break_even_ratio() {
    let run = comparison(8);
    let estimate = run.verdict.as_ref().unwrap().comparisons[0].estimate.clone().unwrap();
    let report = sized(run, ObjectiveMatch::Same, 5000, Some(TARGETS)).unwrap();
    let [found] = &report.replacements[..] else { panic!("{report:?}") };
    assert_eq!((found.new.variant.as_str(), found.old.variant.as_str()), ("nginx", "apache"));
    assert_eq!((found.ratio.value, found.ratio.low), (estimate.ratio, Some(estimate.low)));
    assert!((found.break_even.unwrap() - 6102.4 / 8760.0).abs() < 1e-9);
    assert_eq!(found.pays, Pays::Yes);
    assert!(
        found.sentence.starts_with("1 nginx replaces 1.6") && found.sentence.ends_with("at 0.70: it pays")
    );
    let run = comparison(8);
    let dear = TARGETS.replace("4000 EUR", "400000 EUR");
    let report = sized(run, ObjectiveMatch::Same, 5000, Some(&dear)).unwrap();
    assert_eq!(report.replacements[0].pays, Pays::No);
}

#[test]
fn without_targets_there_are_servers_and_no_money() {
    let run = comparison(8);
    let report = sized(run, ObjectiveMatch::Same, 5000, None).unwrap();
    assert!(report.currency.is_none() && report.kinds.iter().all(|kind| kind.total_cost.is_none()));
    assert!(report.kinds[0].missing.is_empty() && report.kinds[0].servers > 0);
    assert_eq!(report.replacements[0].pays, Pays::Unknown);
    assert!(!report.notes.iter().any(|note| note.contains("Watts")), "{report:?}");
}

#[test]
fn a_stricter_objective_that_was_measured_is_enough_and_is_named() {
    let run = comparison(8);
    let report = sized(run, ObjectiveMatch::MeasuredIsStricter, 9000, None).unwrap();
    assert_eq!(report.kinds[0].basis, CapacityBasis::StricterObjective);
    assert!(report.notes.iter().any(|note| note.contains("fewer servers may do")), "{report:?}");
}

#[test]
fn company_of_the_measured_server_is_named() {
    let quiet = comparison(8);
    let mut disturbed = comparison(8);
    let caveat = Caveat { id: "others".to_owned(), text: "Other programs used CPU time.".to_owned() };
    disturbed.verdict.as_mut().unwrap().caveats.push(caveat);
    for (run, is_named) in [(quiet, false), (disturbed, true)] {
        let report = sized(run, ObjectiveMatch::Same, 5000, None).unwrap();
        assert_eq!(
            report.notes.iter().any(|note| note.contains("a quiet one may carry more")),
            is_named,
            "{report:?}"
        );
    }
}

#[test]
fn a_run_that_measured_cpu_time_instead_says_why_it_gives_no_size() {
    let mut run = comparison(8);
    let plan = run.plan.as_mut().unwrap();
    plan.measure = Measure::CpuTime { rate_per_s: Some(5_000.0) };
    let why = "other programs used 55 % of the CPUs".to_owned();
    plan.replaced = Some(ReplacedMeasure { metric: "capacity at p99 < 5 ms".to_owned(), why });
    let error = sized(run, ObjectiveMatch::Same, 5000, None).unwrap_err().to_string();
    assert!(
        error.contains("(because other programs used 55 % of the CPUs), which is no capacity"),
        "{error}"
    );
    assert!(error.contains("compare with --measure capacity --slo 'p99<5000us'"), "{error}");
}

/// The rates and p99 of the curve's steps in the valid trials of nginx.
fn steps(run: &Run) -> Vec<Vec<(f64, u64)>> {
    let of_nginx = run.trials.iter().map(|record| &record.trial).filter(|trial| trial.variant == "nginx");
    let step = |phase: &TrialPhase| (phase.offered_per_s.unwrap(), phase.response_time_us.p99);
    of_nginx
        .filter(|trial| trial.valid_value().is_some())
        .map(|trial| trial.phases.iter().filter(|p| p.kind == PhaseKind::CurveStep).map(step).collect())
        .collect()
}

#[test]
fn another_objective_is_read_from_the_measured_curve_and_never_between_its_rates() {
    let run = comparison(8);
    let all = steps(&run);
    assert!(all.iter().all(|trial| trial.len() >= 3), "the made-up run has curves: {all:?}");
    // A limit that the lower half of the rates meets.
    let limit = all.iter().map(|trial| trial[trial.len() / 2].1).max().unwrap() + 1;
    let met = |trial: &Vec<(f64, u64)>| {
        let met = trial.iter().take_while(|(_, p99)| *p99 < limit).last();
        met.map(|(rate, _)| *rate)
    };
    let rates: Vec<f64> = all.iter().filter_map(met).collect();
    let report = sized(run, ObjectiveMatch::Other, limit, None).unwrap();
    let nginx = &report.kinds[0];
    assert_eq!((nginx.variant.as_str(), nginx.basis), ("nginx", CapacityBasis::Curve));
    let (least, most) =
        (rates.iter().copied().fold(f64::MAX, f64::min), rates.iter().copied().fold(0.0, f64::max));
    assert!(least <= nginx.capacity_per_s.value && nginx.capacity_per_s.value <= most);
    assert!(report.notes.iter().any(|note| note.contains("between that and the next rate")), "{report:?}");
}

#[test]
fn what_was_not_measured_is_not_extrapolated() {
    let run = comparison(8);
    let error = sized(run, ObjectiveMatch::Other, 1, None).unwrap_err().to_string();
    assert!(error.contains("at no rate of its curve does it meet p99<1us in every trial"), "{error}");
    assert!(error.contains("compare with --slo 'p99<1us'"), "{error}");
    let mut run = comparison(2);
    run.verdict.as_mut().unwrap().variants.iter_mut().for_each(|variant| variant.interval = None);
    let error = sized(run, ObjectiveMatch::Same, 5000, None).unwrap_err().to_string();
    assert!(error.contains("too few valid trials for a lower bound"), "{error}");
}

#[test]
fn a_throughput_or_cpu_time_sizes_no_fleet() {
    let measures = [
        (Measure::MaxThroughput, "without an objective: compare with --slo 'p99<5000us'"),
        (Measure::CpuTime { rate_per_s: None }, "measured CPU time an operation, which is no capacity"),
    ];
    for (measure, message) in measures {
        let mut run = comparison(8);
        run.plan.as_mut().unwrap().measure = measure;
        let error = sized(run, ObjectiveMatch::Same, 5000, None).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
