//! Tests of costs with made-up runs: nginx carries 1.6 × apache's load.

use archive::{Run, RunState};

use crate::pricing::{ComparedFigure, CostReport, VariantCost, cost};
use crate::targets::Targets;
use crate::testing::{comparison, metered_comparison};

const TARGETS: &str = r#"currency = "EUR"
pue = 1.5
price_per_kwh = "0.20 EUR/kWh"
grid_intensity = "400 g/kWh"
life = "4 years"

[target.large]
variants = ["nginx"]
price = "4000 EUR"
rack_units = 2
load = "200 W"
boundary = "wall"
embodied = "1000 kg"
cpus = 4

[target.small]
variants = ["apache"]
rate = "0.25 EUR/hour"
nameplate = "100 W"
"#;

fn report(runs: &[Run], targets: &str) -> CostReport {
    cost(runs, &Targets::parse("targets.toml", targets).unwrap()).unwrap()
}

fn why<'c>(cost: &'c VariantCost, figure: &str) -> &'c str {
    let missing = cost.missing.iter().find(|missing| missing.figure == figure);
    missing.map_or_else(|| panic!("{figure} is not missing: {cost:?}"), |missing| missing.why.as_str())
}

fn is_close(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-9
}

#[test]
fn each_figure_follows_from_the_performance_by_its_formula() {
    let run = comparison(8);
    let report = report(&[run], TARGETS);
    let nginx = &report.variants[0];
    let rate = nginx.performance.unwrap();
    // 200 W all year at a PUE of 1.5: 2,628 kWh, 525.60 EUR; with the price, 6,102.40 EUR in four years.
    assert!(is_close(nginx.energy_kwh_a_year.unwrap(), 2628.0));
    assert!(is_close(nginx.energy_cost_a_year.unwrap(), 525.6));
    assert!(is_close(nginx.total_cost.unwrap(), 6102.4));
    assert!(is_close(nginx.operations_per_joule.unwrap().value, rate.value / 200.0));
    assert!(is_close(nginx.swap.unwrap().value, rate.value / 400.0));
    let operations = rate.value * 3600.0 * 8760.0 * 4.0;
    assert!(is_close(nginx.cost_of_a_million.unwrap().value, 6102.4 * 1e6 / operations));
    // 2,628 kWh × 400 g and a quarter of 1,000 kg.
    assert!(is_close(nginx.carbon_kg_a_year.unwrap(), 1301.2));
    assert!(is_close(nginx.carbon_g_of_a_million.unwrap().value, 4.0 * 1_301_200.0 * 1e6 / operations));
    assert!(nginx.missing.is_empty(), "{nginx:?}");
    assert!(nginx.power_at_load.as_ref().unwrap().is_estimate);
}

#[test]
fn intervals_go_through_every_division() {
    let run = comparison(8);
    let report = report(&[run], TARGETS);
    let nginx = &report.variants[0];
    let (rate, cost) = (nginx.performance.unwrap(), nginx.cost_of_a_million.unwrap());
    assert!(is_close(cost.low.unwrap() * rate.high.unwrap(), cost.value * rate.value));
    assert!(is_close(cost.high.unwrap() * rate.low.unwrap(), cost.value * rate.value));
}

#[test]
fn a_figure_without_its_input_says_which_key_is_missing() {
    let run = comparison(8);
    let report = report(&[run], &TARGETS.replace("pue = 1.5\n", "").replace("rack_units = 2\n", ""));
    let [nginx, apache] = &report.variants[..] else { panic!() };
    assert_eq!(why(nginx, "energy a year"), "the file of targets has no pue");
    assert_eq!(why(nginx, "cost of a million"), "the file of targets has no pue");
    assert_eq!(why(nginx, "SWaP"), "target large has no rack_units");
    assert_eq!(why(apache, "energy cost a year"), "the rate includes the energy");
    assert!(nginx.total_cost.is_none() && apache.total_cost.is_some());
}

#[test]
fn watts_that_no_bill_counts_have_no_energy_cost() {
    let run = comparison(8);
    let targets = TARGETS.replace("boundary = \"wall\"", "boundary = \"package\"");
    let report = report(&[run], &targets);
    assert!(why(&report.variants[0], "energy a year").contains("of the boundary package"));
    assert!(report.variants[0].operations_per_joule.is_some(), "with its boundary");
    let figures: Vec<ComparedFigure> = report.comparisons.iter().map(|found| found.figure).collect();
    assert!(!figures.contains(&ComparedFigure::OperationsPerJoule), "boundaries are not mixed");
    assert!(report.notes.iter().any(|note| note.contains("boundaries package and nameplate")), "{report:?}");
}

