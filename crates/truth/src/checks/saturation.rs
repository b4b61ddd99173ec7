//! A client that is asked for more than it can do must call its own numbers invalid; one that is not, must
//! not.

use std::time::Duration;

use crate::finding::{Finding, Unit};
use crate::instrument::{CheckError, Instrument, Load, Pace, Protocol};
use crate::known::service::Service;

/// How far beyond its limit the client is driven, and how far inside.
const BEYOND: f64 = 1.5;
const INSIDE: f64 = 0.3;
const SERVICE: Duration = Duration::from_millis(2);

/// Runs beyond and inside the limit of `capacity_per_s`: the share of them that is called invalid.
pub fn check(
    instrument: &Instrument<'_>,
    capacity_per_s: f64,
    runs: u32,
    length: Duration,
) -> Result<Vec<Finding>, CheckError> {
    let mut findings = Vec::new();
    for (what, share, known) in [("beyond", BEYOND, 1.0), ("well inside", INSIDE, 0.0)] {
        let mut invalid = 0;
        let mut reasons = Vec::new();
        for _ in 0..runs {
            let server = instrument.start(|behaviour| {
                (behaviour.service, behaviour.log) = (Service::Fixed(SERVICE), false);
            })?;
            let load = Load {
                protocol: Protocol::Http,
                ..Load::http(512, Pace::Poisson(capacity_per_s * share), length)
            };
            let summary = instrument.run(&server, &load)?.summary;
            invalid += u32::from(!summary.valid);
            reasons.extend(summary.reasons);
        }
        let what = format!("runs {what} the client's limit that it calls invalid");
        let known = known * f64::from(runs);
        let mut finding = Finding::new("saturation", what, Unit::Count, known, f64::from(invalid));
        finding.note = reasons.into_iter().next();
        // Valid numbers of a client that is the limit are the worst that an instrument can say; to refuse good
        // ones is only a pity.
        findings.push(if known > 0.0 { finding } else { finding.as_limit() });
    }
    Ok(findings)
}
