//! One run of a runner, as a worker of the engine.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use super::protocol::{RunnerMessage, start_line};
use super::session::{RunnerSession, order};
use super::{RunnerError, RunnerSpec};
use crate::clock::Nanos;
use crate::record::{DRAIN, Errors, Interval};
use crate::spec::Shape;
use crate::worker::{EndReport, WorkerContext, WorkerFailure, WorkerMessage};

/// How long one look for a line takes, and with it how late an interruption is heard.
const LOOK: Duration = Duration::from_millis(20);

/// A runner's clock may be off by this share of a run, and by this much in any: its start line lies in a pipe until
/// the runner is given a CPU.
const CLOCK_SHARE: f64 = 0.02;
const CLOCK_SLACK_S: f64 = 0.25;

/// Carries out one run and tells the collector that it is over.
pub(crate) fn run(runner: &RunnerSpec, context: &WorkerContext) {
    let end = EndReport::new(context);
    let begin = match begin(context) {
        Ok(Some(begin)) => begin,
        Ok(None) => return end.stopped(Nanos::now()),
        Err(error) => return end.failed(WorkerFailure::Runner(error.to_string())),
    };
    match lead(runner, context, begin) {
        Ok(stopped) => end.stopped(stopped),
        Err(error) => end.failed(WorkerFailure::Runner(error.to_string())),
    }
}

/// Says that the worker is ready, and waits for the instant at which the run begins; none if there will be none.
fn begin(context: &WorkerContext) -> Result<Option<Nanos>, RunnerError> {
    let spec = &context.spec;
    if matches!(spec.shape, Shape::Open { .. }) {
        return Err(RunnerError::NotForRunners("ask for throughput instead of a rate"));
    }
    if spec.workers != 1 {
        return Err(RunnerError::NotForRunners("give it no more"));
    }
    if spec.interval.as_millis() == 0 {
        return Err(RunnerError::NotForRunners("its intervals are of a millisecond or more"));
    }
    let ready = WorkerMessage::Ready { worker: context.worker, open: 1, errors: Errors::default() };
    // A collector that is gone has given the run up.
    let _ = context.to_collector.send(ready);
    Ok(context.start.recv().ok())
}

/// Gives the instant from which no more operations were begun.
fn lead(runner: &RunnerSpec, context: &WorkerContext, begin: Nanos) -> Result<Nanos, RunnerError> {
    let spec = &context.spec;
    let warm_up = (spec.warmup.as_nanos() / spec.interval.as_nanos()) as i64;
    let end = spec.duration.map_or(Nanos::NEVER, |length| begin.after(spec.warmup).after(length));
    let mut session = RunnerSession::open(runner)?;
    thread::sleep(begin.since(Nanos::now()).into());
    session.say(&start_line(spec.interval, spec.seed, &runner.mix))?;
    let started = Nanos::now();
    let mut stop_said: Option<Nanos> = None;
    let mut done = 0;
    let mut latest: Option<u64> = None;
    let hand_on = |index: i64, mut stats: Box<Interval>, length: Duration| {
        stats.client.wall_ns = length.as_nanos() as u64;
        let _ = context.to_collector.send(WorkerMessage::Interval { worker: context.worker, index, stats });
    };
    loop {
        let is_enough = Nanos::now() >= end || spec.requests.is_some_and(|most| done >= most);
        if stop_said.is_none() && (is_enough || context.stop.load(Ordering::Relaxed)) {
            session.say("stop")?;
            stop_said = Some(Nanos::now());
        }
        let until_stop = Duration::from(end.since(Nanos::now()));
        let look = if stop_said.is_some() { LOOK } else { until_stop.clamp(Duration::ZERO, LOOK) };
        match session.next(look)? {
            None if session.silence() > spec.timeout => return Err(RunnerError::Silent(spec.timeout)),
            None => {}
            Some(RunnerMessage::Ready) => return Err(order("that it is ready", "while it ran")),
            Some(RunnerMessage::Interval { index, .. }) if latest.is_some_and(|latest| index <= latest) => {
                let when = format!("after interval {}", latest.unwrap_or_default());
                return Err(order(&format!("interval {index}"), &when));
            }
            Some(RunnerMessage::Interval { index, stats }) => {
                latest = Some(index);
                done += stats.client.offered;
                hand_on(i64::try_from(index).unwrap_or(DRAIN) - warm_up, stats, spec.interval);
            }
            Some(RunnerMessage::Stopped { .. }) if stop_said.is_none() => {
                return Err(order("that it has stopped", "before it was told to"));
            }
            Some(RunnerMessage::Stopped { after, stats }) => {
                let told = stop_said.unwrap_or(started).since(started);
                hold_against(after, told.into(), Nanos::now().since(started).into())?;
                hand_on(DRAIN, stats, Duration::ZERO);
                return Ok(begin.after(after));
            }
        }
    }
}

/// Every rate is made of this length. A runner whose threads want more CPUs than there are hears the stop late, and says
/// so rightly.
fn hold_against(said: Duration, told: Duration, heard: Duration) -> Result<(), RunnerError> {
    let [said_s, told_s, heard_s] = [said, told, heard].map(|span| span.as_secs_f64());
    let allowed_s = (CLOCK_SHARE * told_s).max(CLOCK_SLACK_S);
    if (told_s - allowed_s..=heard_s + allowed_s).contains(&said_s) {
        Ok(())
    } else {
        Err(RunnerError::Clock { said_s, told_s, heard_s })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runner_that_hears_the_stop_late_says_so_rightly_and_a_clock_of_its_own_is_found_out() {
        let check = |said_ms, heard_ms| {
            let [said, told, heard] = [said_ms, 1_200, heard_ms].map(Duration::from_millis);
            hold_against(said, told, heard).is_ok()
        };
        assert!(check(1_200, 1_201) && check(1_584, 1_590));
        assert!(!check(1_584, 1_205), "it cannot have gone on after it had said that it stopped");
        assert!(!check(900, 1_205) && !check(9_500, 1_205));
    }
}
