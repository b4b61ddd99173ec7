//! A connection's line to the server, from the call to connect until it is closed: which handshake is under
//! way, since when, and what is recorded of it. Knows no operation.

use std::net::{IpAddr, SocketAddr};

use super::link::{Link, LinkError, Received};
use super::pacing::ConnectionId;
use super::poller::{Poller, Token};
use crate::clock::Nanos;
use crate::record::{ConnectionStats, ErrorKind, micros_of, record};
use crate::spec::LoadSpec;
use crate::tls::TlsContext;

/// Where lines lead to, and from where: the same for all lines of a worker.
#[derive(Debug)]
pub(super) struct Dialer {
    to: Vec<SocketAddr>,
    sources: Vec<IpAddr>,
    worker: u32,
    workers: u32,
    tls: Option<TlsContext>,
    /// TLS begins when the driver asks for it, and not at once.
    in_the_clear: bool,
}

impl Dialer {
    /// The dialer of one worker.
    pub fn new(spec: &LoadSpec, worker: u32, tls: Option<TlsContext>) -> Self {
        Self {
            to: spec.addresses.clone(),
            sources: spec.sources.clone(),
            worker,
            workers: spec.workers,
            tls,
            in_the_clear: spec.protocol.starts_tls(),
        }
    }

    pub fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// The number of a connection among those of all workers: they take the addresses in turn.
    fn turn(&self, id: ConnectionId) -> usize {
        id as usize * self.workers as usize + self.worker as usize
    }

    fn target(&self, id: ConnectionId) -> SocketAddr {
        self.to[self.turn(id) % self.to.len()]
    }

    /// Each target is come to from every local address.
    fn source(&self, id: ConnectionId) -> Option<IpAddr> {
        let turn = self.turn(id) / self.to.len();
        (!self.sources.is_empty()).then(|| self.sources[turn % self.sources.len()])
    }
}

/// How far a line has come.
#[derive(Debug)]
enum Stage {
    Closed,
    /// The TCP handshake is under way.
    Connecting(Link),
    /// The TLS handshake is under way.
    Securing(Link),
    /// Bytes may go both ways.
    Open(Link),
}

/// The line of one connection slot.
#[derive(Debug)]
pub(super) struct Transport {
    stage: Stage,
    /// Counts the links that there have been.
    generation: u32,
    /// When the handshake under way began.
    begun: Nanos,
}

impl Transport {
    /// No line yet.
    pub fn new() -> Self {
        Self { stage: Stage::Closed, generation: 0, begun: Nanos(0) }
    }

    /// Begins to connect; the poller reports when it is done.
    pub fn open(
        &mut self,
        id: ConnectionId,
        dialer: &Dialer,
        poller: &Poller,
        now: Nanos,
    ) -> Result<(), LinkError> {
        self.begun = now;
        self.generation = self.generation.wrapping_add(1);
        let tls = dialer.tls.as_ref().filter(|_| !dialer.in_the_clear);
        let link = Link::connect(dialer.target(id), dialer.source(id), tls)?;
        poller.watch(&link, Token { slot: id, generation: self.generation })?;
        self.stage = Stage::Connecting(link);
        Ok(())
    }

    /// The link now, which changes whenever the line is opened anew.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// Is the TCP handshake under way?
    pub fn is_connecting(&self) -> bool {
        matches!(self.stage, Stage::Connecting(_))
    }

    /// May bytes go both ways?
    pub fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Open(_))
    }

    #[inline(always)]
    fn link(&mut self) -> Option<&mut Link> {
        match &mut self.stage {
            Stage::Closed => None,
            Stage::Connecting(link) | Stage::Securing(link) | Stage::Open(link) => Some(link),
        }
    }

    /// The poller has reported the link: it may be read, and takes what is left to send.
    #[inline(always)]
    pub fn notice(&mut self, ended: bool) -> Result<(), LinkError> {
        let Some(link) = self.link() else { return Ok(()) };
        link.notice(ended);
        link.flush()
    }

    /// The poller has reported a link that connects: how did it go? What comes next is the TLS handshake,
    /// or the line is open.
    pub fn connected(
        &mut self,
        ended: bool,
        now: Nanos,
        stats: &mut ConnectionStats,
    ) -> Result<(), LinkError> {
        let Stage::Connecting(mut link) = std::mem::replace(&mut self.stage, Stage::Closed) else {
            return Ok(());
        };
        link.connected()?;
        link.notice(ended);
        record(&mut stats.connect, micros_of(now.since(self.begun)));
        if link.is_tls() {
            self.begun = now;
            link.send(&[])?;
            self.stage = Stage::Securing(link);
        } else {
            self.stage = Stage::Open(link);
        }
        Ok(())
    }

    /// Begins the TLS handshake on a line that was open.
    pub fn secure(&mut self, dialer: &Dialer, now: Nanos) -> Result<(), LinkError> {
        let Some(tls) = &dialer.tls else {
            let detail = "the server waits for TLS, which was not asked for".to_owned();
            return Err(LinkError { kind: ErrorKind::Tls, detail });
        };
        if let Stage::Open(mut link) = std::mem::replace(&mut self.stage, Stage::Closed) {
            link.secure(tls)?;
            self.begun = now;
            self.stage = Stage::Securing(link);
        }
        Ok(())
    }

    /// If the TLS handshake has just ended, the line is open.
    #[inline]
    pub fn secured(&mut self, now: Nanos, stats: &mut ConnectionStats) -> bool {
        let Stage::Securing(link) = &mut self.stage else { return false };
        let Some(resumed) = link.take_secured() else { return false };
        record(&mut stats.tls, micros_of(now.since(self.begun)));
        stats.tls_resumed += u64::from(resumed);
        if let Stage::Securing(link) = std::mem::replace(&mut self.stage, Stage::Closed) {
            self.stage = Stage::Open(link);
        }
        true
    }

    /// See [`Link::send`].
    #[inline(always)]
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), LinkError> {
        match self.link() {
            Some(link) => link.send(bytes),
            None => Ok(()),
        }
    }

    /// See [`Link::receive`]. A closed line has nothing.
    #[inline(always)]
    pub fn receive(&mut self, buffer: &mut [u8], wire: &mut [u8]) -> Result<Received, LinkError> {
        match self.link() {
            Some(link) => link.receive(buffer, wire),
            None => Ok(Received::Nothing),
        }
    }

    /// See [`Link::discard`]. A closed line has nothing.
    #[inline(always)]
    pub fn discard(&mut self, span: &mut [u8]) -> Result<Received, LinkError> {
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

    /// Closes, from whatever stage.
    pub fn close(&mut self) {
        self.stage = Stage::Closed;
    }
}
