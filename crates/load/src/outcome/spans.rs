//! A run over time: its intervals, the steps of its offered load, and the drain.

use std::time::Duration;

use serde::Serialize;
use stats::times::{Times, times_or_null};

use crate::outcome::IntervalStage;
use crate::outcome::LoadOutcome;
use crate::record::{Interval, Micros, RecordedTimes, micros, times};
use crate::spec::Shape;

/// One interval, or one step of an offered load. Part of the JSON object that [`crate::output`] describes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpanSummary {
    /// Seconds from the start of measuring.
    pub start_s: f64,
    /// Length in seconds.
    pub length_s: f64,
    /// Operations a second that fell due.
    pub offered_per_s: f64,
    /// Successful operations that ended in it, whenever they were due.
    pub requests: u64,
    /// Operations that failed in it.
    pub failed: u64,
    /// Successful operations that ended in it, a second.
    pub throughput_per_s: f64,
    /// From the intended start.
    #[serde(serialize_with = "times_or_null")]
    pub response_time_us: Times,
    /// Response times from here on are lower bounds: an operation was given up. None where all had an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gave_up_from_us: Option<u64>,
}

/// A run over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Spans {
    /// Each step of the offered load; empty where there is only one.
    pub steps: Vec<SpanSummary>,
    /// Each interval.
    pub intervals: Vec<SpanSummary>,
    /// What ended after the measured time, when no more operations began.
    pub drain: SpanSummary,
}

impl Spans {
    /// Reads each interval of an outcome once.
    pub fn of(outcome: &LoadOutcome) -> Self {
        let measured = outcome.intervals.iter().filter(|interval| interval.stage == IntervalStage::Measured);
        let intervals: Vec<SpanCounts> = measured
            .map(|interval| SpanCounts::of(interval.start, interval.length, &interval.stats))
            .collect();
        Self {
            steps: steps(outcome, &intervals),
            intervals: intervals.iter().map(SpanCounts::summary).collect(),
            drain: SpanCounts::of(outcome.measured, outcome.draining, &outcome.drain).summary(),
        }
    }
}

/// Merges the intervals of each step of the offered load. An interval belongs to the step in which it begins.
fn steps(outcome: &LoadOutcome, intervals: &[SpanCounts]) -> Vec<SpanSummary> {
    let Shape::Open { rate, .. } = &outcome.spec.part.shape else { return Vec::new() };
    let steps = rate.steps();
    if steps.len() < 2 {
        return Vec::new();
    }
    let mut begin = Duration::ZERO;
    let mut summaries = Vec::new();
    for (length, ..) in steps {
        let end = begin + length;
        let mut step = SpanCounts::empty(begin);
        intervals.iter().filter(|span| (begin..end).contains(&span.start)).for_each(|span| step.add(span));
        if !step.length.is_zero() {
            summaries.push(step.summary());
        }
        begin = end;
    }
    summaries
}

/// What a [`SpanSummary`] is computed from; adds up without loss.
struct SpanCounts {
    start: Duration,
    length: Duration,
    offered: u64,
    requests: u64,
    failed: u64,
    response: Micros,
    gave_up_from_us: Option<u64>,
}

impl SpanCounts {
    fn empty(start: Duration) -> Self {
        Self {
            start,
            length: Duration::ZERO,
            offered: 0,
            requests: 0,
            failed: 0,
            response: micros(),
            gave_up_from_us: None,
        }
    }

    fn of<H: RecordedTimes>(start: Duration, length: Duration, stats: &Interval<H>) -> Self {
        Self {
            start,
            length,
            offered: stats.client.offered,
            requests: stats.succeeded(),
            failed: stats.failed(),
            response: stats.response_times(),
            gave_up_from_us: stats.gave_up_from_us(),
        }
    }

    fn add(&mut self, later: &Self) {
        self.length += later.length;
        self.offered += later.offered;
        self.requests += later.requests;
        self.failed += later.failed;
        later.response.add_to(&mut self.response);
        self.gave_up_from_us = [self.gave_up_from_us, later.gave_up_from_us].into_iter().flatten().min();
    }

    fn summary(&self) -> SpanSummary {
        SpanSummary {
            start_s: self.start.as_secs_f64(),
            length_s: self.length.as_secs_f64(),
            offered_per_s: per_second(self.offered, self.length),
            requests: self.requests,
            failed: self.failed,
            throughput_per_s: per_second(self.requests, self.length),
            response_time_us: times(&self.response),
            gave_up_from_us: self.gave_up_from_us,
        }
    }
}

/// A count over a length of time; zero where there was no time.
pub(crate) fn per_second(count: u64, length: Duration) -> f64 {
    if length.is_zero() { 0.0 } else { count as f64 / length.as_secs_f64() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::record;

    #[test]
    fn what_was_given_up_is_a_lower_bound_in_its_interval_and_its_step() {
        let second = Duration::from_secs(1);
        let (mut answered, mut given_up) = (Interval::new(1, 0), Interval::new(1, 0));
        (0..10).for_each(|_| record(&mut answered.operations[0].response_time, 100));
        record(&mut given_up.operations[0].response_time, 100);
        record(&mut given_up.operations[0].unanswered, 2_000);
        let [first, later] =
            [&answered, &given_up].map(|stats| SpanCounts::of(Duration::ZERO, second, stats));
        assert_eq!(first.summary().gave_up_from_us, None);
        assert_eq!(
            (later.summary().gave_up_from_us, later.summary().response_time_us.max),
            (Some(2_000), 2_000)
        );
        let mut step = SpanCounts::empty(Duration::ZERO);
        for span in [&first, &later, &first] {
            step.add(span);
        }
        let step = step.summary();
        assert_eq!((step.gave_up_from_us, step.requests), (Some(2_000), 21));
        assert_eq!((step.response_time_us.p50, step.response_time_us.max), (100, 2_000));
    }
}
