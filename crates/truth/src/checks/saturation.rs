//! A client that needs more CPU time than it gets must call its measurement invalid; a client with capacity left must not.
//!
//! What is too much for a client with a whole CPU is too much for the server, too, and nobody knows which of them is the limit.
//! So another program takes time of the client's CPUs, and the server has all of its own.

use std::time::Duration;

use load::summary::Summary;

use crate::finding::{Finding, FindingUnit};
use crate::instrument::{CheckError, Instrument, LoadShape, TestLoad};
use crate::known::service::ServiceTime;

/// Share of the client's CPU time that the other program tries to get. The kernel gives each of them half.
const OTHERS: f64 = 0.9;
/// Offered load as a share of the client's limit with all of its CPU time: more than half of it, and much less.
const BEYOND: f64 = 0.7;
const INSIDE: f64 = 0.3;
const SERVICE: Duration = Duration::from_millis(2);

/// Counts the invalid runs beyond and inside the limit `capacity_per_s`.
pub fn check(
    instrument: &Instrument<'_>,
    capacity_per_s: f64,
    runs: u32,
    length: Duration,
) -> Result<Vec<Finding>, CheckError> {
    let beyond = || {
        let _others = instrument.take_client_cpus(OTHERS)?;
        run(instrument, capacity_per_s * BEYOND, length)
    };
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

fn run(instrument: &Instrument<'_>, rate_per_s: f64, length: Duration) -> Result<Summary, CheckError> {
    let server = instrument.start(|behaviour| {
        (behaviour.service, behaviour.log) = (ServiceTime::Fixed(SERVICE), false);
    })?;
    let load = TestLoad::http(512, LoadShape::Poisson(rate_per_s), length);
    Ok(instrument.run(&server, &load)?.summary)
}
