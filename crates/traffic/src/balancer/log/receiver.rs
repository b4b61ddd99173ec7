//! Receives the log of a balancer on a datagram socket, and counts it by server. Its memory is bounded, whatever is sent to it.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use socket2::SockRef;

use super::line::{self, MOST_LINE_BYTES};

/// Servers that are counted apart. Lines of others are counted together.
const MOST_SERVERS: usize = 256;

/// Response times of a server that are stored until somebody takes them. At 50,000 requests/s these are four seconds.
const MOST_TIMES: usize = 200_000;

/// What the kernel stores of datagrams that were not read yet.
const RECEIVE_BUFFER: usize = 8 << 20;

/// How often the thread looks whether it shall end.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Where a log arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogAddress {
    /// UDP on loopback: `127.0.0.1:5140`.
    Udp(SocketAddr),
    /// A datagram socket in the file system.
    Unix(PathBuf),
}

/// It is no address for a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no address for a log: give a loopback address with a port, such as 127.0.0.1:5140, or the path of a socket"
)]
pub struct BadLogAddress(String);

impl FromStr for LogAddress {
    type Err = BadLogAddress;

    fn from_str(text: &str) -> Result<Self, BadLogAddress> {
        if text.starts_with('/') {
            return Ok(Self::Unix(text.into()));
        }
        match text.parse::<SocketAddr>() {
            Ok(address) if address.ip().is_loopback() => Ok(Self::Udp(address)),
            _ => Err(BadLogAddress(text.to_owned())),
        }
    }
}

impl fmt::Display for LogAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Udp(address) => address.fmt(f),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

/// Why the log cannot be received.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot receive the log at {address}: {source}: choose another address, in the plan and in HAProxy's line `log`"
)]
pub struct LogError {
    address: LogAddress,
    source: io::Error,
}

/// The lines of one server since somebody took them last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerLog {
    /// How many there were.
    pub lines: u64,
    /// Response times in ms, of requests that were answered; in mode `tcp` the lengths of sessions.
    pub response_ms: Vec<u32>,
    /// Sessions in which the server said nothing and ended in order. 0 in mode `http`.
    pub silent: u64,
    /// Whether there were more times than are stored.
    pub has_overflowed: bool,
}

/// All lines since somebody took them last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReceivedLog {
    /// By server.
    pub servers: HashMap<String, ServerLog>,
    /// Lines of other backends, and of more servers than are counted apart.
    pub elsewhere: u64,
    /// Datagrams that are no line of the format.
    pub unreadable: u64,
}

impl ReceivedLog {
    /// Counts one datagram. `backend` is the wanted one.
    pub fn count(&mut self, datagram: &[u8], backend: &str) {
        let line = std::str::from_utf8(datagram).ok().and_then(line::parse);
        let Some(line) = line else {
            self.unreadable += 1;
            return;
        };
        let is_elsewhere = line.backend.is_some_and(|other| other != backend);
        let is_new = !self.servers.contains_key(line.server);
        if is_elsewhere || (is_new && self.servers.len() == MOST_SERVERS) {
            self.elsewhere += 1;
            return;
        }
        let server = self.servers.entry(line.server.to_owned()).or_default();
        server.lines += 1;
        server.silent += u64::from(line.is_silent);
        if let Some(time) = line.response_ms {
            if server.response_ms.len() < MOST_TIMES {
                server.response_ms.push(time);
            } else {
                server.has_overflowed = true;
            }
        }
    }
}

/// A socket that receives the log, with a thread that reads it. Both end when this is dropped.
#[derive(Debug)]
pub struct LogReceiver {
    address: LogAddress,
    received: Arc<Mutex<ReceivedLog>>,
    has_failed: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

enum LogSocket {
    Udp(UdpSocket),
    Unix(UnixDatagram),
}

impl LogSocket {
    fn bind(address: &LogAddress) -> io::Result<Self> {
        let socket = match address {
            LogAddress::Udp(address) => Self::Udp(UdpSocket::bind(address)?),
            LogAddress::Unix(path) => {
                remove_stale(path);
                let socket = UnixDatagram::bind(path)?;
                // HAProxy usually runs as a user of its own. What others send is seen, because the counters do not agree.
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o622))?;
                Self::Unix(socket)
            }
        };
        let fd = match &socket {
            Self::Udp(socket) => socket.as_fd(),
            Self::Unix(socket) => socket.as_fd(),
        };
        // The kernel gives as much of it as the administrator allows.
        let _ = SockRef::from(&fd).set_recv_buffer_size(RECEIVE_BUFFER);
        match &socket {
            Self::Udp(socket) => socket.set_read_timeout(Some(POLL_INTERVAL))?,
            Self::Unix(socket) => socket.set_read_timeout(Some(POLL_INTERVAL))?,
        }
        Ok(socket)
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Udp(socket) => socket.recv(buffer),
            Self::Unix(socket) => socket.recv(buffer),
        }
    }
}

/// Removes a socket that a killed run has left: nobody receives there.
fn remove_stale(path: &Path) {
    let Ok(probe) = UnixDatagram::unbound() else { return };
    if probe.connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
        let _ = std::fs::remove_file(path);
    }
}

