//! A server that freezes for a tenth of the time. The response times of its users follow from the schedule of the requests
//! and the moments of the replies, which the server logs. A client that waits for replies before it sends more does not
//! see them (coordinated omission).
use crate::finding::{Finding, FindingUnit, time_tolerance_us};
use crate::instrument::{CheckError, Instrument, LoadShape, Measurement, TestLoad};
use crate::known::behaviour::Freeze;
use crate::known::child::KnownServer;
use crate::known::schedule;

const RATE: f64 = 1_000.0;

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
    let load = TestLoad::http(connections, LoadShape::Even(RATE), freeze.period * periods);
    let by_itself = if method == FreezeMethod::Internal { Some(freeze) } else { None };
    let server = instrument.start(|behaviour| behaviour.freeze = by_itself)?;
    let measured = match method {
        FreezeMethod::Internal => instrument.run(&server, &load)?,
        FreezeMethod::Signals => frozen_from_outside(instrument, &server, freeze, periods, &load)?,
    };
    let Some(known) = schedule::response_times(&server.log()?, RATE) else { return Ok(Vec::new()) };
    let suffix = match method {
        FreezeMethod::Internal => "",
        FreezeMethod::Signals => " by SIGSTOP",
    };
    let (frozen, period) = (freeze.length.as_secs_f64(), freeze.period.as_secs_f64());
    let plural = if connections == 1 { "" } else { "s" };
    let case = format!("{frozen} s of {period} s{suffix}, {connections} connection{plural}");
    let response = &measured.summary.response_time_us;
    let rows = [
        ("p95", known.p95, response.p95),
        ("p99", known.p99, response.p99),
        ("max", known.max, response.max),
    ];
    let finding = |(name, known, measured): (&'static str, f64, u64)| {
        let finding = Finding::new("freeze", case.clone(), FindingUnit::Microseconds, known, measured as f64);
        finding.statistic(name).within(time_tolerance_us(known))
    };
    Ok(rows.map(finding).to_vec())
}

/// Freezes the server with signals, on the same schedule as its own.
fn frozen_from_outside(
    instrument: &Instrument<'_>,
    server: &KnownServer,
    freeze: Freeze,
    periods: u32,
    load: &TestLoad,
) -> Result<Measurement, CheckError> {
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
        let measured = instrument.run(server, load);
        freezer.join().expect("the thread does not panic").map_err(CheckError::Server)?;
        measured
    })
}
