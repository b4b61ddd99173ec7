//! Counts: the client's and the server's number of operations must be equal.

use load::record::ErrorKind;

use crate::finding::{Finding, FindingUnit};
use crate::instrument::{CheckError, Instrument, LoadShape, Measurement, TestLoad, TestProtocol};
use crate::known::behaviour::Behaviour;
use std::time::Duration;

/// Requests of each run; not a multiple of any period below.
const REQUESTS: u64 = 20_011;
const CONNECTIONS: u32 = 16;
const ERRS_EVERY: u64 = 50;
const DROPS_EVERY: u64 = 400;

/// Counts replies, errors and dropped connections with both protocols.
pub fn check(instrument: &Instrument<'_>) -> Result<Vec<Finding>, CheckError> {
    let mut findings = Vec::new();
    for protocol in [TestProtocol::Http, TestProtocol::Memcached] {
        let name = protocol.name();
        let clean = run(instrument, protocol, |_| ())?;
        findings.push(replies(format!("{name} replies without failures"), &clean));
        let errs = run(instrument, protocol, |b| b.errs_every = Some(ERRS_EVERY))?;
        findings.push(replies(format!("{name} replies with errors"), &errs));
        findings.extend(failures(name, "errors", &errs, errs.account.errors, ErrorKind::UnexpectedReply));
        let drops = run(instrument, protocol, |b| b.drops_every = Some(DROPS_EVERY))?;
        findings.push(replies(format!("{name} replies with drops"), &drops));
        findings.extend(failures(name, "drops", &drops, drops.account.dropped, ErrorKind::Closed));
    }
    Ok(findings)
}

fn run(
    instrument: &Instrument<'_>,
    protocol: TestProtocol,
    change: impl FnOnce(&mut Behaviour),
) -> Result<Measurement, CheckError> {
    let server = instrument.start(change)?;
    let load = TestLoad { protocol, ..TestLoad::http(CONNECTIONS, LoadShape::Closed, Duration::MAX) };
    instrument
        .run_with(&server, &load, |spec| (spec.part.duration, spec.part.requests) = (None, Some(REQUESTS)))
}

fn replies(case: String, measured: &Measurement) -> Finding {
    let known = measured.account.replies as f64;
    Finding::new("counts", case, FindingUnit::Count, known, measured.summary.requests as f64)
}

/// Failures of one kind, and their share of all operations.
fn failures(name: &str, what: &str, measured: &Measurement, known: u64, kind: ErrorKind) -> [Finding; 2] {
    let Measurement { summary, account, .. } = measured;
    let counted = summary.errors.get(&kind).copied().unwrap_or(0);
    let share = summary.failed as f64 / (summary.requests + summary.failed) as f64;
    let known_share = known as f64 / account.requests as f64;
    [
        Finding::new("counts", format!("{name} {what}"), FindingUnit::Count, known as f64, counted as f64),
        Finding::new("counts", format!("{name} share of {what}"), FindingUnit::Share, known_share, share),
    ]
}
