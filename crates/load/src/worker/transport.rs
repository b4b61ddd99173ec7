//! A connection to the server from the connect call until it is closed: its handshakes, and the record of their times. It
//! does not use operations.

use std::net::{IpAddr, SocketAddr};

use super::connection_id::ConnectionId;
use super::link::{Link, Received};
use super::poller::{Poller, Token};
use super::stamp::Stamping;
use crate::clock::Nanos;
use crate::connecting::{ConnectionError, UnixSocket};
use crate::record::{ConnectionStats, ErrorKind, micros_of, record};
use crate::spec::LoadSpec;
use crate::tls::TlsContext;

/// The addresses to connect to and from: the same for all connections of a worker.
#[derive(Debug)]
pub(super) struct Dialer {
    to: Vec<SocketAddr>,
    /// Sockets of the file system instead.
    sockets: Vec<UnixSocket>,
    sources: Vec<IpAddr>,
    worker: u32,
    workers: u32,
    tls: Option<TlsContext>,
    /// The kernel stamps what is received; none where it cannot.
    stamping: Option<Stamping>,
    /// TLS begins when the driver requests it, and not at once.
    starts_in_plain_text: bool,
}

impl Dialer {
    /// The dialer of one worker.
    pub fn new(spec: &LoadSpec, worker: u32, tls: Option<TlsContext>) -> Self {
        Self {
            to: spec.addresses.clone(),
            sockets: spec.sockets.clone(),
            sources: spec.sources.clone(),
            worker,
            workers: spec.workers,
            tls,
            stamping: Stamping::begin(),
            starts_in_plain_text: spec.protocol.starts_tls(),
        }
    }

    pub fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// The number of a connection among the connections of all workers, which use the addresses in turn.
    fn turn(&self, id: ConnectionId) -> usize {
        id as usize * self.workers as usize + self.worker as usize
    }

    /// The place of a connection among the connections of all workers, 0 to 1, where each worker has `of_each`.
    pub fn share(&self, id: ConnectionId, of_each: u32) -> f64 {
        self.turn(id) as f64 / (f64::from(of_each) * f64::from(self.workers))
    }

    fn target(&self, id: ConnectionId) -> SocketAddr {
        self.to[self.turn(id) % self.to.len()]
    }

    fn socket(&self, id: ConnectionId) -> Option<&UnixSocket> {
        self.sockets.get(self.turn(id) % self.sockets.len().max(1))
    }

    /// Every local address is used for each target.
    fn source(&self, id: ConnectionId) -> Option<IpAddr> {
        let turn = self.turn(id) / self.to.len();
        (!self.sources.is_empty()).then(|| self.sources[turn % self.sources.len()])
    }
}

/// The stage of a connection.
#[derive(Debug)]
enum TransportStage {
    Closed,
    /// TCP handshake in progress.
    Connecting(Link),
    /// TLS handshake in progress.
    Securing(Link),
    /// Bytes can be sent and received.
    Open(Link),
}

/// The connection of one slot.
#[derive(Debug)]
pub(super) struct Transport {
    stage: TransportStage,
    /// Number of links so far.
    generation: u32,
    /// When the handshake in progress began.
    begun: Nanos,
}

impl Transport {
    /// Not connected.
    pub fn new() -> Self {
        Self { stage: TransportStage::Closed, generation: 0, begun: Nanos(0) }
    }

    /// Begins to connect; the poller reports the end.
    pub fn open(
        &mut self,
        id: ConnectionId,
        dialer: &Dialer,
        poller: &Poller,
        now: Nanos,
    ) -> Result<(), ConnectionError> {
        self.begun = now;
        self.generation = self.generation.wrapping_add(1);
        let tls = if dialer.starts_in_plain_text { None } else { dialer.tls.as_ref() };
        let stamped = dialer.stamping.is_some();
        let link = match dialer.socket(id) {
            Some(socket) => Link::connect_to_socket(socket, tls)?,
            None => Link::connect(dialer.target(id), dialer.source(id), tls, stamped)?,
        };
        poller.watch(&link, Token { slot: id, generation: self.generation })?;
        self.stage = TransportStage::Connecting(link);
        Ok(())
    }

    /// Number of the current link; it changes whenever the connection is opened again.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// Is the TCP handshake in progress?
    pub fn is_connecting(&self) -> bool {
        matches!(self.stage, TransportStage::Connecting(_))
    }

    /// Can bytes be sent and received?
    pub fn is_open(&self) -> bool {
        matches!(self.stage, TransportStage::Open(_))
    }

