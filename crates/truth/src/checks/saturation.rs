//! A saturated client must call its measurement invalid; a client with capacity left must not.

use std::time::Duration;

use crate::finding::{Finding, FindingUnit};
use crate::instrument::{CheckError, Instrument, LoadShape, TestLoad, TestProtocol};
use crate::known::service::ServiceTime;

/// Offered load as a share of the client's limit: beyond it, and inside.
const BEYOND: f64 = 1.5;
const INSIDE: f64 = 0.3;
const SERVICE: Duration = Duration::from_millis(2);

/// Counts the invalid runs beyond and inside the limit `capacity_per_s`.
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
                (behaviour.service, behaviour.log) = (ServiceTime::Fixed(SERVICE), false);
            })?;
            let load = TestLoad {
                protocol: TestProtocol::Http,
                ..TestLoad::http(512, LoadShape::Poisson(capacity_per_s * share), length)
            };
            let summary = instrument.run(&server, &load)?.summary;
            invalid += u32::from(!summary.valid);
            reasons.extend(summary.reasons);
        }
        let case = format!("runs {what} the client's limit called invalid");
        let known = known * f64::from(runs);
        let mut finding = Finding::new("saturation", case, FindingUnit::Count, known, f64::from(invalid));
        finding.note = reasons.into_iter().next();
        // A saturated client that is called valid is an error of the engine. A refused good run is only a limit.
        findings.push(if known > 0.0 { finding } else { finding.as_limit() });
    }
    Ok(findings)
}
