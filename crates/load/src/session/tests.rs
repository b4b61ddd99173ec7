//! Sessions against a server in this process: parts, turns, and clients.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::AtomicU32;

use super::*;
use crate::drivers::ProtocolSpec;
use crate::drivers::http::{HttpOperation, HttpSpec};
use crate::drivers::smtp::{MailOperation, SmtpSessions, SmtpSpec};
use crate::inputs::sizes::SizeDistribution;
use crate::outcome::IntervalStage;
use crate::record::{RecordedTimes as _, SingleLimits};
use crate::spec::{Arrivals, Shape};

/// A server that answers everything at once, and the number of connections that it has accepted.
fn server() -> (SocketAddr, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let accepted = Arc::new(AtomicU32::new(0));
    let count = accepted.clone();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            count.fetch_add(1, Ordering::Relaxed);
            thread::spawn(move || {
                while client.read(&mut [0; 1024]).is_ok_and(|bytes| bytes > 0) {
                    let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
                }
            });
        }
    });
    (address, accepted)
}

fn spec(address: SocketAddr) -> LoadSpec {
    let protocol = HttpSpec::new(&address.to_string(), vec![HttpOperation::get("/")]);
    LoadSpec::closed(ProtocolSpec::Http(protocol), address, 4).with_duration(None).with_requests(20)
}

fn run(session: &mut LoadSession, part: &LoadPart) -> LoadOutcome {
    session.run(part, &RunContext::default(), &mut |_| {}).expect("an outcome")
}

#[test]
fn parts_share_connections_and_have_their_own_counts() {
    let (address, accepted) = server();
    let spec = spec(address);
    let mut session = LoadSession::open(&spec, &RunContext::default()).expect("a session");
    for requests in [20, 30, 40] {
        let part = LoadPart { requests: Some(requests), ..spec.part.clone() };
        let outcome = run(&mut session, &part);
        assert_eq!((outcome.total.succeeded(), outcome.total.errors().total()), (requests, 0));
    }
    let shape = Shape::open(10_000.0, Arrivals::Constant);
    let outcome = run(&mut session, &LoadPart { shape, requests: Some(50), ..spec.part.clone() });
    assert_eq!(outcome.total.succeeded(), 50, "a closed loop can be followed by an open one");
    assert_eq!(accepted.load(Ordering::Relaxed), 4);
}

#[test]
fn single_operations_have_their_steps_and_their_port() {
    let (address, _) = server();
    let spec = spec(address);
    let mut session = LoadSession::open(&spec, &RunContext::default()).expect("a session");
    let before = Nanos::now();
    let singles = SingleLimits { slowest: 3, drawn: 40 };
    let outcome = run(&mut session, &LoadPart { singles, requests: Some(20), ..spec.part.clone() });
    assert_eq!(outcome.singles.len(), 20, "there are fewer than were wanted");
    let mut ports: Vec<u16> = Vec::new();
    for single in &outcome.singles {
        let steps = [before, single.intended_start, single.ready, single.sent, single.read, Nanos::now()];
        // The clocks of two steps may differ a little.
        let follows = |pair: &[Nanos]| pair[0].0 <= pair[1].0 + 50_000_000;
        assert!(steps.windows(2).all(follows), "{single:?}");
        assert_eq!(single.response, single.received.since(single.intended_start));
        ports.extend(single.local_port);
    }
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 4, "one of each connection");
    let plain = run(&mut session, &LoadPart { requests: Some(20), ..spec.part.clone() });
    assert_eq!(plain.singles, [], "none are wanted");
}

/// A mail server that thinks before it greets, and takes every message.
fn slow_to_greet(thinks: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            thread::spawn(move || {
                thread::sleep(thinks);
                let _ = client.write_all(b"220 ready\r\n");
                let lines = BufReader::new(client.try_clone().expect("a second handle"));
                for line in lines.lines().map_while(Result::ok) {
                    let reply: &[u8] = match line.split([' ', ':']).next() {
                        Some("EHLO" | "MAIL" | "RCPT" | ".") => b"250 OK\r\n",
                        Some("DATA") => b"354 go on\r\n",
                        Some("QUIT") => b"221 bye\r\n",
                        _ => continue,
                    };
                    let _ = client.write_all(reply);
                }
            });
        }
    });
    address
}

#[test]
fn the_first_message_of_a_session_has_the_set_up_also_where_that_was_before_the_load() {
    let thinks = Duration::from_millis(200);
    let address = slow_to_greet(thinks);
    let message = MailOperation {
        name: "message".to_owned(),
        weight: 1.0,
        size: SizeDistribution::fixed(2_000),
        recipients: SizeDistribution::fixed(1),
        pipelining: true,
    };
    let protocol = SmtpSpec { sessions: SmtpSessions::default(), mix: vec![message] };
    // Four messages in sessions of one message, on four connections: all of these were open before.
    let spec =
        LoadSpec::closed(ProtocolSpec::Smtp(protocol), address, 4).with_duration(None).with_requests(4);
    let mut session = LoadSession::open(&spec, &RunContext::default()).expect("a session");
    assert_eq!(session.opened(), 4);
    let outcome = run(&mut session, &spec.part);
    let message = &outcome.total.operations[0];
    assert_eq!((message.response_time.len(), outcome.total.errors().total()), (4, 0));
    // Histograms have three digits.
    assert!(message.response_time.min() >= 199_000, "{} us", message.response_time.min());
    assert!(message.server_time.min() >= 199_000, "it is the server's time");
}