    #[inline(always)]
    fn link(&mut self) -> Option<&mut Link> {
        match &mut self.stage {
            TransportStage::Closed => None,
            TransportStage::Connecting(link)
            | TransportStage::Securing(link)
            | TransportStage::Open(link) => Some(link),
        }
    }

    /// The poller has reported the link: it may be readable, and it may take the bytes that are left to send.
    #[inline(always)]
    pub fn notice(&mut self, ended: bool) -> Result<(), ConnectionError> {
        let Some(link) = self.link() else { return Ok(()) };
        link.notice(ended);
        link.flush()
    }

    /// The poller has reported a link that connects. On success the TLS handshake begins, or the connection is open.
    pub fn connected(
        &mut self,
        ended: bool,
        now: Nanos,
        stats: &mut ConnectionStats,
    ) -> Result<(), ConnectionError> {
        let TransportStage::Connecting(mut link) = std::mem::replace(&mut self.stage, TransportStage::Closed)
        else {
            return Ok(());
        };
        link.connected()?;
        link.notice(ended);
        record(&mut stats.connect, micros_of(now.since(self.begun)));
        if link.is_tls() {
            self.begun = now;
            link.send(&[])?;
            self.stage = TransportStage::Securing(link);
        } else {
            self.stage = TransportStage::Open(link);
        }
        Ok(())
    }

    /// Begins the TLS handshake on an open connection.
    pub fn secure(&mut self, dialer: &Dialer, now: Nanos) -> Result<(), ConnectionError> {
        let Some(tls) = &dialer.tls else {
            let detail = "the server waits for TLS, and the load has no TLS".to_owned();
            return Err(ConnectionError { kind: ErrorKind::Tls, detail });
        };
        if let TransportStage::Open(mut link) = std::mem::replace(&mut self.stage, TransportStage::Closed) {
            link.secure(tls)?;
            self.begun = now;
            self.stage = TransportStage::Securing(link);
        }
        Ok(())
    }

    /// If the TLS handshake has just ended, the connection is open.
    #[inline]
    pub fn secured(&mut self, now: Nanos, stats: &mut ConnectionStats) -> bool {
        let TransportStage::Securing(link) = &mut self.stage else { return false };
        let Some(resumed) = link.take_secured() else { return false };
        record(&mut stats.tls, micros_of(now.since(self.begun)));
        stats.tls_resumed += u64::from(resumed);
        if let TransportStage::Securing(link) = std::mem::replace(&mut self.stage, TransportStage::Closed) {
            self.stage = TransportStage::Open(link);
        }
        true
    }

    /// See [`Link::send`].
    #[inline(always)]
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), ConnectionError> {
        match self.link() {
            Some(link) => link.send(bytes),
            None => Ok(()),
        }
    }

    /// See [`Link::receive`]. A closed connection has nothing.
    #[inline(always)]
    pub fn receive(&mut self, buffer: &mut [u8], wire: &mut [u8]) -> Result<Received, ConnectionError> {
        match self.link() {
            Some(link) => link.receive(buffer, wire),
            None => Ok(Received::Nothing),
        }
    }

    /// See [`Link::discard`]. A closed connection has nothing.
    #[inline(always)]
    pub fn discard(&mut self, span: &mut [u8]) -> Result<Received, ConnectionError> {
        match self.link() {
            Some(link) => link.discard(span),
            None => Ok(Received::Nothing),
        }
    }

    /// See [`Link::has_more`].
    pub fn has_more(&mut self) -> bool {
        self.link().is_some_and(|link| link.has_more())
    }

    /// See [`Link::is_ending`].
    #[inline]
    pub fn is_ending(&mut self) -> bool {
        self.link().is_some_and(|link| link.is_ending())
    }

    /// See [`Link::local_port`].
    pub fn local_port(&self) -> Option<u16> {
        match &self.stage {
            TransportStage::Open(link) => link.local_port(),
            _ => None,
        }
    }

    /// Closes the connection at any stage.
    pub fn close(&mut self) {
        self.stage = TransportStage::Closed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_of_all_workers_are_spread_evenly() {
        let spec = crate::outcome::example::outcome().spec.with_workers(2);
        let shares = [0, 1].map(|worker| {
            let dialer = Dialer::new(&spec, worker, None);
            [0, 1].map(|id| dialer.share(id, 2))
        });
        assert_eq!(shares, [[0.0, 0.5], [0.25, 0.75]]);
    }
}
