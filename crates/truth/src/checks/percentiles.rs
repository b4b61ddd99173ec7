//! Percentiles of the server's time against the server's own, for known distributions at known shares of the client's
//! highest rate. The server's time is the response time without the client's late sends, which the server cannot see. How
//! late the sends were is a line of its own.

use std::time::Duration;

use load::validity::{HARMLESS_LAG_US, MAX_LAG_SHARE};

use crate::finding::{Finding, FindingUnit, time_tolerance_us};
use crate::instrument::{CheckError, Instrument, LoadShape, Measurement, TestLoad, TestProtocol};
use crate::known::service::ServiceTime;

/// Connections per concurrent request, on average. Enough for bursts after a disturbance: a request must not wait for a
/// connection, because the server cannot see that wait.
const CONNECTIONS_PER_REQUEST: f64 = 4.0;
const FEWEST_CONNECTIONS: f64 = 256.0;

/// The load of one measurement.
#[derive(Clone, Copy, Debug)]
pub struct LoadLevel {
    /// The protocol.
    pub protocol: TestProtocol,
    /// The highest valid rate of one worker, operations per second.
    pub capacity_per_s: f64,
    /// The offered share of it, 0 to 1.
    pub share: f64,
}

/// Checks p50, p90, p95, p99 and p99.9 of one distribution at one load. An invalid measurement is repeated, like a trial, as
/// long as there are `repetitions` left.
pub fn check(
    instrument: &Instrument<'_>,
    service: ServiceTime,
    level: LoadLevel,
    length: Duration,
    repetitions: &mut u32,
) -> Result<Vec<Finding>, CheckError> {
    let rate = level.capacity_per_s * level.share;
    let load = TestLoad {
        protocol: level.protocol,
        // The interval of `showdown load`. Shorter ones cost the client more.
        interval: Duration::from_secs(1),
        ..TestLoad::http(connections(rate, service), LoadShape::Poisson(rate), length)
    };
    let mut measured = once(instrument, service, &load)?;
    while !measured.reasons_against_server_times().is_empty() && *repetitions > 0 {
        *repetitions -= 1;
        measured = once(instrument, service, &load)?;
    }
    let case = format!("{} {service} at {:.0} %", level.protocol.name(), level.share * 100.0);
    let mut findings = compare("percentiles", &case, &measured, level.share > 0.5);
    findings.push(late_sends(&case, &measured));
    Ok(findings)
}

/// Whether response times, which contain late sends, can be trusted at this load, too.
fn late_sends(case: &str, measured: &Measurement) -> Finding {
    let summary = &measured.summary;
    let most = (MAX_LAG_SHARE * summary.response_time_us.p50 as f64).max(HARMLESS_LAG_US as f64);
    let lag_us = summary.client.lag_us.p99 as f64;
    let finding = Finding::new("late sends", case, FindingUnit::Microseconds, 0.0, lag_us);
    finding.statistic("p99").within(most).as_limit()
}

/// Enough connections that no request waits for one.
pub(super) fn connections(rate_per_s: f64, service: ServiceTime) -> u32 {
    (FEWEST_CONNECTIONS + rate_per_s * service.mean().as_secs_f64() * CONNECTIONS_PER_REQUEST) as u32
}

fn once(
    instrument: &Instrument<'_>,
    service: ServiceTime,
    load: &TestLoad,
) -> Result<Measurement, CheckError> {
    let server = instrument.start(|behaviour| behaviour.service = service)?;
    instrument.run(&server, load)
}

/// Compares the percentiles of a measurement with the server's own.
///
/// From p99 on, one request in a hundred is affected by periodic activity of the host. Above half of its capacity a
/// client queues like any server. On a shared machine these percentiles may fail, so they are limits.
pub(super) fn compare(
    check: &'static str,
    case: &str,
    measured: &Measurement,
    is_limit: bool,
) -> Vec<Finding> {
    let Measurement { summary, account, .. } = measured;
    let Some(known) = account.service_time_us else { return Vec::new() };
    let reasons = measured.reasons_against_server_times();
    let times = &summary.server_time_us;
    let rows = [
        ("p50", known.p50, times.p50, is_limit),
        ("p90", known.p90, times.p90, is_limit),
        ("p95", known.p95, times.p95, is_limit),
        ("p99", known.p99, times.p99, true),
        ("p99.9", known.p99_9, times.p99_9, true),
    ];
    let finding = |(name, known, measured, is_limit): (&'static str, f64, u64, bool)| {
        let finding =
            Finding::new(check, case, FindingUnit::Microseconds, known, measured as f64).statistic(name);
        let finding = finding.within(time_tolerance_us(known)).unless_invalid(&reasons);
        if is_limit { finding.as_limit() } else { finding }
    };
    rows.into_iter().map(finding).collect()
}