impl LogReceiver {
    /// Receives the log of a backend at this address.
    pub fn start(address: &LogAddress, backend: &str) -> Result<Self, LogError> {
        let socket =
            LogSocket::bind(address).map_err(|source| LogError { address: address.clone(), source })?;
        let bound = match &socket {
            LogSocket::Udp(socket) => LogAddress::Udp(
                socket.local_addr().map_err(|source| LogError { address: address.clone(), source })?,
            ),
            LogSocket::Unix(_) => address.clone(),
        };
        let mut receiver = Self {
            address: bound,
            received: Arc::default(),
            has_failed: Arc::default(),
            is_over: Arc::default(),
            thread: None,
        };
        let (lines, has_failed) = (Arc::clone(&receiver.received), Arc::clone(&receiver.has_failed));
        let (is_over, backend) = (Arc::clone(&receiver.is_over), backend.to_owned());
        let started = thread::Builder::new().name("sd-log".to_owned()).spawn(move || {
            if receive_all(&socket, &lines, &is_over, &backend).is_err() {
                has_failed.store(true, Ordering::Relaxed);
            }
        });
        receiver.thread = Some(started.map_err(|source| LogError { address: address.clone(), source })?);
        Ok(receiver)
    }

    /// Where it receives, with the port that was chosen.
    pub fn address(&self) -> &LogAddress {
        &self.address
    }

    /// The lines since the last call.
    pub fn take(&self) -> ReceivedLog {
        std::mem::take(&mut *self.received.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether lines can still arrive.
    pub fn is_open(&self) -> bool {
        !self.has_failed.load(Ordering::Relaxed)
            && self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }
}

fn receive_all(
    socket: &LogSocket,
    received: &Mutex<ReceivedLog>,
    is_over: &AtomicBool,
    backend: &str,
) -> io::Result<()> {
    // One byte more than the longest line: a longer one is cut off, and is none.
    let mut buffer = [0; MOST_LINE_BYTES + 1];
    while !is_over.load(Ordering::Relaxed) {
        match socket.receive(&mut buffer) {
            Ok(length) => {
                let mut received = received.lock().unwrap_or_else(PoisonError::into_inner);
                received.count(&buffer[..length], backend);
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted => {}
                _ => return Err(error),
            },
        }
    }
    Ok(())
}

impl Drop for LogReceiver {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if let LogAddress::Unix(path) = &self.address {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn wait_for(receiver: &LogReceiver, datagrams: u64) -> ReceivedLog {
        let (start, mut all) = (Instant::now(), ReceivedLog::default());
        while start.elapsed() < Duration::from_mins(1) {
            let lines = receiver.take();
            all.elsewhere += lines.elsewhere;
            all.unreadable += lines.unreadable;
            for (name, server) in lines.servers {
                let sum = all.servers.entry(name).or_default();
                sum.lines += server.lines;
                sum.response_ms.extend(server.response_ms);
            }
            let count: u64 = all.servers.values().map(|server| server.lines).sum();
            if count + all.elsewhere + all.unreadable >= datagrams {
                return all;
            }
            thread::sleep(Duration::from_millis(5));
        }
        panic!("datagrams are missing: {all:?}");
    }

    #[test]
    fn lines_are_counted_by_server_and_hostile_ones_apart() {
        let receiver = LogReceiver::start(&"127.0.0.1:0".parse().unwrap(), "b").unwrap();
        let LogAddress::Udp(address) = receiver.address() else { panic!("it is UDP") };
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        for line in [
            "old1 200 -- 0 0 3 5 0",
            "b/old1 503 SC 0 -1 -1 9 0",
            "other/old1 200 -- 0 0 3 5 0",
            "\0\u{ff}",
            "",
        ] {
            sender.send_to(line.as_bytes(), address).unwrap();
        }
        let all = wait_for(&receiver, 5);
        let expected = ServerLog { lines: 2, response_ms: vec![5], ..ServerLog::default() };
        assert_eq!(all.servers.get("old1"), Some(&expected));
        assert_eq!((all.elsewhere, all.unreadable), (1, 2));
        assert!(receiver.is_open());
    }

    #[test]
    fn a_socket_of_a_killed_run_is_replaced_and_one_in_use_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let address = LogAddress::Unix(dir.path().join("log"));
        drop(UnixDatagram::bind(dir.path().join("log")).unwrap());
        let receiver = LogReceiver::start(&address, "b").unwrap();
        let second = LogReceiver::start(&address, "b").unwrap_err().to_string();
        assert!(second.contains("cannot receive the log at"), "{second}");
        let sender = UnixDatagram::unbound().unwrap();
        sender.send_to(b"b/old1 200 -- 0 0 3 5 0", dir.path().join("log")).unwrap();
        assert_eq!(wait_for(&receiver, 1).servers.len(), 1);
        drop(receiver);
        assert!(!dir.path().join("log").exists());
    }

    #[test]
    fn memory_is_bounded() {
        let mut received = ReceivedLog::default();
        for number in 0..MOST_SERVERS + 10 {
            received.count(format!("s{number} 200 -- 0 0 3 5 0").as_bytes(), "b");
        }
        assert_eq!((received.servers.len(), received.elsewhere), (MOST_SERVERS, 10));
        for _ in 0..=MOST_TIMES {
            received.count(b"s1 200 -- 0 0 3 5 0", "b");
        }
        let server = &received.servers["s1"];
        assert_eq!((server.response_ms.len(), server.has_overflowed), (MOST_TIMES, true));
        assert_eq!(server.lines, MOST_TIMES as u64 + 2);
    }

    #[test]
    fn nothing_listens_beyond_loopback() {
        for text in ["0.0.0.0:5140", "10.0.0.1:5140", "log", "127.0.0.1", "[::]:1"] {
            assert!(text.parse::<LogAddress>().is_err(), "{text}");
        }
        assert_eq!(
            "[::1]:5".parse::<LogAddress>().map(|address| address.to_string()),
            Ok("[::1]:5".to_owned())
        );
        assert_eq!("/run/log".parse(), Ok(LogAddress::Unix("/run/log".into())));
    }
}
