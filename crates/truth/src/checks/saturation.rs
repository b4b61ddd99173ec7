//! A saturated client must call its measurement invalid; a client with capacity left must not.

use std::time::Duration;

use load::summary::Summary;

use super::capacity;
use crate::finding::{Finding, FindingUnit};
use crate::instrument::{CheckError, Instrument, LoadShape, TestLoad, TestProtocol};
use crate::known::service::ServiceTime;

/// Offered load as a share of the client's limit: beyond it, and inside.
const BEYOND: f64 = 1.5;
const INSIDE: f64 = 0.3;
/// A load of a smaller share is no certain overload.
const LEAST_BEYOND: f64 = 1.2;
/// Loads beyond the limit of which one must be an overload.
const TRIES: u32 = 3;
const SERVICE: Duration = Duration::from_millis(2);

/// Counts the invalid runs beyond and inside the limit `capacity_per_s`.
pub fn check(
    instrument: &Instrument<'_>,
    capacity_per_s: f64,
    runs: u32,
    length: Duration,
) -> Result<Vec<Finding>, CheckError> {
    let beyond = || overload(instrument, capacity_per_s, length);
    let inside = || run(instrument, capacity_per_s * INSIDE, length);
    // A saturated client that is called valid is an error of the engine. A refused good run is only a limit.
    Ok(vec![
        count("beyond", f64::from(runs), (0..runs).map(|_| beyond()).collect::<Result<_, _>>()?),
        count("well inside", 0.0, (0..runs).map(|_| inside()).collect::<Result<_, _>>()?).as_limit(),
    ])
}

fn count(what: &str, known: f64, runs: Vec<Summary>) -> Finding {
    let invalid = runs.iter().filter(|summary| !summary.valid).count();
    let case = format!("runs {what} the client's limit called invalid");
    let mut finding = Finding::new("saturation", case, FindingUnit::Count, known, invalid as f64);
    finding.note = runs.into_iter().flat_map(|summary| summary.reasons).next();
    finding
}

/// A run beyond the limit. Where one is called valid, the limit is measured again: a limit that was found on a machine that
/// something else held up is too low, and half as much again no overload.
fn overload(
    instrument: &Instrument<'_>,
    capacity_per_s: f64,
    length: Duration,
) -> Result<Summary, CheckError> {
    let mut limit = capacity_per_s;
    for _ in 1..TRIES {
        let rate = limit * BEYOND;
        let summary = run(instrument, rate, length)?;
        if !summary.valid {
            return Ok(summary);
        }
        limit = capacity::of_client(instrument, TestProtocol::Http)?;
        if rate >= limit * LEAST_BEYOND {
            return Ok(summary);
        }
    }
    run(instrument, limit * BEYOND, length)
}

fn run(instrument: &Instrument<'_>, rate_per_s: f64, length: Duration) -> Result<Summary, CheckError> {
    let server = instrument.start(|behaviour| {
        (behaviour.service, behaviour.log) = (ServiceTime::Fixed(SERVICE), false);
    })?;
    let load = TestLoad {
        protocol: TestProtocol::Http,
        ..TestLoad::http(512, LoadShape::Poisson(rate_per_s), length)
    };
    Ok(instrument.run(&server, &load)?.summary)
}
