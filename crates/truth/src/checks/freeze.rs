//! A server that does nothing at all for a tenth of the time: what its users wait for follows from
//! arithmetic, whatever the number of connections. A client that waits for replies before it sends more
//! would miss it ("coordinated omission").

use std::time::Duration;

use crate::arithmetic::frozen_response;
use crate::finding::{Finding, Unit};
use crate::instrument::{CheckError, Instrument, Load, Measured, Pace};
use crate::known::behaviour::Freeze;

const RATE: f64 = 1_000.0;
/// What the percentiles may be off, relative to the freeze.
const TOLERANCE: f64 = 0.02;

/// How the server is frozen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// By itself.
    Itself,
    /// From outside, by SIGSTOP and SIGCONT.
    Signals,
}

/// p95, p99 and the longest of an even 1,000 a second, over so many periods.
pub fn check(
    instrument: &Instrument<'_>,
    freeze: Freeze,
    by: By,
    periods: u32,
    connections: u32,
) -> Result<Vec<Finding>, CheckError> {
    // What a request costs this server on so many connections: how fast it makes up for what it has missed.
    let server = instrument.start(|_| ())?;
    let load = Load::http(connections, Pace::Closed, Duration::from_millis(300));
    let load_share = RATE / instrument.run(&server, &load)?.summary.throughput_per_s.max(RATE);
    drop(server);

    let load = Load::http(connections, Pace::Even(RATE), freeze.period * periods);
    let measured = match by {
        By::Itself => {
            let server = instrument.start(|behaviour| behaviour.freeze = Some(freeze))?;
            instrument.run(&server, &load)?
        }
        By::Signals => frozen_from_outside(instrument, freeze, periods, &load)?,
    };
    let how = match by {
        By::Itself => "",
        By::Signals => " by SIGSTOP",
    };
    let (frozen, period) = (freeze.length.as_secs_f64(), freeze.period.as_secs_f64());
    let plural = if connections == 1 { "" } else { "s" };
    let what = format!("{frozen} s of {period} s{how}, {connections} connection{plural}");
    let response = &measured.summary.response_time_us;
    let rows = [("p95", 0.95, response.p95), ("p99", 0.99, response.p99), ("max", 1.0, response.max)];
    let finding = |(name, quantile, measured): (&'static str, f64, u64)| {
        let known = frozen_response(freeze, load_share, quantile).as_secs_f64() * 1e6;
        let finding = Finding::new("freeze", what.clone(), Unit::Microseconds, known, measured as f64);
        finding.at(name).within(known * TOLERANCE)
    };
    Ok(rows.map(finding).to_vec())
}

/// The same schedule as the server's own, kept by this process.
fn frozen_from_outside(
    instrument: &Instrument<'_>,
    freeze: Freeze,
    periods: u32,
    load: &Load,
) -> Result<Measured, CheckError> {
    let server = instrument.start(|_| ())?;
    std::thread::scope(|scope| {
        let freezer = scope.spawn(|| {
            let between = freeze.period.saturating_sub(freeze.length);
            std::thread::sleep(between / 2);
            for _ in 0..periods {
                server.stop_the_world()?;
                std::thread::sleep(freeze.length);
                server.resume()?;
                std::thread::sleep(between);
            }
            Ok(())
        });
        let measured = instrument.run(&server, load);
        freezer.join().expect("it does not panic").map_err(CheckError::Server)?;
        measured
    })
}
