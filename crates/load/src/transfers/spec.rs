//! What is downloaded and at which pace, and the orders to the processes that do it.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use wire::http1::Request;

use crate::clock::Nanos;
use crate::drivers::ProtocolSpec;
use crate::drivers::http::{Expected, HttpOperation};
use crate::inputs::template::parse_literal;
use crate::spec::LoadSpec;

/// What the smallest receive buffer that is asked for takes of payload, and a read gets. Linux fills half of a small window with each
/// segment, and its own smallest buffer (`SOCK_MIN_RCVBUF`, a window of 1,152 bytes) has room for one of them: a read gets 576 bytes,
/// and there are three times as many. From this size on there is room for two.
pub const SMALLEST_WINDOW: u32 = 1_792;

/// A client with a larger pace has a larger buffer: it reads this often.
const USUAL_INTERVAL: Duration = Duration::from_millis(500);

/// The largest receive buffer.
const LARGEST_BUFFER: u32 = 256 << 10;

/// Reads that are not later than this are never too late.
const NEVER_LATE: Duration = Duration::from_secs(1);

/// How late a read may be, of this time between two reads of a transfer. The window holds what the pace asks for in that time: a read
/// that is late by a quarter of it finds all of it, and the server has the rest to fill the window again.
pub fn most_late(interval: Duration) -> Duration {
    (interval / 4).max(NEVER_LATE)
}

/// From when on the pace of a transfer counts whose read was due `at`: from then, so that a delay does not slow it down; from `now`
/// where the read is too late, since the window had no room for what the pace asked for meanwhile.
pub(super) fn pace_goes_on(at: Nanos, now: Nanos, most_late: Duration) -> Nanos {
    if Duration::from(now.since(at)) > most_late { now } else { at }
}

/// Why a load cannot be made of transfers.
#[derive(Debug, thiserror::Error)]
pub enum TransferSpecError {
    /// It is not HTTP without TLS.
    #[error("transfers are HTTP without TLS: name a workload or a URL of http://")]
    Protocol,
    /// It listens on a socket of the file system.
    #[error("transfers are over TCP: let the server listen on its port, and leave out its socket")]
    UnixSocket,
    /// Its request changes from one to the next.
    #[error("operation {0:?} is a template: name one with a fixed path (--on-op)")]
    Template(String),
    /// Its replies have no body.
    #[error("operation {0:?} is a HEAD, whose replies have no body to download: name one with GET (--on-op)")]
    NoBody(String),
    /// It has no such operation.
    #[error("there is no operation {0:?} to download: name one with --on-op: {1}")]
    NoOperation(String, String),
    /// The request cannot be sent.
    #[error("the request cannot be sent: {0}")]
    Request(#[from] wire::http1::RequestError),
}

/// What is downloaded, at which pace, and when a client gives up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransferSpec {
    /// The server's addresses, which transfers use in turn.
    pub addresses: Vec<SocketAddr>,
    /// The request, ready to send.
    pub request: Vec<u8>,
    /// What the reply must be.
    pub expect: Expected,
    /// The pace at which a client reads, bytes a second.
    pub pace_bytes_per_s: f64,
    /// Without its first byte after this time a transfer has timed out.
    pub first_byte_within: Duration,
    /// Without a further byte for this long a transfer is stalled.
    pub stalled_after: Duration,
    /// Without a further byte for this long a transfer has timed out.
    pub gives_up_after: Duration,
    /// A client whose transfer has failed begins another one after this time.
    pub retry_after: Duration,
    /// The local addresses of connections, which they use in turn; empty to let the system choose.
    pub sources: Vec<IpAddr>,
}

