//! One run of a runner, as a worker of the engine.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use super::error::RunnerError;
use super::protocol::{RunnerMessage, start_line};
use super::session::{RunnerSession, order};
use crate::clock::Nanos;
use crate::drivers::protocol::RunnerSpec;
use crate::record::{DRAIN, Errors, Interval};
use crate::spec::{LoadPart, Shape};
use crate::worker::{PartReports, PartStart, WorkerContext, WorkerFailure, WorkerMessage};

/// Longest wait for a line, and so the longest delay of an interruption.
const POLL: Duration = Duration::from_millis(20);

/// The length of a run by the runner's clock may differ by this share, and by at least this much: the start line waits in
/// a pipe until the runner gets a CPU.
const CLOCK_SHARE: f64 = 0.02;
const CLOCK_SLACK_S: f64 = 0.25;

/// Reports that the runner is ready, and carries out each part of the load.
pub(crate) fn run(runner: &RunnerSpec, context: &WorkerContext) {
    let reports = PartReports::new(context);
    let outcome = run_parts(runner, context, &reports);
    reports.close(outcome.map_err(|error| WorkerFailure::Runner(error.to_string())));
}

fn run_parts(runner: &RunnerSpec, context: &WorkerContext, reports: &PartReports) -> Result<(), RunnerError> {
    if context.spec.workers != 1 {
        return Err(RunnerError::NotForRunners("do not ask for more"));
    }
    check(&context.spec.part)?;
    let ready = WorkerMessage::Ready { worker: context.worker, open: 1, errors: Errors::default() };
    // Without a collector the run has been abandoned.
    let _ = context.to_collector.send(ready);
    while let Ok(PartStart { begin, part }) = context.start.recv() {
        check(&part)?;
        reports.ended(run_from(runner, context, &part, begin)?);
    }
    Ok(())
}

/// Refuses a part that no runner can carry out.
fn check(part: &LoadPart) -> Result<(), RunnerError> {
    if matches!(part.shape, Shape::Open { .. }) {
        return Err(RunnerError::NotForRunners("measure throughput instead of a rate"));
    }
    if part.interval.as_millis() == 0 {
        return Err(RunnerError::NotForRunners("use intervals of a millisecond or more"));
    }
    Ok(())
}

/// Runs from an instant on, and returns the instant at which the runner stopped beginning operations.
fn run_from(
    runner: &RunnerSpec,
    context: &WorkerContext,
    part: &LoadPart,
    begin: Nanos,
) -> Result<Nanos, RunnerError> {
    let warm_up = (part.warmup.as_nanos() / part.interval.as_nanos()) as i64;
    let end = part.duration.map_or(Nanos::NEVER, |length| begin.after(part.warmup).after(length));
    let mut session = RunnerSession::open(runner)?;
    thread::sleep(begin.since(Nanos::now()).into());
    let start = SentLine::send(&mut session, &start_line(part.interval, part.seed, &runner.mix))?;
    let mut stop: Option<SentLine> = None;
    let mut done = 0;
    let mut latest: Option<u64> = None;
    let report = |index: i64, mut stats: Box<Interval>, length: Duration| {
        stats.client.wall_ns = length.as_nanos() as u64;
        let _ = context.to_collector.send(WorkerMessage::Interval { worker: context.worker, index, stats });
    };
    loop {
        let is_enough = Nanos::now() >= end || part.requests.is_some_and(|most| done >= most);
        if stop.is_none() && (is_enough || context.stop.load(Ordering::Relaxed)) {
            stop = Some(SentLine::send(&mut session, "stop")?);
        }
        let waits_for_end = |stop: &SentLine| Duration::from(Nanos::now().since(stop.not_after));
        if stop.as_ref().is_some_and(|stop| waits_for_end(stop) > context.spec.timeout) {
            return Err(RunnerError::NotStopped(context.spec.timeout));
        }
        let until_stop = Duration::from(end.since(Nanos::now()));
        let wait = if stop.is_some() { POLL } else { until_stop.clamp(Duration::ZERO, POLL) };
        match session.next(wait)? {
            None if session.silence() > context.spec.timeout => {
                return Err(RunnerError::Silent(context.spec.timeout));
            }
            None => {}
            Some(RunnerMessage::Ready) => return Err(order("that it is ready", "while it ran")),
            Some(RunnerMessage::Interval { index, .. }) if latest.is_some_and(|latest| index <= latest) => {
                let when = format!("after interval {}", latest.unwrap_or_default());
                return Err(order(&format!("interval {index}"), &when));
            }
            Some(RunnerMessage::Interval { index, stats }) => {
                latest = Some(index);
                done += stats.client.offered;
                report(i64::try_from(index).unwrap_or(DRAIN) - warm_up, stats, part.interval);
            }
            Some(RunnerMessage::Stopped { after, stats }) => {
                let Some(stop) = &stop else {
                    return Err(order("that it has stopped", "before the stop line"));
                };
                let (until_stop, until_stopped) = lengths(&start, stop, Nanos::now());
                check_length(after, until_stop, until_stopped)?;
                report(DRAIN, stats, Duration::ZERO);
                return Ok(begin.after(after));
            }
        }
    }
}

