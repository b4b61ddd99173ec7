//! A beacon: the port that a server's health check goes to. It passes the check on to the server, and closes for good when it is told to.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use super::protocol::Probe;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 8;

/// How often a server that works is asked. After a failure it is asked again at once.
const PROBE_INTERVAL: Duration = Duration::from_millis(250);

/// A mail server writes two lines into its log each time.
const SMTP_PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// The beginning of the PROXY protocol, version 2, and the rest of its header for a connection that is of nobody else (LOCAL).
const PROXY_SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
const PROXY_LOCAL: [u8; 4] = [0x20, 0, 0, 0];

/// The longest greeting that is read.
const MOST_GREETING_BYTES: usize = 4096;

/// How long a server may take to accept a connection.
const CONNECT_LIMIT: Duration = Duration::from_millis(500);

/// After how many failures in a row a server does not work. A refused connection is enough: nobody listens there.
const MOST_FAILURES: u32 = 2;

/// A check that only opens a connection closes it at once. For such a check the server is not asked: its log would fill with connections
/// that say nothing.
const SILENCE: Duration = Duration::from_millis(50);

/// Checks at once, their length and their bytes. A balancer has one check at a time.
const MOST_CHECKS: u32 = 8;
const LONGEST_CHECK: Duration = Duration::from_secs(2);
const MOST_CHECK_BYTES: usize = 256 << 10;

/// An open beacon.
#[derive(Debug, Clone)]
pub struct Beacon {
    listener: Arc<Socket>,
    address: SocketAddr,
    is_closed: Arc<AtomicBool>,
}

