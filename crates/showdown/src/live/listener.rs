//! Answers a scraper: any request for `/metrics` gets the figures of this moment. One request at a time, each limited in time.
//! The thread has the lowest priority, because it shares the CPUs of the load.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Context;
use rustix::process::setpriority_process;
use rustix::thread::gettid;

use super::figures::{LiveFigures, locked};
use super::open_metrics;
use crate::print::note;

/// A scraper on this machine sends its request at once.
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

fn answer(stream: &TcpStream, figures: &Mutex<LiveFigures>) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
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
    let mut stream = stream;
    stream.write_all((head + &body).as_bytes())
}

/// Gives the calling thread the lowest priority.
pub(super) fn lowest_priority() {
    // If that is not allowed, the load reads some replies later.
    let _ = setpriority_process(Some(gettid()), 19);
}
