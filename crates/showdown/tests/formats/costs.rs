//! The answers of `cost`, `size` and `published`.

use std::path::Path;

use archive::{Archive, Run};
use cost::Targets;
use cost::power::Boundary::{Dc, Nameplate, Package, Wall};
use cost::pricing::{Power, cost};
use cost::published::{self, Published};
use cost::sizing::{CapacityBasis, Objective, ObjectiveMatch, Pays, SizeRequest, size};
use stats::cost::FleetRule;
use stats::quantity::OperationsPerSecond;

use super::json;
use super::page::Page;

const COMPLETE: &str = r#"currency = "EUR"
pue = 1.5
price_per_kwh = "0.2 EUR/kWh"
grid_intensity = "400 g/kWh"
life = "4 years"
[target.a]
price = "1 EUR"
rack_units = 1
load = "2 W"
idle = "1 W"
boundary = "wall""#;

fn targets(text: &str) -> Targets {
    Targets::parse("targets.toml", text).expect("targets")
}

/// Targets without anything but a power at load.
fn only_power(line: &str) -> Targets {
    targets(&format!("currency = \"EUR\"\n[target.a]\n{line}"))
}

fn run(root: &Path) -> Run {
    let id = archive::example::comparison(root, 3).expect("a run");
    Archive::new(root).open(id.as_str()).expect("a run")
}

#[test]
fn the_costs_of_a_run_are_documented() {
    let root = tempfile::tempdir().expect("a directory");
    let runs = [run(root.path())];
    // Each boundary once; the last ones lack what the first one has.
    let all = [
        targets(COMPLETE),
        only_power("nameplate = \"2 W\""),
        only_power("load = \"2 W\"\nboundary = \"dc\""),
        only_power("load = \"2 W\"\nboundary = \"package\""),
    ];
    let alike = format!("{COMPLETE}\n[target.nginx]\nrate = \"1 EUR/hour\"\n")
        .replace("[target.a]", "[target.apache]");
    let mut documents = all.map(|targets| json(&cost(&runs, &targets).expect("costs"))).to_vec();
    documents.push(json(&cost(&runs, &targets(&alike)).expect("costs")));
    // Two variants that cost nearly the same.
    documents[0]["over_load"][0]["from_load_per_s"] = serde_json::Value::Null;
    Page::read().assert_documents("`showdown cost --format json`", &documents);
}

#[test]
fn the_watts_of_a_run_are_documented() {
    let root = tempfile::tempdir().expect("a directory");
    let documents = [(&[1.0, 0.5][..], "levels"), (&[1.0], "one")].map(|(shares, name)| {
        let root = root.path().join(name);
        let id = archive::example::metered_comparison(&root, 6, shares, Some(9)).expect("a run");
        let mut run = Archive::new(&root).open(id.as_str()).expect("a run");
        for meter in run
            .trials
            .iter_mut()
            .filter_map(|record| record.trial.power.as_mut())
            .flat_map(|power| &mut power.meters)
        {
            meter.uncertainty_percent = (name == "levels").then_some(2.0);
        }
        json(&cost::metered::metered(&run).expect("watts"))
    });
    let mut documents = documents.to_vec();
    // A meter that missed active idle, and too few trials for an interval.
    documents[1]["variants"][0]["watts_idle"] = serde_json::Value::Null;
    Page::read().assert_documents("Watts of a run", &documents);
}

#[test]
fn fleets_are_documented() {
    let root = tempfile::tempdir().expect("a directory");
    let runs = [run(root.path())];
    let request = SizeRequest {
        peak: OperationsPerSecond::new(400_000.0),
        objective: Objective {
            text: "p99<5ms".to_owned(),
            compare: &|_| ObjectiveMatch::Same,
            is_met: &|_| true,
        },
        headroom: 0.3,
        spares: 1,
        zones: 3,
        rule: FleetRule::new(0.3, 1, 3).expect("a rule"),
    };
    let power = |boundary| Power { boundary, watts: 2.0, source: "text".to_owned(), is_estimate: true };
    let mut documents = Vec::new();
    let all = [Some(targets(COMPLETE)), Some(only_power("rack_units = 1")), None];
    let choices = [
        (CapacityBasis::Measured, Pays::Yes),
        (CapacityBasis::StricterObjective, Pays::No),
        (CapacityBasis::Curve, Pays::Unknown),
    ];
    for (targets, (basis, pays)) in all.into_iter().zip(choices) {
        let mut report = size(&runs, targets.as_ref(), &request).expect("a size");
        report.not_sized.push("text".to_owned());
        report.kinds[0].basis = basis;
        report.replacements[0].pays = pays;
        documents.push(report);
    }
    let mut documents: Vec<_> = documents.iter().map(json).collect();
    for boundary in [Dc, Nameplate, Package, Wall] {
        documents[0]["kinds"][0]["power_at_load"] = json(&power(boundary));
        documents.push(documents[0].clone());
    }
    Page::read().assert_documents("`showdown size --format json`", &documents);
}

#[test]
fn published_evaluations_are_documented() {
    let report = published::report(&Published::shipped(), None);
    Page::read().assert_documents("`showdown published --format json`", &[json(&report)]);
}
