//! What the threads of a server did for one request: the server is a thread of this test.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use profile::threads::WaitKind;
use profile::waits::{ThreadSpan, ThreadState};
use profile::{Activity, ActivitySampler, ProcessSet, ProfileError, WaitSamplerOptions};
use rustix::time::{ClockId, clock_gettime};

/// How long the server sleeps in a slow request.
const SLEEP: Duration = Duration::from_millis(200);

/// Longest time until everything was seen on a machine whose CPUs are all busy.
const PATIENCE: Duration = Duration::from_mins(2);

fn now() -> u64 {
    Duration::try_from(clock_gettime(ClockId::Monotonic)).expect("it is positive").as_nanos() as u64
}

/// Reads requests of one byte and answers each; an `s` takes long.
fn serve(mut client: TcpStream) {
    let mut request = [0];
    while client.read(&mut request).is_ok_and(|bytes| bytes == 1) {
        if request == *b"s" {
            thread::sleep(SLEEP);
        }
        let _ = client.write_all(b"reply");
    }
}

/// The instants between which a request was sent and its reply was read.
fn request(client: &mut TcpStream, byte: u8) -> (u64, u64) {
    let begin = now();
    client.write_all(&[byte]).expect("the server reads");
    client.read_exact(&mut [0; 5]).expect("a reply");
    (begin, now())
}

/// Where the thread that reads the request sleeps, between its read and its send.
fn slept(activity: &Activity, port: u16, (from, until): (u64, u64)) -> Option<Vec<ThreadSpan>> {
    let transfers = activity.transfers(port, from, until);
    let read = transfers.iter().find(|transfer| transfer.is_read)?;
    let sent = transfers.iter().rfind(|transfer| !transfer.is_read).map_or(until, |sent| sent.time);
    let is_long = |span: &ThreadSpan| {
        matches!(span.state, ThreadState::Blocked(..))
            && u128::from(span.until - span.from) * 2 > SLEEP.as_nanos()
    };
    let spans = activity.spans(read.tid, read.time, sent)?;
    spans.iter().any(is_long).then_some(spans)
}

#[test]
fn a_slow_request_is_found_by_its_connection_and_time() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = thread::Builder::new().name("served".to_owned());
    let server = server.spawn(move || serve(listener.accept().expect("a client").0)).expect("a thread");
    let mut client = TcpStream::connect(address).expect("it listens");
    let port = client.local_addr().expect("an address").port();
    let options = WaitSamplerOptions { stacks_per_s: 10_000, most_cpu: 1.0, ..WaitSamplerOptions::default() };
    let begin = Instant::now();
    loop {
        let own = ProcessSet::Roots(vec![std::process::id()]);
        let sampler = match ActivitySampler::start(own, &options, &[address.port()]) {
            Ok(sampler) => sampler,
            Err(error) => {
                // This user may not see it, which is said.
                assert!(matches!(error, ProfileError::NoRecords(_)), "{error}");
                break;
            }
        };
        let quick: Vec<_> = (0..3).map(|_| request(&mut client, b'q')).collect();
        let slow = request(&mut client, b's');
        let activity = sampler.stop().expect("an activity");
        let found = slept(&activity, port, slow);
        if found.is_none() && begin.elapsed() < PATIENCE {
            // Records are lost where the sampler has no CPU.
            continue;
        }
        let spans = found.unwrap_or_else(|| panic!("{:?} {:#?}", slow, activity.transfers));
        let thread = activity.threads.values().find(|thread| thread.name == "served");
        assert!(thread.is_some_and(|thread| !thread.waits.is_empty()), "{:?}", activity.threads.keys());
        let blocked = spans.iter().max_by_key(|span| span.until - span.from).expect("spans");
        if let ThreadState::Blocked(Some(place), false, _) = blocked.state {
            let place = activity.place(place).expect("a place");
            assert_eq!(place.kind, WaitKind::Sleep, "{place:#?}");
        }
        for times in quick {
            assert_eq!(slept(&activity, port, times), None, "quick requests do not sleep");
        }
        break;
    }
    drop(client);
    server.join().expect("it ends with its client");
}

#[test]
fn processes_that_have_ended_have_no_activity() {
    let gone = ProcessSet::Roots(vec![u32::MAX]);
    let started = ActivitySampler::start(gone, &WaitSamplerOptions::default(), &[80]);
    assert!(matches!(started, Err(ProfileError::NoProcesses)));
}
