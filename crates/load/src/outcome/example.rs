//! An outcome for tests: a client with CPU to spare, on time, and a server that answers in a millisecond.

use std::time::{Duration, SystemTime};

use crate::clock::{ClientClock, ClockDrift};
use crate::drivers::ProtocolSpec;
use crate::drivers::http::{HttpOperation, HttpSpec};
use crate::outcome::LoadOutcome;
use crate::outcome::{ClientOutcome, TimedInterval};
use crate::record::{Errors, Interval, record};
use crate::spec::LoadSpec;

/// Nanoseconds of a second.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// The same by two clients, of which one was lost.
pub(crate) fn outcome_of_clients() -> LoadOutcome {
    let of_client = |name: &str| ClientOutcome {
        name: name.to_owned(),
        clock: ClientClock { ahead_ns: -7, error_ns: 40_000, round_trip_ns: 80_000 },
        drift: Some(ClockDrift { ns: -2_000, error_ns: 80_000 }),
        lost: (name == "c2").then(|| "host c2 was lost: ssh was killed by signal 9: start again".to_owned()),
        outcome: outcome(),
    };
    let mut merged = outcome();
    merged.append(outcome(), Duration::ZERO);
    merged.measured = outcome().measured;
    merged.clients = ["c1", "c2"].map(of_client).to_vec();
    merged
}

/// An open loop of ten seconds: 1,000 operations a second of 1 ms each. The client needed half of its core.
pub(crate) fn outcome() -> LoadOutcome {
    let mut total = Interval::new(1, 0);
    for _ in 0..10_000 {
        let operation = &mut total.operations[0];
        let times = [&mut operation.response_time, &mut operation.server_time, &mut operation.service_time];
        for histogram in times {
            record(histogram, 1_000);
        }
        let client = &mut total.client;
        for histogram in [&mut client.lag, &mut client.pickup] {
            record(histogram, 5);
        }
        record(&mut client.delay, 10);
    }
    total.client.offered = 10_000;
    (total.client.user_cpu_ns, total.client.wall_ns) = (5 * SECOND_NS, 10 * SECOND_NS);
    let operations = vec![HttpOperation::get("/")];
    let protocol = ProtocolSpec::Http(HttpSpec::new("box", operations));
    let spec = LoadSpec::open(protocol, ([127, 0, 0, 1], 80).into(), 4, 1_000.0);
    let length = Duration::from_secs(10);
    LoadOutcome {
        spec: spec.with_interval(length),
        operations: vec!["GET /".to_owned()],
        counters: Vec::new(),
        began: SystemTime::UNIX_EPOCH,
        measured: length,
        draining: Duration::ZERO,
        due_before: Duration::ZERO,
        intervals: vec![TimedInterval::new((0, total.compact()), length, (length, Duration::ZERO))],
        total,
        drain: Interval::new(1, 0),
        singles: Vec::new(),
        opened: 4,
        setup_errors: Errors::default(),
        interrupted: false,
        processes: 1,
        clients: Vec::new(),
    }
}
