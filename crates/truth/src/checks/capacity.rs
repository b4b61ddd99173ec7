//! What the client can do at most: the scale on which the loads of the other checks are chosen.

use std::time::Duration;

use super::percentiles::connections;
use crate::instrument::{CheckError, Instrument, Load, Pace, Protocol};
use crate::known::child::KnownServer;
use crate::known::service::Service;

const CONNECTIONS: u32 = 64;
const LENGTH: Duration = Duration::from_millis(400);
/// Steps down from what a closed loop does; the last one is taken to be believed.
const STEP: f64 = 0.88;
const STEPS: i32 = 8;
const SERVICE: Duration = Duration::from_millis(2);

/// Operations a second at which one worker needs all of its CPU in a closed loop: throughput over the share of
/// the CPU that it took, against a server that answers at once. Replies come in batches there, which makes
/// each cheaper than any open loop can have it.
pub fn of_client(instrument: &Instrument<'_>, protocol: Protocol) -> Result<f64, CheckError> {
    let server = instrument.start(|behaviour| behaviour.log = false)?;
    let load = Load { protocol, ..Load::http(CONNECTIONS, Pace::Closed, LENGTH) };
    let summary = instrument.run(&server, &load)?.summary;
    Ok(summary.throughput_per_s / summary.client.utilisation.clamp(0.01, 1.0))
}

/// The highest rate of an open loop, to one eighth, that one worker can offer and be believed.
pub fn believed(instrument: &Instrument<'_>, protocol: Protocol) -> Result<f64, CheckError> {
    let most = of_client(instrument, protocol)?;
    let server = instrument.start(|behaviour| {
        (behaviour.service, behaviour.log) = (Service::Exponential(SERVICE), false);
    })?;
    // Halved, not walked: most runs beyond the limit take twice their time, because all that is late is still sent.
    let (mut too_much, mut believed) = (0, STEPS);
    while believed - too_much > 1 {
        let step = i32::midpoint(too_much, believed);
        if is_believed(instrument, &server, protocol, most * STEP.powi(step))? {
            believed = step;
        } else {
            too_much = step;
        }
    }
    Ok(most * STEP.powi(believed))
}

/// Whether two runs of three are valid at this rate: what else happens on the machine spoils one now and then, and a
/// scale that is found too low makes twice of it no overload.
fn is_believed(
    instrument: &Instrument<'_>,
    server: &KnownServer,
    protocol: Protocol,
    rate: f64,
) -> Result<bool, CheckError> {
    let connections = connections(rate, Service::Exponential(SERVICE));
    let load = Load { protocol, ..Load::http(connections, Pace::Poisson(rate), LENGTH) };
    let (mut valid, mut invalid) = (0, 0);
    while valid < 2 && invalid < 2 {
        let is_valid = instrument.run(server, &load)?.summary.valid;
        valid += u8::from(is_valid);
        invalid += u8::from(!is_valid);
    }
    Ok(valid == 2)
}
