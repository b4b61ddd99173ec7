//! An interval made small: for keeping a long run in memory, and for crossing from process to process.
//!
//! Histograms are in the second encoding of the `hdrhistogram` libraries (the one inside their logs) in base64,
//! the rest is JSON, so that a program in any language can read or write one.

use base64::{Engine, engine::general_purpose::STANDARD};
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use serde::{Deserialize, Serialize};

use super::{ClientStats, ConnectionStats, Errors, Interval, Micros, OperationStats};

/// Why a packed interval could not be read.
#[derive(Debug, thiserror::Error)]
#[error("an interval of a load process does not decode: {0}")]
pub struct PackError(String);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct PackedOperation {
    response_time: String,
    service_time: String,
    first_byte: String,
    carried: u64,
    bytes_sent: u64,
    bytes_received: u64,
    errors: Errors,
}

/// An [`Interval`] in a compact form that serde can carry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PackedInterval {
    operations: Vec<PackedOperation>,
    connect: String,
    tls: String,
    tls_resumed: u64,
    open_peak: u64,
    connection_errors: Errors,
    lag: String,
    pickup: String,
    offered: u64,
    user_cpu_ns: u64,
    system_cpu_ns: u64,
    spin_ns: u64,
    run_delay_ns: u64,
    wall_ns: u64,
    counters: Vec<u64>,
}

impl PackedInterval {
    /// Packs an interval; about 1 KB for each histogram in use.
    pub fn pack(interval: &Interval) -> Self {
        let mut packer = Packer { serializer: V2Serializer::new(), bytes: Vec::new() };
        let (connections, client) = (&interval.connections, &interval.client);
        Self {
            operations: interval
                .operations
                .iter()
                .map(|op| PackedOperation {
                    response_time: packer.pack(&op.response_time),
                    service_time: packer.pack(&op.service_time),
                    first_byte: packer.pack(&op.first_byte),
                    carried: op.carried,
                    bytes_sent: op.bytes_sent,
                    bytes_received: op.bytes_received,
                    errors: op.errors.clone(),
                })
                .collect(),
            connect: packer.pack(&connections.connect),
            tls: packer.pack(&connections.tls),
            tls_resumed: connections.tls_resumed,
            open_peak: connections.open_peak,
            connection_errors: connections.errors.clone(),
            lag: packer.pack(&client.lag),
            pickup: packer.pack(&client.pickup),
            offered: client.offered,
            user_cpu_ns: client.user_cpu_ns,
            system_cpu_ns: client.system_cpu_ns,
            spin_ns: client.spin_ns,
            run_delay_ns: client.run_delay_ns,
            wall_ns: client.wall_ns,
            counters: interval.counters.clone(),
        }
    }

    /// The interval again, equal to the one packed.
    pub fn unpack(&self) -> Result<Interval, PackError> {
        let operations: Result<Vec<_>, PackError> = self
            .operations
            .iter()
            .map(|op| {
                Ok(OperationStats {
                    response_time: unpack(&op.response_time)?,
                    service_time: unpack(&op.service_time)?,
                    first_byte: unpack(&op.first_byte)?,
                    carried: op.carried,
                    bytes_sent: op.bytes_sent,
                    bytes_received: op.bytes_received,
                    errors: op.errors.clone(),
                })
            })
            .collect();
        Ok(Interval {
            operations: operations?,
            connections: ConnectionStats {
                connect: unpack(&self.connect)?,
                tls: unpack(&self.tls)?,
                tls_resumed: self.tls_resumed,
                open_peak: self.open_peak,
                errors: self.connection_errors.clone(),
            },
            client: ClientStats {
                lag: unpack(&self.lag)?,
                pickup: unpack(&self.pickup)?,
                offered: self.offered,
                user_cpu_ns: self.user_cpu_ns,
                system_cpu_ns: self.system_cpu_ns,
                spin_ns: self.spin_ns,
                run_delay_ns: self.run_delay_ns,
                wall_ns: self.wall_ns,
            },
            counters: self.counters.clone(),
        })
    }
}

struct Packer {
    serializer: V2Serializer,
    bytes: Vec<u8>,
}

impl Packer {
    /// An empty histogram packs to the empty string: most of them are.
    fn pack(&mut self, histogram: &Micros) -> String {
        if histogram.is_empty() {
            return String::new();
        }
        self.bytes.clear();
        self.serializer.serialize(histogram, &mut self.bytes).expect("writing to memory does not fail");
        STANDARD.encode(&self.bytes)
    }
}

fn unpack(text: &str) -> Result<Micros, PackError> {
    if text.is_empty() {
        return Ok(super::micros());
    }
    let bytes = STANDARD.decode(text).map_err(|e| PackError(e.to_string()))?;
    let mut histogram: Micros =
        Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|e| PackError(e.to_string()))?;
    histogram.auto(true);
    Ok(histogram)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::record;

    #[test]
    fn what_is_packed_unpacks_the_same_and_still_grows() {
        let mut interval = Interval::new(2, 1);
        for us in [1, 50, 70_000] {
            record(&mut interval.operations[1].response_time, us);
            record(&mut interval.client.lag, us);
        }
        interval.operations[0].carried = 4;
        interval.counters[0] = 9;
        interval.client.run_delay_ns = 7;
        let json = serde_json::to_string(&PackedInterval::pack(&interval)).expect("plain data");
        let packed: PackedInterval = serde_json::from_str(&json).expect("its own JSON");
        let mut again = packed.unpack().expect("its own encoding");
        assert_eq!(again, interval);
        record(&mut again.operations[1].response_time, 3_000_000_000);
    }

    #[test]
    fn rubbish_is_an_error_and_no_panic() {
        assert!(unpack("AAAA").is_err() && unpack("%").is_err());
    }
}
