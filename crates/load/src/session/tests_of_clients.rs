//! Sessions whose load several clients make. A client is a thread of this process, behind pipes, with a clock of its own.

use std::io::{self, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::*;
use crate::drivers::ProtocolSpec;
use crate::drivers::http::{HttpOperation, HttpSpec};
use crate::load_process::serve;
use crate::outcome::summary::Summary;
use crate::outcome::validity::BrokenRule;
use crate::spec::{Arrivals, Shape};
use crate::tls::{TlsSpec, Trust};
use crate::worker_groups::client::{ClientError, LoadClient, ProcessPipes};

/// A server that answers everything at once, and the number of replies.
fn server() -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let replies = Arc::new(AtomicU64::new(0));
    let count = replies.clone();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let count = count.clone();
            thread::spawn(move || {
                while client.read(&mut [0; 1024]).is_ok_and(|bytes| bytes > 0) {
                    count.fetch_add(1, Ordering::Relaxed);
                    let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
                }
            });
        }
    });
    (address, replies)
}

/// A client whose messages end at once when it is cut off.
#[derive(Debug)]
struct ThreadClient {
    name: String,
    cut: Arc<Mutex<Option<io::PipeWriter>>>,
    /// Its clock at the next comparison, and how much further it is at each one.
    ahead_ns: AtomicI64,
    runs_away_ns: i64,
}

impl ThreadClient {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), cut: Arc::default(), ahead_ns: AtomicI64::new(0), runs_away_ns: 0 }
    }
}

impl LoadClient for ThreadClient {
    fn name(&self) -> &str {
        &self.name
    }

    fn source(&self) -> Option<IpAddr> {
        None
    }

    fn connections_a_process(&self) -> u64 {
        1_000
    }

    fn start(&self) -> Result<ProcessPipes, ClientError> {
        let failed = |error: io::Error| ClientError(Box::new(error));
        let (there, input) = io::pipe().map_err(failed)?;
        let (output, from_there) = io::pipe().map_err(failed)?;
        *self.cut.lock().expect("nobody panics with it") = Some(from_there.try_clone().map_err(failed)?);
        let cut = self.cut.clone();
        let serving = thread::spawn(move || {
            let _ = serve(BufReader::new(there), from_there);
            *cut.lock().expect("nobody panics with it") = None;
        });
        let end = move |_| serving.join().expect("it does not panic");
        Ok(ProcessPipes {
            input: Box::new(input),
            output: Box::new(BufReader::new(output)),
            end: Box::new(end),
        })
    }

    fn clock(&self) -> Result<ClientClock, ClientError> {
        let ahead_ns = self.ahead_ns.fetch_add(self.runs_away_ns, Ordering::Relaxed);
        Ok(ClientClock { ahead_ns, error_ns: 1_000, round_trip_ns: 2_000 })
    }
}

fn context(names: &[&str]) -> (RunContext, Vec<Arc<ThreadClient>>) {
    let clients: Vec<Arc<ThreadClient>> =
        names.iter().map(|name| Arc::new(ThreadClient::new(name))).collect();
    let of_context = clients.iter().map(|client| client.clone() as Arc<dyn LoadClient>).collect();
    (RunContext { clients: of_context, ..RunContext::default() }, clients)
}

fn spec(address: SocketAddr) -> LoadSpec {
    let protocol = HttpSpec::new(&address.to_string(), vec![HttpOperation::get("/")]);
    LoadSpec::closed(ProtocolSpec::Http(protocol), address, 6)
}

#[test]
fn the_load_of_three_clients_is_counted_exactly_and_shown_by_client() {
    let (address, replies) = server();
    let (context, _clients) = context(&["a", "b", "c"]);
    let spec = spec(address).with_duration(None).with_requests(100);
    let mut session = LoadSession::open(&spec, &context).expect("a session");
    assert_eq!(session.opened(), 6);
    for part in 1..=2 {
        let outcome = session.run(&spec.part, &context, &mut |_| {}).expect("an outcome");
        assert_eq!((outcome.total.succeeded(), outcome.total.failed()), (100, 0));
        assert_eq!(replies.load(Ordering::Relaxed), part * 100);
        let by_client: Vec<(&str, u64, u32)> = outcome
            .clients
            .iter()
            .map(|client| (client.name.as_str(), client.outcome.total.succeeded(), client.outcome.opened))
            .collect();
        assert_eq!(
            by_client,
            [("a", 34, 2), ("b", 33, 2), ("c", 33, 2)],
            "operation i is client i's modulo 3"
        );
        let opened = |outcome: &LoadOutcome| outcome.total.connections.connect.len();
        let of_first_part = if part == 1 { 6 } else { 0 };
        assert_eq!(opened(&outcome), of_first_part, "connections belong to the first part");
        assert_eq!(outcome.clients.iter().map(|c| opened(&c.outcome)).sum::<u64>(), of_first_part);
    }
}