#[test]
fn variants_of_a_run_are_compared_by_the_verdicts_ratio() {
    let run = comparison(8);
    let estimate = run.verdict.as_ref().unwrap().comparisons[0].estimate.clone().unwrap();
    let report = report(&[run], TARGETS);
    let found = &report.comparisons[0];
    assert_eq!((found.figure, found.is_paired), (ComparedFigure::CostOfAMillion, true));
    // nginx costs 6,102.40 and apache 0.25 × 8,760 × 4 = 8,760 in four years.
    let constants = 6102.4 / 8760.0;
    assert!(is_close(found.ratio.value, constants / estimate.ratio));
    assert!(is_close(found.ratio.low.unwrap(), constants / estimate.high));
    assert!(
        found.sentence.starts_with("nginx is cheaper than apache: a million operations cost 0.4"),
        "{found:?}"
    );
}

#[test]
fn variants_of_two_runs_are_compared_by_resampling_their_blocks() {
    let (first, second) = (comparison(8), comparison(12));
    let targets = "currency = \"EUR\"\n[target.any]\nload = \"200 W\"\nboundary = \"dc\"";
    let report = report(&[first, second], targets);
    let unpaired: Vec<_> = report.comparisons.iter().filter(|found| !found.is_paired).collect();
    assert_eq!(unpaired.len(), 4, "{unpaired:?}");
    let same = unpaired.iter().find(|found| found.a.variant == found.b.variant).unwrap();
    assert!(same.ratio.interval().unwrap().contains(1.0), "{same:?}");
    assert!(
        same.sentence.starts_with("no difference in operations a joule shown between nginx of "),
        "{same:?}"
    );
}

#[test]
fn a_run_that_is_named_twice_is_refused() {
    let run = comparison(3);
    let again = Run { id: run.id.clone(), ..comparison(3) };
    let targets = Targets::parse("targets.toml", TARGETS).unwrap();
    let error = cost(&[run, again], &targets).unwrap_err().to_string();
    assert!(error.ends_with("is named twice: name each run once"), "{error}");
}

#[test]
fn a_run_without_a_verdict_is_refused_with_the_remedy() {
    let unfinished = Run { verdict: None, state: RunState::Unfinished, ..comparison(3) };
    let targets = Targets::parse("targets.toml", TARGETS).unwrap();
    let error = cost(&[unfinished], &targets).unwrap_err().to_string();
    assert!(error.contains("has no verdict, because it is unfinished: `showdown resume"), "{error}");
}

#[test]
fn cpu_time_and_a_nameplate_give_an_estimate_of_operations_a_joule() {
    let mut run = comparison(8);
    let verdict = run.verdict.as_mut().unwrap();
    verdict.unit = "µs".to_owned();
    verdict.metric = "CPU time an operation".to_owned();
    verdict.higher_is_better = false;
    for variant in &mut verdict.variants {
        variant.median = Some(100.0);
        variant.interval = None;
        variant.cpu_time_us = Some(archive::model::CpuTimeModes { user: 60.0, system: 40.0 });
    }
    let report = report(&[run], TARGETS);
    let [nginx, apache] = &report.variants[..] else { panic!() };
    // 100 µs on one of 4 CPUs of a machine that takes 200 W.
    assert!(is_close(nginx.operations_per_joule.unwrap().value, 200.0));
    assert!(why(nginx, "cost of a million").contains("which is no capacity"));
    assert_eq!(why(apache, "operations a joule"), "target small has no cpus");
}

/// Two machines with meters; nothing is stated of their watts.
const METERED: &str = r#"currency = "EUR"
pue = 1.5
price_per_kwh = "0.20 EUR/kWh"
life = "4 years"

[target.large]
variants = ["nginx"]
price = "4000 EUR"
meter = "rack"

[target.small]
variants = ["apache"]
price = "1000 EUR"
meter = "rack"

[power.rack]
kind = "apc-rpdu2"
address = "10.0.0.9"
"#;

