//! Counts: what the client says that it did, against what the server says. These must be the same number.

use load::record::ErrorKind;

use crate::finding::{Finding, Unit};
use crate::instrument::{CheckError, Instrument, Load, Measured, Pace, Protocol};
use crate::known::behaviour::Behaviour;
use std::time::Duration;

/// Requests of each run; no multiple of any period below.
const REQUESTS: u64 = 20_011;
const CONNECTIONS: u32 = 16;
const ERRS_EVERY: u64 = 50;
const DROPS_EVERY: u64 = 400;

/// Replies, errors and dropped connections in both protocols; and a server that closes each connection that
/// the client opens anew.
pub fn check(instrument: &Instrument<'_>) -> Result<Vec<Finding>, CheckError> {
    let mut findings = Vec::new();
    for protocol in [Protocol::Http, Protocol::Memcached] {
        let name = protocol.name();
        let clean = run(instrument, protocol, |_| ())?;
        findings.push(replies(format!("{name} replies, clean"), &clean));
        let errs = run(instrument, protocol, |b| b.errs_every = Some(ERRS_EVERY))?;
        findings.push(replies(format!("{name} replies, beside errors"), &errs));
        findings.extend(failures(name, "errors", &errs, errs.account.errors, ErrorKind::UnexpectedReply));
        let drops = run(instrument, protocol, |b| b.drops_every = Some(DROPS_EVERY))?;
        findings.push(replies(format!("{name} replies, beside drops"), &drops));
        findings.extend(failures(name, "drops", &drops, drops.account.dropped, ErrorKind::Closed));
    }
    Ok(findings)
}

fn run(
    instrument: &Instrument<'_>,
    protocol: Protocol,
    change: impl FnOnce(&mut Behaviour),
) -> Result<Measured, CheckError> {
    let server = instrument.start(change)?;
    let load = Load { protocol, ..Load::http(CONNECTIONS, Pace::Closed, Duration::MAX) };
    instrument.run_with(&server, &load, |spec| (spec.duration, spec.requests) = (None, Some(REQUESTS)))
}

fn replies(what: String, measured: &Measured) -> Finding {
    let known = measured.account.replies as f64;
    Finding::new("counts", what, Unit::Count, known, measured.summary.requests as f64)
}

/// Failures of a kind, and their share of all operations.
fn failures(name: &str, what: &str, measured: &Measured, known: u64, kind: ErrorKind) -> [Finding; 2] {
    let Measured { summary, account, .. } = measured;
    let found = summary.errors.get(&kind).copied().unwrap_or(0);
    let share = summary.failed as f64 / (summary.requests + summary.failed) as f64;
    let known_share = known as f64 / account.requests as f64;
    [
        Finding::new("counts", format!("{name} {what}"), Unit::Count, known as f64, found as f64),
        Finding::new("counts", format!("{name} share of {what}"), Unit::Share, known_share, share),
    ]
}
