//! Answers a scraper: any request for `/metrics` gets the figures of this moment. One request at a time, each limited in time as a whole:
//! the load ends when the last one has.
//! The thread has the lowest priority, because it shares the CPUs of the load.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::setpriority_process;
use rustix::thread::gettid;

use super::figures::{LiveFigures, locked};
use super::open_metrics;
use crate::print::note;

/// The time of one request and its reply. A scraper on this machine sends its request at once.
const PATIENCE: Duration = Duration::from_millis(500);
/// A request without a body has some hundreds of bytes.
const MOST_REQUEST_BYTES: u64 = 16 * 1024;

/// A listener. It ends when it is dropped.
pub(super) struct MetricsListener {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl MetricsListener {
    pub(super) fn start(at: SocketAddr, figures: Arc<Mutex<LiveFigures>>) -> anyhow::Result<Self> {
        let listener =
            TcpListener::bind(at).with_context(|| format!("--metrics-listen {at}: choose another port"))?;
        let address = listener.local_addr().context("the address of --metrics-listen")?;
        if !address.ip().is_loopback() {
            note(&format!("--metrics-listen: whoever reaches {address} can read the figures of this load"));
        }
        if at.port() == 0 {
            note(&format!("--metrics-listen: http://{address}/metrics"));
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let builder = thread::Builder::new().name("metrics".to_owned());
        let thread =
            builder.spawn(move || serve(&listener, &ends, &figures)).context("cannot start a thread")?;
        Ok(Self { address, is_over, thread: Some(thread) })
    }
}

impl Drop for MetricsListener {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // A connection wakes the thread, which then ends.
        if TcpStream::connect_timeout(&self.address, PATIENCE).is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

fn serve(listener: &TcpListener, is_over: &AtomicBool, figures: &Mutex<LiveFigures>) {
    lowest_priority();
    for stream in listener.incoming().flatten() {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        // A scraper that goes away has no figures.
        let _ = answer(&stream, figures);
    }
}

/// A connection whose reads and writes end at one moment, however often the peer sends or takes a byte.
#[derive(Clone, Copy)]
struct BoundedStream<'s> {
    stream: &'s TcpStream,
    ends_at: Instant,
}

impl BoundedStream<'_> {
    /// The time that is left; an error if there is none.
    fn left(&self) -> std::io::Result<Option<Duration>> {
        let left = self.ends_at.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for BoundedStream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(buffer)
    }
}

impl Write for BoundedStream<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.stream.flush()
    }
}

fn answer(stream: &TcpStream, figures: &Mutex<LiveFigures>) -> std::io::Result<()> {
    let mut stream = BoundedStream { stream, ends_at: Instant::now() + PATIENCE };
    let mut reader = BufReader::new(stream.take(MOST_REQUEST_BYTES));
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut header = String::new();
    while reader.read_line(&mut header)? > 2 {
        header.clear();
    }
    let mut words = first.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default();
    let (status, kind, body) = match (method, path) {
        ("GET", "/metrics") => {
            ("200 OK", open_metrics::CONTENT_TYPE, open_metrics::render(&locked(figures).clone()))
        }
        ("GET", _) => ("404 Not Found", "text/plain", "the figures are at /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "text/plain", "GET /metrics\n".to_owned()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all((head + &body).as_bytes())
}

/// Gives the calling thread the lowest priority.
pub(super) fn lowest_priority() {
    // If that is not allowed, the load reads some replies later.
    let _ = setpriority_process(Some(gettid()), 19);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::figures::example;

    #[test]
    fn a_peer_that_sends_a_byte_now_and_then_is_cut_off_and_gets_no_answer() {
        let at = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = MetricsListener::start(at, Arc::new(Mutex::new(example()))).expect("a listener");
        let mut peer = TcpStream::connect(listener.address).expect("a connection");
        let slow = thread::spawn(move || {
            // More than a request may have, each byte long before a read would end by itself.
            for _ in 0..2 * MOST_REQUEST_BYTES {
                if peer.write_all(b"a").is_err() {
                    break;
                }
                thread::sleep(Duration::from_millis(2));
            }
            let mut reply = String::new();
            let _ = peer.read_to_string(&mut reply);
            reply
        });
        drop(listener);
        assert_eq!(slow.join().expect("the peer ends"), "");
    }
}
