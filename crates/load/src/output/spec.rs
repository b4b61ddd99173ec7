//! The spec of a run in the JSON of `showdown load`: enough to run it again.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::connecting::UnixSocket;
use crate::drivers::ProtocolSpec;
use crate::spec::{Arrivals, LoadSpec, Shape};
use crate::tls::{TlsSpec, Trust};

/// What was run. Durations are text, such as `1m 30s`.
#[derive(Debug, Serialize)]
pub(super) struct SpecOutput<'a> {
    addresses: &'a [SocketAddr],
    /// The socket of the file system, to which the load went instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    socket: Option<&'a Path>,
    sources: &'a [IpAddr],
    tls: Option<TlsOutput<'a>>,
    /// The input of the protocol's driver, with the driver's own keys, and without secrets.
    protocol: ProtocolSpec,
    connections: u32,
    workers: u32,
    shape: ShapeOutput,
    #[serde(with = "humantime_serde")]
    warmup: Duration,
    #[serde(with = "humantime_serde")]
    duration: Option<Duration>,
    requests: Option<u64>,
    requests_per_connection: Option<u32>,
    #[serde(with = "humantime_serde")]
    timeout: Duration,
    #[serde(with = "humantime_serde")]
    interval: Duration,
    seed: u64,
}

#[derive(Debug, Serialize)]
#[serde(tag = "loop", rename_all = "lowercase")]
enum ShapeOutput {
    Closed {
        #[serde(with = "humantime_serde")]
        think: Duration,
    },
    Open {
        rate: String,
        arrivals: &'static str,
    },
}

#[derive(Debug, Serialize)]
struct TlsOutput<'a> {
    server_name: &'a str,
    resumption: bool,
    trust: TrustOutput<'a>,
    /// The file of the client's certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum TrustOutput<'a> {
    Anyone,
    System,
    File(&'a str),
}

impl<'a> From<&'a LoadSpec> for SpecOutput<'a> {
    fn from(spec: &'a LoadSpec) -> Self {
        Self {
            addresses: &spec.addresses,
            socket: spec.sockets.first().map(UnixSocket::path),
            sources: &spec.sources,
            tls: spec.tls.as_ref().map(TlsOutput::from),
            protocol: spec.protocol.published(),
            connections: spec.connections,
            workers: spec.workers,
            shape: ShapeOutput::from(&spec.part.shape),
            warmup: spec.part.warmup,
            duration: spec.part.duration,
            requests: spec.part.requests,
            requests_per_connection: spec.requests_per_connection,
            timeout: spec.timeout,
            interval: spec.part.interval,
            seed: spec.part.seed,
        }
    }
}

impl From<&Shape> for ShapeOutput {
    fn from(shape: &Shape) -> Self {
        match shape {
            Shape::Closed { think } => Self::Closed { think: *think },
            Shape::Open { rate, arrivals } => Self::Open {
                rate: rate.to_string(),
                arrivals: match arrivals {
                    Arrivals::Poisson => "poisson",
                    Arrivals::Constant => "constant",
                },
            },
        }
    }
}

impl<'a> From<&'a TlsSpec> for TlsOutput<'a> {
    fn from(tls: &'a TlsSpec) -> Self {
        let trust = match &tls.trust {
            Trust::Anyone => TrustOutput::Anyone,
            Trust::System => TrustOutput::System,
            Trust::File(path) | Trust::Text { from: path, .. } => TrustOutput::File(path),
        };
        let certificate = tls.identity.as_ref().map(|identity| identity.certificate.path());
        Self { server_name: &tls.server_name, resumption: tls.resumption, trust, certificate }
    }
}
