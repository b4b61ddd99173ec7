//! The documents of `showdown hosts` and `showdown doctor` with every key and every choice.

use host::doctor::{HostFinding, Severity};
use machine::clock::ClockOffset;
use machine::protocol::NetworkPath;
use machine::survey::{HostFound, HostReport, HostsReport, NetworkReport};

use runs::{EqualServers, MeasurePrecision, PrecisionNow, ProbedMeasure};
use serde_json::Value;

use super::documents::{map, text, texts};

const LEVELS: [Severity; 3] = [Severity::Ok, Severity::Note, Severity::Warn];

fn finding(level: Severity) -> HostFinding {
    HostFinding { id: text().into(), level, found: text(), why: text().into(), remedy: Some(text()) }
}

/// The findings of the doctor, each with the precision.
pub fn doctor_findings() -> Vec<Value> {
    let of_measure = |measure| MeasurePrecision {
        measure,
        of_quick_comparison: Some(0.02),
        equal_servers: Some(EqualServers { ratio: 1.004, low: 0.98, high: 1.03, blocks: 7 }),
        took_s: 15.5,
        reasons: texts(),
    };
    let measures = ProbedMeasure::ALL.map(of_measure).to_vec();
    let precision = PrecisionNow { measures, others: Some(0.45), stolen: Some(0.0) };
    let with_precision = |level| {
        let mut document = super::json(&finding(level));
        document["precision"] = super::json(&precision);
        document
    };
    LEVELS.map(with_precision).to_vec()
}

pub fn hosts_report() -> HostsReport {
    let found = HostFound {
        version: text(),
        user_id: 1000,
        summary: text(),
        facts: map(text()),
        cpus: text(),
        allowed_cpus: text(),
        clock: ClockOffset { monotonic_ns: 1, wall_ns: -1, error_ns: 1, round_trip_ns: 2 },
        findings: LEVELS.map(finding).to_vec(),
    };
    let host = HostReport {
        name: text(),
        ssh: Some(text()),
        address: text(),
        kind: Some(text()),
        reachable: true,
        problems: texts(),
        cautions: texts(),
        found: Some(found),
    };
    let path = NetworkPath {
        round_trips: 200,
        median_us: 1.5,
        p99_us: 1.5,
        one_stream_bytes_per_s: 1.5,
        one_stream_back_bytes_per_s: 1.5,
        eight_streams_bytes_per_s: 1.5,
        eight_streams_back_bytes_per_s: 1.5,
    };
    let network = NetworkReport { from: text(), to: text(), path: Some(path), problems: texts() };
    HostsReport { hosts: vec![host], network: vec![network], notes: texts() }
}
