//! The outcome of a closed loop, as the engine gives it.

use std::net::Ipv4Addr;
use std::time::{Duration, SystemTime};

use load::drivers::ProtocolSpec;
use load::drivers::http::{HttpOperation, HttpSpec};
use load::engine::LoadOutcome;
use load::record::{ErrorKind, Errors, Interval};
use load::spec::LoadSpec;
use load::{IntervalStage, TimedInterval};

/// A second in one interval: this many operations of 1 ms each that succeeded, and this many that got status 503.
pub fn closed_loop_outcome(succeeded: u64, failed: u64) -> LoadOutcome {
    let mut total = Interval::new(1, 0);
    let operation = &mut total.operations[0];
    for times in [&mut operation.response_time, &mut operation.server_time, &mut operation.service_time] {
        for _ in 0..succeeded {
            times.record(1_000).expect("a time");
        }
    }
    operation.errors.add(ErrorKind::UnexpectedReply, failed, "status 503");
    let second = Duration::from_secs(1);
    let interval = TimedInterval {
        stage: IntervalStage::Measured,
        start: Duration::ZERO,
        length: second,
        stats: total.compact(),
    };
    let operations = vec![HttpOperation::get("/")];
    let protocol = ProtocolSpec::Http(HttpSpec::new("box", operations));
    LoadOutcome {
        spec: LoadSpec::closed(protocol, (Ipv4Addr::LOCALHOST, 80).into(), 2).with_interval(second),
        operations: vec!["GET /".to_owned()],
        counters: Vec::new(),
        began: SystemTime::UNIX_EPOCH,
        measured: second,
        draining: Duration::ZERO,
        due_before: Duration::ZERO,
        drain: Interval::new(1, 0),
        total,
        singles: Vec::new(),
        intervals: vec![interval],
        opened: 2,
        setup_errors: Errors::default(),
        interrupted: false,
        processes: 1,
        clients: Vec::new(),
    }
}
