//! Response times against the server's own: percentiles of known distributions, at known shares of what the
//! client can do.

use std::time::Duration;

use crate::finding::{Finding, Unit, time_tolerance_us};
use crate::instrument::{CheckError, Instrument, Load, Measured, Pace, Protocol};
use crate::known::service::Service;

/// Connections for each request that is served at once on average, and some for the bursts after a disturbance:
/// none waits for a connection, which the server could not know of.
const ROOM: f64 = 4.0;
/// What the engine calls invalid, because the host disturbed it, is measured again, as a trial would be.
const ATTEMPTS: u32 = 3;
const FEWEST_CONNECTIONS: f64 = 256.0;

/// The load of one measurement.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    /// What is spoken.
    pub protocol: Protocol,
    /// What one worker can offer at most and be believed, operations a second.
    pub capacity_per_s: f64,
    /// The share of it that is offered, 0 to 1.
    pub share: f64,
}

/// One distribution at one load: p50, p90, p95, p99 and p99.9.
pub fn check(
    instrument: &Instrument<'_>,
    service: Service,
    level: Level,
    length: Duration,
) -> Result<Vec<Finding>, CheckError> {
    let rate = level.capacity_per_s * level.share;
    let load = Load {
        protocol: level.protocol,
        // Shorter ones would give the client more to do than users of `showdown load` give it.
        interval: Duration::from_secs(1),
        ..Load::http(connections(rate, service), Pace::Poisson(rate), length)
    };
    let mut measured = once(instrument, service, &load)?;
    for _ in 1..ATTEMPTS {
        if measured.summary.valid {
            break;
        }
        measured = once(instrument, service, &load)?;
    }
    let what = format!("{} {service} at {:.0} %", level.protocol.name(), level.share * 100.0);
    Ok(compare("percentiles", &what, &measured, level.share > 0.5))
}

/// So many that none waits for one.
pub(super) fn connections(rate_per_s: f64, service: Service) -> u32 {
    (FEWEST_CONNECTIONS + rate_per_s * service.mean().as_secs_f64() * ROOM) as u32
}

fn once(instrument: &Instrument<'_>, service: Service, load: &Load) -> Result<Measured, CheckError> {
    let server = instrument.start(|behaviour| behaviour.service = service)?;
    instrument.run(&server, load)
}

/// The percentiles of a measurement against those of the server.
///
/// From p99 on, one request of a hundred meets whatever the host does once in a second; beyond half of its
/// capacity a client queues like any server. On a machine that is shared these may miss.
pub(super) fn compare(check: &'static str, what: &str, measured: &Measured, is_limit: bool) -> Vec<Finding> {
    let Measured { summary, account, .. } = measured;
    let Some(known) = account.service_time_us else { return Vec::new() };
    let response = &summary.response_time_us;
    let rows = [
        ("p50", known.p50, response.p50, is_limit),
        ("p90", known.p90, response.p90, is_limit),
        ("p95", known.p95, response.p95, is_limit),
        ("p99", known.p99, response.p99, true),
        ("p99.9", known.p99_9, response.p99_9, true),
    ];
    let finding = |(name, known, measured, is_limit): (&'static str, f64, u64, bool)| {
        let finding = Finding::new(check, what, Unit::Microseconds, known, measured as f64).at(name);
        let share = summary.client_shares.iter().find(|share| share.percentile == name);
        let finding =
            finding.within(time_tolerance_us(known)).if_valid(&summary.reasons).if_not_doubted(share);
        if is_limit { finding.as_limit() } else { finding }
    };
    rows.into_iter().map(finding).collect()
}
