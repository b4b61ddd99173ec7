//! The host's floor: what this machine and this client add to the shortest times. Smaller differences in a result have
//! no meaning.

use std::time::Duration;

use serde::Serialize;
use stats::times::Times;

use crate::instrument::{CheckError, Instrument, LoadShape, TestLoad};

const RATE: f64 = 1_000.0;
const CONNECTIONS: u32 = 64;

/// The shortest times that this host can measure, microseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Floor {
    /// The smallest measurable latency: the median response time of a server that answers at once.
    pub min_latency_us: u64,
    /// The server's part of it, by the server's own clock: wake-up, read and send.
    pub server_part_us: f64,
    /// How late sends were.
    pub lag_us: Times,
    /// How long replies lay unread.
    pub pickup_us: Times,
    /// What the client added to a request: the sum of the two. The shortest times contain the first only, where the kernel
    /// stamps what it receives.
    pub delay_us: Times,
    /// Share of the requests with such a stamp, 0 to 1.
    pub stamped: f64,
    /// Distance from the median to the 99th percentile of identical answers.
    pub jitter_us: u64,
}

impl Floor {
    /// What this host and this client add to every time: the way through two sockets and two clock readings; without the
    /// kernel's timestamps also a wake-up.
    pub fn added_us(&self) -> f64 {
        (self.min_latency_us as f64 - self.server_part_us).max(0.0)
    }
}

/// Measures the floor with 1,000 evenly spaced requests per second to a server that answers at once.
pub fn measure(instrument: &Instrument<'_>, length: Duration) -> Result<Floor, CheckError> {
    let server = instrument.start(|_| ())?;
    let measured = instrument.run(&server, &TestLoad::http(CONNECTIONS, LoadShape::Even(RATE), length))?;
    let summary = measured.summary;
    Ok(Floor {
        min_latency_us: summary.response_time_us.p50,
        server_part_us: measured.account.service_time_us.map_or(0.0, |times| times.p50),
        jitter_us: summary.response_time_us.p99.saturating_sub(summary.response_time_us.p50),
        lag_us: summary.client.lag_us,
        pickup_us: summary.client.pickup_us,
        delay_us: summary.client.delay_us,
        stamped: summary.client.stamped,
    })
}
