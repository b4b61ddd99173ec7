//! The host's floor: what this machine and this client add to the smallest times, so that nobody reads more
//! into a number than is in it.

use std::time::Duration;

use serde::Serialize;
use stats::times::Times;

use crate::instrument::{CheckError, Instrument, Load, Pace};

const RATE: f64 = 1_000.0;
const CONNECTIONS: u32 = 64;

/// What lies below every measurement, microseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Floor {
    /// The smallest latency that can be told apart: what a server reads as (p50) that answers at once.
    pub least_us: u64,
    /// The part of it that is the server's by its own account: waking up, reading, sending.
    pub least_of_server_us: f64,
    /// How late sends were.
    pub lag_us: Times,
    /// How long replies lay unread.
    pub pickup_us: Times,
    /// From the median to the 99th percentile of what cannot differ: the answers of that server.
    pub jitter_us: u64,
}

impl Floor {
    /// What this host and this client add to every time: a wake-up, two looks at a clock.
    pub fn added_us(&self) -> f64 {
        (self.least_us as f64 - self.least_of_server_us).max(0.0)
    }
}

/// An even 1,000 requests a second to a server that answers at once.
pub fn measure(instrument: &Instrument<'_>, length: Duration) -> Result<Floor, CheckError> {
    let server = instrument.start(|_| ())?;
    let measured = instrument.run(&server, &Load::http(CONNECTIONS, Pace::Even(RATE), length))?;
    let summary = measured.summary;
    Ok(Floor {
        least_us: summary.response_time_us.p50,
        least_of_server_us: measured.account.service_time_us.map_or(0.0, |times| times.p50),
        jitter_us: summary.response_time_us.p99.saturating_sub(summary.response_time_us.p50),
        lag_us: summary.client.lag_us,
        pickup_us: summary.client.pickup_us,
    })
}
