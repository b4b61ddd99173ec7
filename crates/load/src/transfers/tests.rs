//! Transfers from small servers of known behaviour, in this process. No test asserts a time or a rate.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use super::spec::pace_goes_on;
use super::{TransferSecond, TransferSpec, Transfers, most_late};
use crate::clock::Nanos;
use crate::connecting::UnixSocket;
use crate::drivers::ProtocolSpec;
use crate::drivers::http::{HttpOperation, HttpSpec};
use crate::record::{ErrorKind, Micros};
use crate::session::engine::RunContext;
use crate::spec::LoadSpec;

/// The longest that a test waits for what must happen.
const PATIENCE: Duration = Duration::from_mins(1);

/// A server that answers each connection with a function, on a thread of its own.
fn server(answer: impl Fn(usize, &mut TcpStream) + Send + Sync + Clone + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            let answer = answer.clone();
            thread::spawn(move || {
                let mut stream = stream;
                let mut lines = BufReader::new(stream.try_clone().expect("a copy")).lines();
                while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
                answer(number, &mut stream);
            });
        }
    });
    address
}

fn spec(address: SocketAddr, pace_bytes_per_s: f64) -> TransferSpec {
    let operations = vec![HttpOperation::get("/file")];
    let protocol = ProtocolSpec::Http(HttpSpec::new(&address.to_string(), operations));
    TransferSpec::of(&LoadSpec::closed(protocol, address, 1), None, pace_bytes_per_s).expect("a GET")
}

#[test]
fn what_transfers_do_not_use_is_refused() {
    let address = ([127, 0, 0, 1], 80).into();
    let operation = |path: &str| vec![HttpOperation::get(path)];
    let load = |path| LoadSpec::closed(ProtocolSpec::Http(HttpSpec::new("box", operation(path))), address, 1);
    let refused = |load: &LoadSpec| TransferSpec::of(load, None, 1e6).expect_err("refused").to_string();
    assert!(refused(&load("/{{ alnum(3) }}")).contains("name one with a fixed path"));
    let socket = load("/file").with_sockets(vec![UnixSocket::of_user("/run/app.sock")]);
    assert!(refused(&socket).contains("transfers are over TCP"));
}

fn file(stream: &mut TcpStream, bytes: usize) {
    let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n");
    let _ = stream.write_all(&vec![b'x'; bytes]);
    let _ = stream.read(&mut [0; 16]);
}

/// Adds up seconds until one of them has what is waited for.
fn until(
    transfers: &mut Transfers,
    has: impl Fn(&TransferSecond<Micros>, &TransferSecond<Micros>) -> bool,
) -> TransferSecond<Micros> {
    let began = Instant::now();
    let mut sum = TransferSecond::new(0);
    loop {
        let second = transfers.next_second().expect("a second");
        sum.add_counts(&second);
        if has(&second, &sum) {
            return sum;
        }
        assert!(began.elapsed() < PATIENCE, "{second:?}");
    }
}

#[test]
fn transfers_stay_in_progress_and_every_one_advances() {
    let address = server(|_, stream| file(stream, 50 << 20));
    let mut transfers =
        Transfers::start(&spec(address, 4_000.0), 40, &RunContext::default()).expect("threads");
    transfers.maintain(40, Duration::from_millis(200));
    let sum = until(&mut transfers, |second, _| second.in_progress == 40);
    assert_eq!((sum.begun, sum.completed, sum.errors.total()), (40, 0, 0));
    assert_eq!(sum.times.first_byte.len(), 40);
    transfers.mark();
    let began = Instant::now();
    let advances = loop {
        transfers.next_second().expect("a second");
        let advances = transfers.advances().expect("the account of each");
        if advances.twice() == 40 {
            break advances;
        }
        assert!(began.elapsed() < PATIENCE, "{advances:?}");
    };
    assert_eq!((advances.transfers, advances.never, advances.once), (40, 0, 0));
    assert!(advances.fewest_bytes > 0);
    transfers.maintain(10, Duration::ZERO);
    until(&mut transfers, |second, _| second.in_progress == 10 && second.wanted == 10);
}