#[test]
fn two_sessions_take_turns() {
    let servers = [server(), server()];
    let mut sessions = servers
        .each_ref()
        .map(|(address, _)| LoadSession::open(&spec(*address), &RunContext::default()).expect("a session"));
    for _ in 0..10 {
        for session in &mut sessions {
            let part = session.spec.part.clone();
            assert_eq!(run(session, &part).total.succeeded(), 20);
        }
    }
    for (_, accepted) in &servers {
        assert_eq!(accepted.load(Ordering::Relaxed), 4);
    }
}

#[test]
fn a_load_without_an_end_counts_what_was_in_flight_when_it_is_stopped() {
    // The server answers only after the load was stopped, and later than an interrupted run would wait.
    let context = RunContext::default();
    let (received, stopped) = (Arc::new(AtomicU32::new(0)), context.interrupted.clone());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (count, stop) = (received.clone(), stopped.clone());
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let (count, stop) = (count.clone(), stop.clone());
            thread::spawn(move || {
                while client.read(&mut [0; 1024]).is_ok_and(|bytes| bytes > 0) {
                    count.fetch_add(1, Ordering::Relaxed);
                    while !stop.load(Ordering::Relaxed) {
                        thread::sleep(Duration::from_millis(1));
                    }
                    thread::sleep(Duration::from_millis(500));
                    let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
                }
            });
        }
    });
    let count = received.clone();
    thread::spawn(move || {
        while count.load(Ordering::Relaxed) < 4 {
            thread::sleep(Duration::from_millis(1));
        }
        stopped.store(true, Ordering::Relaxed);
    });
    let shape = Shape::open(1_000.0, Arrivals::Constant);
    let spec = spec(address).with_shape(shape).with_duration(None).with_requests(None);
    let mut session = LoadSession::open(&spec, &context).expect("a session");
    let outcome = session.run(&spec.part, &context, &mut |_| {}).expect("an outcome");
    let in_flight = u64::from(received.load(Ordering::Relaxed));
    assert_eq!((outcome.total.succeeded(), outcome.drain.succeeded()), (in_flight, in_flight));
}

#[test]
fn connections_of_a_warm_up_are_not_measured_and_the_first_ones_are() {
    let (address, accepted) = server();
    let spec = spec(address).with_requests_per_connection(5);
    let mut session = LoadSession::open(&spec, &RunContext::default()).expect("a session");
    let (warmup, duration) = (Duration::from_millis(300), Some(Duration::from_millis(100)));
    let part = LoadPart { warmup, duration, requests: None, ..spec.part.clone() };
    let outcome = run(&mut session, &part);
    drop(session);
    let before = outcome.intervals.iter().filter(|interval| interval.stage == IntervalStage::WarmUp);
    let in_warm_up: u64 = before.map(|interval| interval.stats.connections.connect.count()).sum();
    let measured = outcome.total.connections.connect.len();
    assert_eq!(measured + in_warm_up, u64::from(accepted.load(Ordering::Relaxed)));
}

#[test]
fn a_connection_that_the_server_closed_between_two_parts_is_opened_again() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            thread::spawn(move || {
                for _ in 0..5 {
                    if !client.read(&mut [0; 1024]).is_ok_and(|bytes| bytes > 0) {
                        return;
                    }
                    let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
                }
            });
        }
    });
    let spec = LoadSpec { connections: 1, ..spec(address) };
    let mut session = LoadSession::open(&spec, &RunContext::default()).expect("a session");
    let part = LoadPart { requests: Some(5), ..spec.part.clone() };
    for _ in 0..3 {
        assert_eq!(run(&mut session, &part).total.succeeded(), 5);
        // The close needs a moment to arrive.
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_fell_due_while_a_slice_drained_is_sent_at_the_begin_of_the_next_with_its_own_due_time() {
    let (address, _) = server();
    let spec = spec(address);
    let mut session = LoadSession::open(&spec, &RunContext::default()).expect("a session");
    let (due_before, duration) = (Duration::from_millis(200), Duration::from_millis(50));
    let shape = Shape::open(1_000.0, Arrivals::Constant);
    let part = LoadPart {
        shape,
        requests: None,
        duration: Some(duration),
        interval: duration,
        due_before,
        ..spec.part.clone()
    };
    let outcome = run(&mut session, &part);
    assert_eq!((outcome.total.succeeded(), outcome.total.client.offered), (250, 250));
    let times = &outcome.total.operations[0].response_time;
    assert_eq!(times.len(), 250, "also those that fell due before the begin are timed");
    // The first fell due 200 ms before it could be sent; the wait is the server's, and not a lag of the client.
    assert!(times.max() >= 199_000, "{}", times.max());
    assert!(outcome.total.operations[0].server_time.max() >= 199_000);
    assert_eq!((outcome.due_before, outcome.due_for()), (due_before, due_before + outcome.measured));
}

#[test]
fn a_part_that_waits_for_an_idle_server_ends_soon_after_its_length_and_leaves_nothing_to_drain() {
    let (address, _) = server();
    let spec = spec(address);
    let mut session = LoadSession::open(&spec, &RunContext::default()).expect("a session");
    let (duration, idle_within) = (Duration::from_millis(60), Duration::from_secs(20));
    let shape = Shape::open(20.0, Arrivals::Constant);
    let part = LoadPart {
        shape,
        requests: None,
        duration: Some(duration),
        interval: duration + idle_within,
        idle_within,
        ..spec.part.clone()
    };
    let outcome = run(&mut session, &part);
    assert!(outcome.measured >= duration, "{:?}", outcome.measured);
    let succeeded = outcome.total.succeeded();
    assert!((2..400).contains(&succeeded), "400 would fall due until the latest end: {succeeded}");
    assert_eq!(outcome.drain.succeeded(), 0, "none is in flight at the end");
}