/// A line that was sent between two instants. They are far apart where other programs take the client's CPU between them.
struct SentLine {
    not_before: Nanos,
    not_after: Nanos,
}

impl SentLine {
    fn send(session: &mut RunnerSession, line: &str) -> Result<Self, RunnerError> {
        let not_before = Nanos::now();
        session.send(line)?;
        Ok(Self { not_before, not_after: Nanos::now() })
    }
}

/// The shortest time between these lines, and the longest from the first one to the answer.
fn lengths(start: &SentLine, stop: &SentLine, answered: Nanos) -> (Duration, Duration) {
    (stop.not_before.since(start.not_after).into(), answered.since(start.not_before).into())
}

/// Checks the length of a run that the runner reports, which every rate depends on. A runner with more threads than CPUs
/// may read the stop line late and then reports a longer run correctly.
fn check_length(
    reported: Duration,
    until_stop: Duration,
    until_stopped: Duration,
) -> Result<(), RunnerError> {
    let [reported_s, until_stop_s, until_stopped_s] =
        [reported, until_stop, until_stopped].map(|span| span.as_secs_f64());
    let allowed_s = (CLOCK_SHARE * until_stop_s).max(CLOCK_SLACK_S);
    if (until_stop_s - allowed_s..=until_stopped_s + allowed_s).contains(&reported_s) {
        Ok(())
    } else {
        Err(RunnerError::Clock { reported_s, until_stop_s, until_stopped_s })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_stop_is_accepted_and_a_wrong_clock_refused() {
        let check = |reported_ms, stopped_ms| {
            let [reported, until_stop, until_stopped] =
                [reported_ms, 1_200, stopped_ms].map(Duration::from_millis);
            check_length(reported, until_stop, until_stopped).is_ok()
        };
        assert!(check(1_200, 1_201) && check(1_584, 1_590));
        assert!(!check(1_584, 1_205), "it cannot have run longer than until its answer");
        assert!(!check(900, 1_205) && !check(9_500, 1_205));
    }

    #[test]
    fn a_client_that_lost_its_cpu_while_it_sent_a_line_does_not_refuse_the_runner() {
        let at = |ms| Nanos::from(Duration::from_millis(ms));
        let sent = |not_before, not_after| SentLine { not_before: at(not_before), not_after: at(not_after) };
        let check = |reported_ms, start: SentLine, stop: SentLine| {
            let (until_stop, until_stopped) = lengths(&start, &stop, at(1_155));
            check_length(Duration::from_millis(reported_ms), until_stop, until_stopped)
        };
        check(1_140, sent(0, 300), sent(1_100, 1_110)).expect("it got the start line at once");
        check(760, sent(0, 10), sent(700, 1_110)).expect("it got the stop line at once");
        check(1_140, sent(300, 310), sent(1_100, 1_110)).expect_err("it had no start line so early");
    }
}
