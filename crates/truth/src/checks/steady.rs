//! A cache that fills: the measurement must start after it is full.

use load::spans::Spans;
use std::time::Duration;

use stats::steady::{DriftTolerance, SteadyState, detect_steady_state};

use crate::finding::{Finding, FindingUnit};
use crate::instrument::{CheckError, Instrument, LoadShape, TestLoad};
use crate::known::behaviour::CacheWarmUp;
use crate::known::service::ServiceTime;

const CONNECTIONS: u32 = 16;
const TOLERANCE: f64 = 0.02;
const INTERVAL: Duration = Duration::from_millis(50);

/// Runs a closed loop against a server whose cache fills in a third of `length`. The throughput in steady state must be
/// that of the full cache.
pub fn check(instrument: &Instrument<'_>, length: Duration) -> Result<Vec<Finding>, CheckError> {
    let warms = CacheWarmUp { length: length / 3, extra: Duration::from_millis(8) };
    let server = instrument.start(|behaviour| {
        behaviour.service = ServiceTime::Fixed(Duration::from_millis(2));
        behaviour.warms = Some(warms);
    })?;
    let load = TestLoad { interval: INTERVAL, ..TestLoad::http(CONNECTIONS, LoadShape::Closed, length) };
    let measured = instrument.run(&server, &load)?;
    let log = server.log()?;
    let first = log.iter().map(|served| served.received).min().unwrap_or_default();
    let warm_from = first.after(warms.length);
    let warm = log.iter().filter(|served| served.received >= warm_from).count() as f64;
    let last = log.iter().map(|served| served.received).max().unwrap_or_default();
    let known = warm / last.since(warm_from).as_secs_f64().max(1e-9);
    let throughput: Vec<f64> =
        Spans::of(&measured.outcome).intervals.iter().map(|span| span.throughput_per_s).collect();
    let case = "throughput in steady state, a cache that fills";
    let finding =
        |mean| Finding::new("steady", case, FindingUnit::PerSecond, known, mean).within(known * TOLERANCE);
    Ok(vec![match detect_steady_state(&throughput, DriftTolerance::THROUGHPUT) {
        SteadyState::Steady { mean, .. } => finding(mean),
        SteadyState::NotSteady { reason } => {
            let mut unsteady = finding(f64::NAN).as_limit();
            unsteady.note = Some(format!("not called steady: {reason}"));
            unsteady
        }
    }])
}