impl Beacon {
    /// Listens on loopback, for checks of a server. The address is one of 127.0.0.0/8 that nobody else has: after the death of this process,
    /// no other program should answer there by chance.
    pub fn open(server: SocketAddr) -> io::Result<Self> {
        let listener = bind()?;
        let address = listener.local_addr()?.as_socket();
        let address = address.ok_or_else(|| io::Error::other("it has no address"))?;
        let beacon = Self { listener: Arc::new(listener), address, is_closed: Arc::default() };
        let accepting = beacon.clone();
        thread::Builder::new().name("sd-beacon".to_owned()).spawn(move || accepting.accept_all(server))?;
        Ok(beacon)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops listening, for good and at once: the kernel refuses every connection from here on.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        let _ = self.listener.shutdown(Shutdown::Both);
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    fn accept_all(&self, server: SocketAddr) {
        let checks = Arc::new(AtomicU32::new(0));
        while !self.is_closed() {
            let Ok((check, _)) = self.listener.accept() else {
                // Out of descriptors, or closed.
                thread::sleep(Duration::from_millis(10));
                continue;
            };
            if checks.fetch_add(1, Ordering::SeqCst) >= MOST_CHECKS {
                checks.fetch_sub(1, Ordering::SeqCst);
                continue;
            }
            let running = Arc::clone(&checks);
            let spawned = thread::Builder::new().spawn(move || {
                // A check that fails is seen by who checks.
                let _ = pass_on(check.into(), server);
                running.fetch_sub(1, Ordering::SeqCst);
            });
            if spawned.is_err() {
                checks.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }
}

fn bind() -> io::Result<Socket> {
    let random = RandomState::new().build_hasher().finish().to_le_bytes();
    let own = Ipv4Addr::new(127, random[0].clamp(1, 254), random[1], random[2].clamp(1, 254));
    listen(own).or_else(|_| listen(Ipv4Addr::LOCALHOST))
}

fn listen(ip: Ipv4Addr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::new(IpAddr::V4(ip), 0).into())?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

/// Passes a check on to the server, and its answer back.
fn pass_on(mut check: TcpStream, server: SocketAddr) -> io::Result<()> {
    let mut first = [0; 4096];
    check.set_read_timeout(Some(SILENCE))?;
    let mut length = match read_or_silence(&mut check, &mut first)? {
        Some(0) => return Ok(()),
        Some(length) => length,
        // The server speaks first, as a mail server does.
        None => 0,
    };
    if is_whole_proxy_header(&first[..length]) {
        match read_or_silence(&mut check, &mut first[length..])? {
            // A check that only connects, before a server that expects the header.
            Some(0) => return Ok(()),
            Some(more) => length += more,
            None => {}
        }
    }
    let mut to_server = TcpStream::connect_timeout(&server, CONNECT_LIMIT)?;
    to_server.set_read_timeout(Some(LONGEST_CHECK))?;
    check.set_read_timeout(Some(LONGEST_CHECK))?;
    check.set_write_timeout(Some(LONGEST_CHECK))?;
    to_server.set_write_timeout(Some(LONGEST_CHECK))?;
    to_server.write_all(&first[..length])?;
    let (from_check, for_server) = (check.try_clone()?, to_server.try_clone()?);
    let deadline = Instant::now() + LONGEST_CHECK;
    thread::scope(|scope| {
        scope.spawn(|| copy(from_check, for_server, deadline));
        copy(to_server, check, deadline);
    });
    Ok(())
}

/// What a check sends within [`SILENCE`]. None if it sends nothing.
fn read_or_silence(check: &mut TcpStream, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    match check.read(buffer) {
        Ok(length) => Ok(Some(length)),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether the bytes are a header of the PROXY protocol, version 2, and nothing else.
fn is_whole_proxy_header(bytes: &[u8]) -> bool {
    match bytes.strip_prefix(PROXY_SIGNATURE) {
        Some([_, _, high, low, rest @ ..]) => rest.len() == usize::from(u16::from_be_bytes([*high, *low])),
        _ => false,
    }
}

/// Copies until one side ends, or the check has lasted too long. Then both sides end.
fn copy(mut from: TcpStream, mut to: TcpStream, deadline: Instant) {
    let (mut buffer, mut copied) = ([0; 4096], 0);
    while copied < MOST_CHECK_BYTES && Instant::now() < deadline {
        match from.read(&mut buffer) {
            Ok(length) if length > 0 && to.write_all(&buffer[..length]).is_ok() => copied += length,
            _ => break,
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

/// Asks a server until it does not work, and returns what was seen. None if the beacon was closed before.
pub fn watch(server: SocketAddr, probe: &Probe, beacon: &Beacon) -> Option<String> {
    let mut failures = 0;
    let interval = match probe {
        Probe::Smtp { .. } => SMTP_PROBE_INTERVAL,
        Probe::Connect | Probe::Http { .. } => PROBE_INTERVAL,
    };
    while !beacon.is_closed() {
        match ask(server, probe) {
            Ok(()) => {
                failures = 0;
                thread::sleep(interval);
            }
            Err(error) => {
                failures += 1;
                if failures >= MOST_FAILURES || error.kind() == io::ErrorKind::ConnectionRefused {
                    beacon.close();
                    return Some(error.to_string());
                }
            }
        }
    }
    None
}

fn ask(server: SocketAddr, probe: &Probe) -> io::Result<()> {
    match probe {
        Probe::Connect => TcpStream::connect_timeout(&server, CONNECT_LIMIT).map(drop),
        Probe::Http { path, within_ms } => ask_http(server, path, *within_ms),
        Probe::Smtp { sends_proxy_header, within_ms } => ask_smtp(server, *sends_proxy_header, *within_ms),
    }
}

fn ask_http(server: SocketAddr, path: &str, within_ms: u64) -> io::Result<()> {
    let limit = Duration::from_millis(within_ms);
    let deadline = Instant::now() + limit;
    let mut stream = TcpStream::connect_timeout(&server, limit)?;
    stream.set_write_timeout(Some(limit))?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {server}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    // "HTTP/1.1 200"
    let mut answer = [0; 12];
    let mut length = 0;
    while length < answer.len() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::other(format!("no answer to GET {path} within {within_ms} ms")));
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut answer[length..]) {
            Ok(0) => {
                return Err(io::Error::other(format!(
                    "it closes the connection instead of answering GET {path}"
                )));
            }
            Ok(count) => length += count,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) => return Err(error),
        }
    }
    let status = std::str::from_utf8(&answer[9..]).ok().and_then(|text| text.parse::<u16>().ok());
    match status {
        Some(status) if answer.starts_with(b"HTTP/1.") && status < 400 => Ok(()),
        Some(status) => Err(io::Error::other(format!("it answers GET {path} with status {status}"))),
        None => Err(io::Error::other(format!("its answer to GET {path} is no HTTP"))),
    }
}

/// Waits for the greeting, and says goodbye: a client that only connects would be called a lost connection in the server's log.
fn ask_smtp(server: SocketAddr, sends_proxy_header: bool, within_ms: u64) -> io::Result<()> {
    let limit = Duration::from_millis(within_ms);
    let deadline = Instant::now() + limit;
    let mut stream = TcpStream::connect_timeout(&server, limit)?;
    stream.set_write_timeout(Some(limit))?;
    if sends_proxy_header {
        stream.write_all(&[PROXY_SIGNATURE, &PROXY_LOCAL].concat())?;
    }
    let mut greeting = Vec::new();
    // A greeting may have several lines: the last one has a space after its number.
    while !greeting.ends_with(b"\n") || last_line(&greeting).get(3) == Some(&b'-') {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || greeting.len() > MOST_GREETING_BYTES {
            return Err(io::Error::other(format!("no greeting of SMTP within {within_ms} ms")));
        }
        stream.set_read_timeout(Some(left))?;
        let mut buffer = [0; 512];
        match stream.read(&mut buffer) {
            Ok(0) => return Err(io::Error::other("it closes the connection instead of a greeting")),
            Ok(length) => greeting.extend_from_slice(&buffer[..length]),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) => return Err(error),
        }
    }
    if !last_line(&greeting).starts_with(b"220") {
        let greeting = String::from_utf8_lossy(last_line(&greeting)).chars().take(3).collect::<String>();
        return Err(io::Error::other(format!("it greets with {greeting:?}, and 220 is expected")));
    }
    stream.write_all(b"QUIT\r\n")?;
    // Until its answer: a connection that is closed before would be called lost.
    stream.set_read_timeout(Some(CONNECT_LIMIT))?;
    let _ = stream.read(&mut [0; 512]);
    Ok(())
}

/// The last line, with its end.
fn last_line(text: &[u8]) -> &[u8] {
    let without_end = text.strip_suffix(b"\n").unwrap_or(text);
    let begin = without_end.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    &text[begin..]
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn answering(answer: &'static [u8]) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut request = [0; 1024];
                let _ = stream.read(&mut request);
                let _ = stream.write_all(answer);
            }
        });
        address
    }

