//! The document of `showdown hosts` with every key and every choice.

use host::doctor::{HostFinding, Severity};
use machine::clock::ClockOffset;
use machine::protocol::NetworkPath;
use machine::survey::{HostFound, HostReport, HostsReport, NetworkReport};

use super::documents::{map, text, texts};

pub fn hosts_report() -> HostsReport {
    let finding = |level| HostFinding {
        id: text().into(),
        level,
        found: text(),
        why: text().into(),
        remedy: Some(text()),
    };
    let found = HostFound {
        version: text(),
        user_id: 1000,
        summary: text(),
        facts: map(text()),
        cpus: text(),
        allowed_cpus: text(),
        clock: ClockOffset { monotonic_ns: 1, wall_ns: -1, error_ns: 1, round_trip_ns: 2 },
        findings: [Severity::Ok, Severity::Note, Severity::Warn].map(finding).to_vec(),
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
