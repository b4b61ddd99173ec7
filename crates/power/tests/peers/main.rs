//! Meters on the network against peers that speak their protocols: Debian's snmpd with the trees of PDUs, `ipmi_sim`, and an HTTP server
//! with recorded answers and with bad ones.
#![allow(
    clippy::unwrap_used,
    clippy::float_cmp,
    reason = "tests: a panic is a failure with a line, and recorded figures are exact"
)]

mod bad_answers;
mod bmc;
mod certificates;
mod http_server;
mod pdus;
mod plugs;

use std::net::{TcpListener, UdpSocket};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use power::{PowerError, PowerReading, PowerSource, SourceKeys};

/// The source of an argument of `--source`.
fn open(argument: &str) -> Box<dyn PowerSource> {
    let keys = SourceKeys::from_argument(argument).expect("an argument");
    keys.check("meter").expect("a source").open().expect("its secrets")
}

/// What it says. A peer on a busy machine may be slower than the time limits, so silence is asked again.
fn read(source: &mut dyn PowerSource) -> Result<f64, PowerError> {
    let begin = Instant::now();
    loop {
        match source.read() {
            Err(PowerError::NoAnswer { .. }) if begin.elapsed() < Duration::from_mins(2) => {}
            Ok(PowerReading::Power(watts)) => return Ok(watts.value()),
            Ok(PowerReading::Energy(_)) => panic!("no counter is on the network"),
            Err(error) => return Err(error),
        }
    }
}

/// The watts that it gives.
fn watts(source: &mut dyn PowerSource) -> f64 {
    read(source).expect("watts")
}

/// The one line of its error, which is not silence.
fn error(source: &mut dyn PowerSource) -> String {
    line(&read(source).expect_err("no watts"))
}

/// The one line of what it says when nobody answers.
fn silence(source: &mut dyn PowerSource) -> String {
    let error = source.read().expect_err("no watts");
    assert!(matches!(error, PowerError::NoAnswer { .. }), "{error}");
    line(&error)
}

fn line(error: &PowerError) -> String {
    let line = error.to_string();
    assert!(!line.contains('\n'), "{line}");
    line
}

/// A program that listens on a port of loopback, until the test ends.
struct Peer {
    child: Child,
    port: u16,
}

impl Peer {
    /// Starts it on a free port, and waits until it is ready. Another process may take the port first: the program then ends, and
    /// gets another one.
    fn start(start: impl Fn(u16) -> Child, is_ready: impl Fn(u16) -> bool) -> Self {
        let begin = Instant::now();
        loop {
            let mut peer = Self::started(&start);
            while peer.child.try_wait().expect("its state").is_none() {
                if is_ready(peer.port) {
                    return peer;
                }
                assert!(
                    begin.elapsed() < Duration::from_mins(3),
                    "the peer is not ready on port {}",
                    peer.port
                );
                thread::sleep(Duration::from_millis(100));
            }
            assert!(begin.elapsed() < Duration::from_mins(1), "the peer ends by itself");
        }
    }

    /// On a port that is free for TCP and UDP.
    fn started(start: &impl Fn(u16) -> Child) -> Self {
        let port = loop {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let port = listener.local_addr().expect("its address").port();
            if UdpSocket::bind(("127.0.0.1", port)).is_ok() {
                break port;
            }
        };
        Self { child: start(port), port }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