#[test]
fn an_open_loop_of_clients_offers_what_one_client_does() {
    let (address, replies) = server();
    let length = Duration::from_millis(200);
    let open = spec(address).with_shape(Shape::open(1_000.0, Arrivals::Constant)).with_duration(length);
    for (names, offered) in [(&["a", "b"][..], [100, 100]), (&[][..], [200, 0])] {
        let before = replies.load(Ordering::Relaxed);
        let (context, _clients) = context(names);
        let mut session = LoadSession::open(&open, &context).expect("a session");
        let outcome = session.run(&open.part, &context, &mut |_| {}).expect("an outcome");
        assert_eq!(outcome.total.client.offered, offered.iter().sum::<u64>());
        assert_eq!(outcome.total.succeeded(), replies.load(Ordering::Relaxed) - before);
        assert_eq!(outcome.measured, length);
        for (client, offered) in outcome.clients.iter().zip(offered) {
            assert_eq!((client.outcome.total.client.offered, client.outcome.measured), (offered, length));
        }
    }
}

#[test]
fn a_lost_client_ends_the_load_makes_it_invalid_and_is_named() {
    let (address, _) = server();
    let (context, clients) = context(&["a", "b"]);
    let spec = spec(address).with_duration(Duration::from_mins(10));
    let mut session = LoadSession::open(&spec, &context).expect("a session");
    let cut = clients[1].cut.clone();
    let outcome = session.run(&spec.part, &context, &mut |event| {
        if let LoadEvent::Tick { .. } = event {
            // A half line, as a link that dies leaves it.
            if let Some(mut pipe) = cut.lock().expect("nobody panics with it").take() {
                let _ = pipe.write_all(b"\n");
            }
        }
    });
    let summary = Summary::of(&outcome.expect("what was measured until then"));
    assert!(!summary.valid && summary.requests > 0);
    assert!(
        matches!(&summary.rules_broken[0], BrokenRule::ClientLost { client, .. } if client == "b"),
        "{:?}",
        summary.reasons
    );
    assert!(
        summary.reasons[0].starts_with("client b: a load process sent a message"),
        "{:?}",
        summary.reasons
    );
    assert_eq!(summary.clients[1].lost.as_ref(), Some(&summary.reasons[0]));
    let again = session.run(&spec.part, &context, &mut |_| {}).expect_err("b is gone");
    assert_eq!(again.to_string(), summary.reasons[0]);
}

#[test]
fn a_clock_that_runs_away_makes_the_load_invalid() {
    let (address, _) = server();
    let runs_away = Arc::new(ThreadClient { runs_away_ns: -200_000_000, ..ThreadClient::new("b") });
    let clients: Vec<Arc<dyn LoadClient>> = vec![Arc::new(ThreadClient::new("a")), runs_away];
    let context = RunContext { clients, ..RunContext::default() };
    let spec = spec(address).with_duration(Some(Duration::from_millis(50)));
    let mut session = LoadSession::open(&spec, &context).expect("a session");
    // Clocks are compared again after a load that took much longer than comparing them: on a busy machine, only after a long one.
    let summary = [50, 1_000, 10_000, 60_000]
        .into_iter()
        .map(|ms| {
            let part = LoadPart { duration: Some(Duration::from_millis(ms)), ..spec.part.clone() };
            Summary::of(&session.run(&part, &context, &mut |_| {}).expect("an outcome"))
        })
        .find(|summary| summary.clients[0].clock_drift_us.is_some())
        .expect("a comparison of the clocks");
    let drifts: Vec<Option<f64>> = summary.clients.iter().map(|client| client.clock_drift_us).collect();
    assert_eq!(drifts, [Some(0.0), Some(-200_000.0)]);
    let reason = "client b: its clock ran 200.0 ms slower than the one here during the load";
    assert!(summary.reasons.iter().any(|said| said.starts_with(reason)), "{:?}", summary.reasons);
    assert!(!summary.valid);
}

#[test]
fn what_clients_cannot_do_is_refused() {
    let (address, _) = server();
    let (context, _clients) = context(&["a", "b"]);
    let refused = |spec: &LoadSpec| LoadSession::open(spec, &context).err().expect("an error").to_string();
    let few = refused(&spec(address).with_connections(1));
    assert_eq!(few, "2 clients cannot share 1 connections: give each one at least");
    let trust = TlsSpec {
        server_name: "x".to_owned(),
        resumption: true,
        trust: Trust::File("/nowhere/ca.pem".to_owned()),
        proof: crate::tls::KeyProof::Once,
        identity: None,
    };
    let unread = refused(&spec(address).with_tls(Some(trust)));
    assert!(unread.starts_with("cannot read /nowhere/ca.pem: No such file"), "{unread}");
}