fn metered(lost_from: Option<u32>) -> Run {
    metered_comparison(8, &[1.0], lost_from)
}

#[test]
fn measured_watts_take_the_place_of_estimates_and_carry_their_interval() {
    let report = report(&[metered(None)], METERED);
    let nginx = &report.variants[0];
    let power = nginx.power_at_load.as_ref().unwrap();
    assert!((power.watts - 166.0).abs() < 2.0 && !power.is_estimate, "{power:?}");
    assert!(power.source.starts_with("measured beside the load: rack (apc-rpdu2), indicative"), "{power:?}");
    assert!(nginx.power_idle.as_ref().is_some_and(|idle| (idle.watts - 92.0).abs() < 2.0));
    let joule = nginx.operations_per_joule.unwrap();
    assert!((joule.value / (nginx.performance.unwrap().value / power.watts) - 1.0).abs() < 0.02);
    assert!(joule.interval().unwrap().contains(joule.value));
    // 166 W all year at a PUE of 1.5.
    assert!((nginx.energy_kwh_a_year.unwrap() / (166.0 * 8.76 * 1.5) - 1.0).abs() < 0.02);
    assert!(nginx.cost_of_a_million.unwrap().interval().is_some());
    let sentences: Vec<&str> = report.comparisons.iter().map(|found| found.sentence.as_str()).collect();
    assert!(sentences.iter().all(|sentence| !sentence.contains("estimate")), "{sentences:?}");
    assert!(report.notes.iter().all(|note| !note.contains("estimate")), "{:?}", report.notes);
}

#[test]
fn without_the_meter_at_the_wall_the_processors_have_no_energy_cost() {
    let report = report(&[metered(Some(1))], METERED);
    let nginx = &report.variants[0];
    assert_eq!(nginx.power_at_load.as_ref().unwrap().boundary, crate::power::Boundary::Package);
    assert!(why(nginx, "energy a year").contains("of the boundary package"), "{nginx:?}");
    assert!(nginx.operations_per_joule.is_some());
}

#[test]
fn watts_stated_at_the_wall_are_billed_where_a_meter_knows_the_processors_only() {
    let stated =
        METERED.replace("meter = \"rack\"", "meter = \"rack\"\nload = \"200 W\"\nboundary = \"wall\"");
    let report = report(&[metered(Some(1))], &stated);
    let nginx = &report.variants[0];
    assert_eq!(nginx.power_at_load.as_ref().unwrap().boundary, crate::power::Boundary::Package);
    assert!(is_close(nginx.energy_kwh_a_year.unwrap(), 2628.0), "{nginx:?}");
}

#[test]
fn which_is_cheaper_is_said_with_the_load_from_which_on() {
    let run = comparison(8);
    // nginx carries about 1.6 × the load for 1.2 × the cost: two apaches are cheaper than two nginxes while they are enough.
    let targets = "currency = \"EUR\"\nlife = \"1 year\"\n\
         [target.nginx]\nrate = \"0.30 EUR/hour\"\n[target.apache]\nrate = \"0.25 EUR/hour\"\n";
    let report = report(&[run], targets);
    let [found] = &report.over_load[..] else { panic!("{:?}", report.over_load) };
    assert_eq!((found.cheaper.variant.as_str(), found.dearer.variant.as_str()), ("nginx", "apache"));
    let apache = report.variants[1].performance.unwrap().low.unwrap();
    assert!(is_close(found.from_load_per_s.unwrap(), 2.0 * apache), "{found:?}");
    assert!(
        found.sentence.starts_with("at capacity at p99<5ms, nginx is cheaper than apache from "),
        "{found:?}"
    );
    assert!(
        found.sentence.contains("one apache (2,190 EUR) is cheaper than one nginx (2,628 EUR) up to "),
        "{found:?}"
    );
}

#[test]
fn a_server_that_costs_less_and_carries_more_is_cheaper_at_any_load() {
    let run = comparison(8);
    let targets = "currency = \"EUR\"\nlife = \"1 year\"\n[target.any]\nrate = \"0.30 EUR/hour\"\n";
    let report = report(&[run], targets);
    assert_eq!(report.over_load[0].from_load_per_s, Some(0.0));
    assert!(report.over_load[0].sentence.ends_with("nginx is cheaper than apache at any load"));
}