#[test]
fn a_transfer_that_ends_is_followed_by_another() {
    let address = server(|_, stream| file(stream, 3_000));
    let mut transfers =
        Transfers::start(&spec(address, 30_000.0), 5, &RunContext::default()).expect("threads");
    transfers.maintain(5, Duration::ZERO);
    let sum = until(&mut transfers, |_, sum| sum.completed > 10);
    assert!(sum.begun >= sum.completed && sum.errors.total() == 0, "{sum:?}");
    assert_eq!(sum.times.completion.len(), sum.completed);
    // Each file, and its head.
    assert!(sum.bytes >= 3_000 * sum.completed, "{sum:?}");
}

#[test]
fn clients_that_are_not_served_are_counted_once_a_second() {
    let address = server(|number, stream| match number % 2 {
        0 => file(stream, 50 << 20),
        _ => drop(write!(stream, "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")),
    });
    let mut transfers =
        Transfers::start(&spec(address, 4_000.0), 20, &RunContext::default()).expect("threads");
    transfers.maintain(20, Duration::ZERO);
    let sum = until(&mut transfers, |second, _| second.failing > 0 && second.in_progress > 0);
    assert!(sum.errors.count(ErrorKind::UnexpectedReply) > 0, "{sum:?}");
    let second = transfers.next_second().expect("a second");
    assert!(second.attempts() <= 20, "{second:?}");
}

#[test]
fn a_server_that_never_answers_is_a_timeout_and_one_that_stops_sending_a_stall() {
    let silent = server(|_, stream| drop(stream.read(&mut [0; 16])));
    let short = TransferSpec {
        first_byte_within: Duration::from_millis(200),
        stalled_after: Duration::from_millis(100),
        gives_up_after: Duration::from_mins(10),
        ..spec(silent, 100_000.0)
    };
    let mut transfers = Transfers::start(&short, 3, &RunContext::default()).expect("threads");
    transfers.maintain(3, Duration::ZERO);
    transfers.probe(20.0);
    let sum = until(&mut transfers, |second, sum| second.failing == 3 && sum.probes_failed > 0);
    assert_eq!(sum.errors.count(ErrorKind::Timeout), sum.errors.total(), "{sum:?}");
    assert_eq!(sum.times.first_byte.len(), 0);
    drop(transfers);

    let stops = server(|_, stream| {
        let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nbegin");
        let _ = stream.read(&mut [0; 16]);
    });
    let stopping = TransferSpec { addresses: vec![stops], ..short };
    let mut transfers = Transfers::start(&stopping, 3, &RunContext::default()).expect("threads");
    transfers.maintain(3, Duration::ZERO);
    until(&mut transfers, |second, _| second.stalled == 3 && second.successes() == 0);
}

#[test]
fn nothing_listens_is_a_refusal() {
    let address = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address")
    };
    let mut transfers =
        Transfers::start(&spec(address, 1_000.0), 2, &RunContext::default()).expect("threads");
    transfers.maintain(2, Duration::ZERO);
    transfers.probe(5.0);
    let sum = until(&mut transfers, |second, sum| second.failing == 2 && sum.probes_failed > 0);
    assert_eq!(sum.errors.count(ErrorKind::Refused), sum.errors.total(), "{sum:?}");
}

#[test]
fn a_pace_outlasts_what_the_window_hides_and_begins_anew_after_more() {
    let (at, hides) = (Nanos(5_000_000_000), most_late(Duration::from_secs(28)));
    assert_eq!(hides, Duration::from_secs(7));
    assert_eq!(pace_goes_on(at, at.after(hides), hides), at);
    let too_late = at.after(hides + Duration::from_nanos(1));
    assert_eq!(pace_goes_on(at, too_late, hides), too_late);
    // Reads of a fast client are less than a second apart: so much is never too late.
    assert_eq!(most_late(Duration::from_millis(500)), Duration::from_secs(1));
}

#[test]
fn the_pace_decides_the_buffer_and_the_interval() {
    let address = "127.0.0.1:1".parse().expect("an address");
    let slow = spec(address, 100.0);
    assert_eq!(slow.buffer_bytes(), 1_792);
    assert!(slow.interval() > Duration::from_secs(11) && slow.stalled_after >= slow.interval());
    let fast = spec(address, 1e6);
    assert!(fast.buffer_bytes() > 100_000 && fast.interval() < Duration::from_secs(1));
}