    #[test]
    fn a_check_is_passed_on_until_the_beacon_closes() {
        let server = answering(b"HTTP/1.1 204 No Content\r\n\r\n");
        let beacon = Beacon::open(server).unwrap();
        assert!(beacon.address().ip().is_loopback());
        let mut check = TcpStream::connect(beacon.address()).unwrap();
        check.write_all(b"OPTIONS / HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        let _ = check.read_to_string(&mut answer);
        assert!(answer.starts_with("HTTP/1.1 204"), "{answer:?}");
        // A check that only connects.
        drop(TcpStream::connect(beacon.address()).unwrap());
        beacon.close();
        let refused = TcpStream::connect(beacon.address()).map(drop).map_err(|error| error.kind());
        assert_eq!(refused, Err(io::ErrorKind::ConnectionRefused));
    }

    #[test]
    fn a_mail_server_is_greeted_and_not_only_connected() {
        for (answer, expected) in [
            (&b"220-mx.example\r\n220 ESMTP\r\n"[..], None),
            (b"421 too busy\r\n", Some("it greets with \"421\", and 220 is expected")),
            (b"220-mx.example\r\n", Some("it closes the connection instead of a greeting")),
        ] {
            let error = ask_smtp(answering(answer), true, 10_000).err().map(|error| error.to_string());
            assert_eq!(error.as_deref(), expected);
        }
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let error = ask_smtp(silent.local_addr().unwrap(), false, 50).unwrap_err().to_string();
        assert_eq!(error, "no greeting of SMTP within 50 ms");
    }

    #[test]
    fn a_header_of_the_proxy_protocol_alone_asks_the_server_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let beacon = Beacon::open(listener.local_addr().unwrap()).unwrap();
        let header = [PROXY_SIGNATURE, &PROXY_LOCAL].concat();
        assert!(is_whole_proxy_header(&header) && !is_whole_proxy_header(&header[..15]));
        assert!(!is_whole_proxy_header(&[&header[..], b"EHLO"].concat()));
        let mut check = TcpStream::connect(beacon.address()).unwrap();
        check.write_all(&header).unwrap();
        check.shutdown(Shutdown::Write).unwrap();
        // The beacon closes it, and has not connected before.
        assert_eq!(check.read(&mut [0; 1]).unwrap_or(0), 0);
        assert_eq!(listener.accept().map(drop).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        beacon.close();
    }

    #[test]
    fn a_server_that_fails_closes_its_beacon() {
        let http = Probe::Http { path: "/health".into(), within_ms: 10_000 };
        for (answer, words) in [
            (&b"HTTP/1.1 503 No\r\n\r\n"[..], "with status 503"),
            (b"HTTP/1.1 404 Not Found\r\n\r\n", "with status 404"),
            (b"", "closes the connection"),
            (b"SSH-2.0-OpenSSH_9.2\r\n", "is no HTTP"),
        ] {
            let server = answering(answer);
            let beacon = Beacon::open(server).unwrap();
            let reason = watch(server, &http, &beacon).unwrap();
            assert!(reason.contains(words) || reason.contains("reset"), "{reason}");
            assert!(beacon.is_closed());
        }
        let server = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let beacon = Beacon::open(server).unwrap();
        let reason = watch(server, &Probe::Connect, &beacon).unwrap();
        assert!(reason.contains("refused"), "{reason}");
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = silent.local_addr().unwrap();
        let beacon = Beacon::open(server).unwrap();
        let quick = Probe::Http { path: "/".into(), within_ms: 100 };
        let reason = watch(server, &quick, &beacon).unwrap();
        assert!(reason.contains("no answer to GET / within 100 ms"), "{reason}");
        beacon.close();
        assert_eq!(watch(server, &quick, &beacon), None);
    }
}