impl TransferSpec {
    /// The transfers of the operation `only` of a load, or of its only one.
    pub fn of(load: &LoadSpec, only: Option<&str>, pace_bytes_per_s: f64) -> Result<Self, TransferSpecError> {
        let ProtocolSpec::Http(http) = &load.protocol else { return Err(TransferSpecError::Protocol) };
        if load.tls.is_some() {
            return Err(TransferSpecError::Protocol);
        }
        if !load.sockets.is_empty() {
            return Err(TransferSpecError::UnixSocket);
        }
        let names: Vec<String> = http.operations.iter().map(name_of).collect();
        let at = match only {
            Some(only) => names.iter().position(|name| name == only),
            None => (names.len() == 1).then_some(0),
        };
        let missing =
            || TransferSpecError::NoOperation(only.unwrap_or_default().to_owned(), names.join(", "));
        let operation = &http.operations[at.ok_or_else(missing)?];
        let template = || TransferSpecError::Template(name_of(operation));
        if operation.body.is_some() {
            return Err(template());
        }
        let fixed = |text: &str| parse_literal(text).map_err(|_| template());
        let path = fixed(&operation.path)?;
        let values: Vec<String> =
            operation.headers.iter().map(|(_, value)| fixed(value)).collect::<Result<_, _>>()?;
        if operation.method == "HEAD" {
            return Err(TransferSpecError::NoBody(name_of(operation)));
        }
        let headers: Vec<(&str, &str)> = operation
            .headers
            .iter()
            .zip(&values)
            .map(|((name, _), value)| (name.as_str(), value.as_str()))
            .collect();
        let request = Request {
            method: &operation.method,
            target: &path,
            host: &http.authority,
            headers: &headers,
            body: &[],
        };
        Ok(Self {
            addresses: load.addresses.clone(),
            request: request.render()?,
            expect: operation.expect.clone(),
            pace_bytes_per_s,
            first_byte_within: Duration::from_secs(10),
            stalled_after: Duration::from_secs(10),
            gives_up_after: Duration::from_mins(1),
            retry_after: Duration::from_secs(1),
            sources: load.sources.clone(),
        }
        .with_patience())
    }

    /// A client is patient for several of its reads.
    fn with_patience(self) -> Self {
        let interval = self.interval();
        Self {
            stalled_after: self.stalled_after.max(interval * 2),
            gives_up_after: self.gives_up_after.max(interval * 4),
            ..self
        }
    }

    /// About how many bytes of a transfer the client's kernel takes before it is read.
    fn window_bytes(&self) -> u32 {
        let wanted = self.pace_bytes_per_s * USUAL_INTERVAL.as_secs_f64();
        wanted.clamp(f64::from(SMALLEST_WINDOW), f64::from(LARGEST_BUFFER)) as u32
    }

    /// The receive buffer of a connection as it is asked for: the kernel takes twice that, for its own structures.
    pub fn buffer_bytes(&self) -> u32 {
        self.window_bytes()
    }

    /// The most bytes that a client reads at once.
    pub fn read_bytes(&self) -> u32 {
        2 * self.window_bytes()
    }

    /// About how long it is from one read of a transfer to the next.
    pub fn interval(&self) -> Duration {
        let seconds = f64::from(self.window_bytes()) / self.pace_bytes_per_s;
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_hours(1))
    }
}

fn name_of(operation: &HttpOperation) -> String {
    operation.name.clone().unwrap_or_else(|| format!("{} {}", operation.method, operation.path))
}

/// The first line to a process of transfers.
#[derive(Serialize, Deserialize)]
pub(crate) struct TransferAssignment {
    pub(super) transfers: TransferSpec,
    pub(super) process: u32,
    pub(super) processes: u32,
    /// How far its clock is ahead of the one that counts the seconds, nanoseconds.
    pub(super) ahead_ns: i64,
    /// The most transfers that it can be asked for.
    pub(super) most: u32,
    /// The first second that it reports.
    pub(super) first_second: u64,
}

/// An order to a process of transfers, one line of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum TransferOrder {
    /// This many clients want a transfer; further ones begin evenly between two instants, those that are too many end at once.
    Maintain { transfers: u32, from: Nanos, until: Nanos },
    /// So many clients a second come to see whether they are answered, and leave with their first byte.
    Probe { per_s: f64 },
    /// Counts from now on how often each transfer advances.
    Mark,
    /// Reports that.
    Advances,
}
