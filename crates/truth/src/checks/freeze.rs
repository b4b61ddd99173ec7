//! A server that freezes for a tenth of the time. The response times of its users follow from arithmetic, for any
//! number of connections. A client that waits for replies before it sends more does not see them (coordinated
//! omission).

use std::time::Duration;

use crate::arithmetic::frozen_response;
use crate::finding::{Finding, FindingUnit};
use crate::instrument::{CheckError, Instrument, LoadShape, Measurement, TestLoad};
use crate::known::behaviour::Freeze;

const RATE: f64 = 1_000.0;
/// Relative tolerance of the percentiles.
const TOLERANCE: f64 = 0.02;

/// How the server is frozen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreezeMethod {
    /// By itself: it sleeps.
    Internal,
    /// From outside, by SIGSTOP and SIGCONT.
    Signals,
}

/// Checks p95, p99 and the maximum of 1,000 evenly spaced requests per second, over this number of periods.
pub fn check(
    instrument: &Instrument<'_>,
    freeze: Freeze,
    method: FreezeMethod,
    periods: u32,
    connections: u32,
) -> Result<Vec<Finding>, CheckError> {
    // The cost of a request with this number of connections, which decides how fast the server catches up.
    let server = instrument.start(|_| ())?;
    let load = TestLoad::http(connections, LoadShape::Closed, Duration::from_millis(300));
    let load_share = RATE / instrument.run(&server, &load)?.summary.throughput_per_s.max(RATE);
    drop(server);

    let load = TestLoad::http(connections, LoadShape::Even(RATE), freeze.period * periods);
    let measured = match method {
        FreezeMethod::Internal => {
            let server = instrument.start(|behaviour| behaviour.freeze = Some(freeze))?;
            instrument.run(&server, &load)?
        }
        FreezeMethod::Signals => frozen_from_outside(instrument, freeze, periods, &load)?,
    };
    let suffix = match method {
        FreezeMethod::Internal => "",
        FreezeMethod::Signals => " by SIGSTOP",
    };
    let (frozen, period) = (freeze.length.as_secs_f64(), freeze.period.as_secs_f64());
    let plural = if connections == 1 { "" } else { "s" };
    let case = format!("{frozen} s of {period} s{suffix}, {connections} connection{plural}");
    let response = &measured.summary.response_time_us;
    let rows = [("p95", 0.95, response.p95), ("p99", 0.99, response.p99), ("max", 1.0, response.max)];
    let finding = |(name, quantile, measured): (&'static str, f64, u64)| {
        let known = frozen_response(freeze, load_share, quantile).as_secs_f64() * 1e6;
        let finding = Finding::new("freeze", case.clone(), FindingUnit::Microseconds, known, measured as f64);
        finding.statistic(name).within(known * TOLERANCE)
    };
    Ok(rows.map(finding).to_vec())
}

/// Freezes the server with signals, on the same schedule as its own.
fn frozen_from_outside(
    instrument: &Instrument<'_>,
    freeze: Freeze,
    periods: u32,
    load: &TestLoad,
) -> Result<Measurement, CheckError> {
    let server = instrument.start(|_| ())?;
    std::thread::scope(|scope| {
        let freezer = scope.spawn(|| {
            let between = freeze.period.saturating_sub(freeze.length);
            std::thread::sleep(between / 2);
            for _ in 0..periods {
                server.freeze()?;
                std::thread::sleep(freeze.length);
                server.resume()?;
                std::thread::sleep(between);
            }
            Ok(())
        });
        let measured = instrument.run(&server, load);
        freezer.join().expect("the thread does not panic").map_err(CheckError::Server)?;
        measured
    })
}
