//! The client's highest rate. The loads of the other checks are shares of it.

use std::time::Duration;

use super::percentiles::connections;
use crate::instrument::{CheckError, Instrument, LoadShape, TestLoad, TestProtocol};
use crate::known::child::KnownServer;
use crate::known::service::ServiceTime;

const CONNECTIONS: u32 = 64;
const LENGTH: Duration = Duration::from_millis(400);
/// Ratio of one step to the next, down from the throughput of a closed loop. The last step is assumed to be valid.
const STEP: f64 = 0.88;
const STEPS: i32 = 8;
const SERVICE: Duration = Duration::from_millis(2);

/// Operations per second at which one worker saturates its CPU in a closed loop: throughput divided by the share of the
/// CPU that it used, against a server that answers at once. Replies arrive in batches there, so each costs less than in
/// an open loop.
pub fn of_client(instrument: &Instrument<'_>, protocol: TestProtocol) -> Result<f64, CheckError> {
    let server = instrument.start(|behaviour| behaviour.log = false)?;
    let load = TestLoad { protocol, ..TestLoad::http(CONNECTIONS, LoadShape::Closed, LENGTH) };
    let summary = instrument.run(&server, &load)?.summary;
    Ok(summary.throughput_per_s / summary.client.utilisation.clamp(0.01, 1.0))
}

/// The highest open-loop rate, to one eighth, at which one worker gives a valid measurement.
pub fn highest_valid_rate(instrument: &Instrument<'_>, protocol: TestProtocol) -> Result<f64, CheckError> {
    let most = of_client(instrument, protocol)?;
    let server = instrument.start(|behaviour| {
        (behaviour.service, behaviour.log) = (ServiceTime::Exponential(SERVICE), false);
    })?;
    // Bisection: a run beyond the limit takes up to twice its time, because late operations are still sent.
    let (mut too_high, mut valid) = (0, STEPS);
    while valid - too_high > 1 {
        let step = i32::midpoint(too_high, valid);
        if is_valid_rate(instrument, &server, protocol, most * STEP.powi(step))? {
            valid = step;
        } else {
            too_high = step;
        }
    }
    Ok(most * STEP.powi(valid))
}

/// Whether two of three runs are valid at this rate. Other activity on the machine spoils a run now and then, and with
/// a rate that is too low, twice that rate is no overload.
fn is_valid_rate(
    instrument: &Instrument<'_>,
    server: &KnownServer,
    protocol: TestProtocol,
    rate: f64,
) -> Result<bool, CheckError> {
    let connections = connections(rate, ServiceTime::Exponential(SERVICE));
    let load = TestLoad { protocol, ..TestLoad::http(connections, LoadShape::Poisson(rate), LENGTH) };
    let (mut valid, mut invalid) = (0, 0);
    while valid < 2 && invalid < 2 {
        let is_valid = instrument.run(server, &load)?.summary.valid;
        valid += u8::from(is_valid);
        invalid += u8::from(!is_valid);
    }
    Ok(valid == 2)
}
