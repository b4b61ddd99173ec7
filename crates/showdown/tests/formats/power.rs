//! The answers of `power`.

use ::power::{Boundary, NotMeasured, PowerReport, PowerTick, SourceWatts};

use super::json;
use super::page::Page;

/// A source with everything, for each boundary.
fn sources() -> Vec<SourceWatts> {
    let all = ["package", "dram", "component", "dc", "wall", "nameplate", "unknown"];
    let source = |name: &str| SourceWatts {
        name: "text".to_owned(),
        kind: "shelly".to_owned(),
        origin: "http://10.0.0.31".to_owned(),
        boundary: Boundary::from_name(name).expect("a boundary"),
        uncertainty_percent: Some(1.0),
        is_measured: true,
        is_indicative: true,
        watts: Some(208.0),
        over_ms: Some(1000),
        unix_ms: Some(1),
        error: Some("text".to_owned()),
    };
    all.map(source).into()
}

#[test]
fn the_power_of_a_host_is_documented() {
    let missing = vec![NotMeasured::new("rapl", "text")];
    let report = PowerReport::new(Some("host".to_owned()), Some("KVM".to_owned()), sources(), missing);
    assert!(!report.notes.is_empty());
    Page::read().assert_documents("`showdown power --format json`", &[json(&report)]);
    let tick = PowerTick { unix_ms: 1, sources: sources() };
    Page::read().assert_documents("`showdown power --watch --format json`", &[json(&tick)]);
}
