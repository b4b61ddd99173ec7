//! Has a trial reached steady state? Throughput and p99 of the closed loop, interval by interval, are checked by
//! `stats::steady`. Everything before the later of their two cuts is warm-up and is not measured.
//!
//! A slow warm-up hides in the noise of a short loop, more so where half of the loop is cut away. A cache that took 4 s
//! to fill was called steady after 1.8 s, at 40 % of its throughput, three times out of three. Two rules follow:
//!
//! - The first loop must not drift as a whole.
//! - The loop after one that was not steady is checked together with it.
//!
//! A warm-up that is longer than two loops is only detected with a longer preset.

use std::time::Duration;

use archive::model::WarmUpOutcome;
use load::TimedInterval;
use load::engine::LoadOutcome;
use load::record::{CompactInterval, Interval, RecordedTimes};
use stats::steady::{DriftTolerance, SteadyState, UnsteadyReason, detect_steady_state, significant_drift};

/// One part in this many of the first loop may be at another level: connections have just been opened.
const OPENING_PART: usize = 10;

/// Throughput and p99 of a loop, one value for each interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoopSeries {
    throughput: Vec<f64>,
    p99: Vec<f64>,
}

impl LoopSeries {
    /// Whether no operation has ended in the loop.
    pub fn is_empty(&self) -> bool {
        self.throughput.is_empty()
    }
}

/// A closed loop with the result of its steady-state check.
pub struct CheckedLoop {
    /// Its throughput and p99 over time.
    pub series: LoopSeries,
    /// How the warm-up ended.
    pub outcome: WarmUpOutcome,
    /// Why it is not steady, in one line; none if it is.
    pub unsteady: Option<String>,
    /// What was recorded after the cut.
    pub measured: Interval,
    /// Time from the cut to the end.
    pub length: Duration,
}

/// What a warm-up must show before the measurement begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUpGoal {
    /// The rest of the loop is steady: it is the measurement.
    Steady,
    /// The loop does not drift. Whatever else changes is the machine, which servers in turns meet alike.
    NoDrift,
}

/// The quantity whose rate must be steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteadyQuantity {
    /// Operations that succeed in an interval; their p99 must be steady too.
    Operations,
    /// Bytes received in an interval. One operation may take longer than an interval, so the p99 is reported and not
    /// checked.
    Bytes,
}

impl SteadyQuantity {
    /// Its amount in an interval.
    pub fn amount<H: RecordedTimes>(self, stats: &Interval<H>) -> f64 {
        match self {
            Self::Operations => stats.succeeded() as f64,
            Self::Bytes => stats.bytes_received() as f64,
        }
    }
}

/// The p99 of each interval from the first reply on. An interval without a reply gets the p99 of the next interval with
/// a reply: the replies in the latter belong to operations that waited during the former. Intervals after the last reply get its p99. So a
/// stall shows in both series, and a disk flush of 20 ms does not end a trial.
fn from_first_reply(p99: impl IntoIterator<Item = Option<f64>>) -> Vec<f64> {
    let mut p99: Vec<Option<f64>> = p99.into_iter().skip_while(Option::is_none).collect();
    let mut next = p99.iter().copied().flatten().next_back();
    for value in p99.iter_mut().rev() {
        next = value.or(next);
        *value = next;
    }
    p99.into_iter().flatten().collect()
}

/// Checks a closed loop. `before` is the load that the server had earlier, all of which is warm-up. `earlier` is the
/// loop before this one, if that was not steady.
pub fn check_loop(
    run: &LoadOutcome,
    before: Duration,
    earlier: Option<LoopSeries>,
    quantity: SteadyQuantity,
    goal: WarmUpGoal,
) -> CheckedLoop {
    let observations = run.observations();
    let p99 = from_first_reply(observations.iter().map(|o| p99_of(&o.stats)));
    // All connections begin at once: there is nothing to observe before the first operation has ended.
    let opening = observations.len() - p99.len();
    let per_s = |o: &&TimedInterval| quantity.amount(&o.stats) / o.length.as_secs_f64();
    let series = LoopSeries { throughput: observations[opening..].iter().map(per_s).collect(), p99 };
    let LoopCheck { throughput, p99, unsteady, cut } =
        LoopCheck::of(earlier.unwrap_or_default(), &series, quantity, goal);
    let cut = opening + cut;
    let mut measured = Interval::new(run.operations.len(), run.counters.len());
    observations[cut.min(observations.len())..].iter().for_each(|o| measured.append(&o.stats));
    let interval = run.spec.part.interval;
    CheckedLoop {
        series,
        outcome: WarmUpOutcome {
            discarded_s: (before + interval * cut as u32).as_secs_f64(),
            interval_s: interval.as_secs_f64(),
            throughput: throughput.into(),
            p99: p99.into(),
        },
        unsteady,
        measured,
        length: interval * observations.len().saturating_sub(cut) as u32,
    }
}

/// The result of both series.
struct LoopCheck {
    throughput: SteadyState,
    p99: SteadyState,
    unsteady: Option<String>,
    /// Intervals of the last loop that are warm-up.
    cut: usize,
}

impl LoopCheck {
    fn of(mut joined: LoopSeries, series: &LoopSeries, quantity: SteadyQuantity, goal: WarmUpGoal) -> Self {
        let earlier = joined.throughput.len();
        joined.throughput.extend(&series.throughput);
        joined.p99.extend(&series.p99);
        let throughput = detect_steady_state(&joined.throughput, DriftTolerance::THROUGHPUT);
        let p99 = detect_steady_state(&joined.p99, DriftTolerance::PERCENTILE);
        let checked = match quantity {
            SteadyQuantity::Operations => &[("throughput", &throughput), ("p99", &p99)][..],
            SteadyQuantity::Bytes => &[("throughput", &throughput)],
        };
        if series.is_empty() {
            let unsteady = Some("no operation ended within a loop of the warm-up".to_owned());
            return Self { throughput, p99, unsteady, cut: 0 };
        }
        let message = |name: &str, reason: &UnsteadyReason| format!("{name} is not steady: {reason}");
        let drift_as_a_whole = || {
            let after_opening = &series.throughput[series.throughput.len() / OPENING_PART..];
            let relative = (earlier == 0)
                .then(|| significant_drift(after_opening, DriftTolerance::THROUGHPUT))
                .flatten()?;
            Some(message("throughput", &UnsteadyReason::Drifting { relative }))
        };
        let is_tolerated = |reason: &UnsteadyReason| {
            goal == WarmUpGoal::NoDrift && !matches!(reason, UnsteadyReason::Drifting { .. })
        };
        let unsteady = checked
            .iter()
            .find_map(|(name, state)| match state {
                SteadyState::NotSteady { reason } if !is_tolerated(reason) => Some(message(name, reason)),
                SteadyState::Steady { .. } | SteadyState::NotSteady { .. } => None,
            })
            .or_else(drift_as_a_whole);
        let cut =
            checked.iter().map(|(_, state)| discarded(state)).max().unwrap_or(0).saturating_sub(earlier);
        Self { throughput, p99, unsteady, cut }
    }
}

fn discarded(state: &SteadyState) -> usize {
    match state {
        SteadyState::Steady { discard, .. } => *discard,
        SteadyState::NotSteady { .. } => 0,
    }
}

/// None for an interval without a reply.
fn p99_of(stats: &CompactInterval) -> Option<f64> {
    let response = stats.merged(|op| &op.response_time);
    (!response.is_empty()).then(|| response.value_at_quantile(0.99) as f64)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_distr::{Distribution, Poisson};
    use rand_pcg::Pcg64;

    use super::*;

    const INTERVALS: usize = 60;
    const INTERVAL_S: f64 = 0.02;
    const WARM_PER_S: f64 = 16.0 / 0.002;

    /// A server with 16 connections whose cache fills: a miss takes 8 ms, a hit 2 ms. Runs loops of 1.2 s until one is
    /// steady. Returns the measured throughput as a share of that of a full cache, and the number of loops.
    fn measured_share(fills_in_s: f64, number: u64) -> (f64, usize) {
        let rng = &mut Pcg64::seed_from_u64(number);
        let mut earlier = LoopSeries::default();
        for turn in 0.. {
            let mut series = LoopSeries::default();
            for interval in 0..INTERVALS {
                let at_s = (turn * INTERVALS + interval) as f64 * INTERVAL_S;
                let misses = (1.0 - at_s / fills_in_s).max(0.0);
                let operations =
                    Poisson::new(WARM_PER_S * INTERVAL_S / (1.0 + 4.0 * misses)).expect("a mean");
                series.throughput.push(operations.sample(rng) / INTERVAL_S);
                series.p99.push(if misses > 0.01 { 10_000.0 } else { 2_000.0 });
            }
            let check = LoopCheck::of(earlier, &series, SteadyQuantity::Operations, WarmUpGoal::Steady);
            if check.unsteady.is_none() {
                let measured = &series.throughput[check.cut..];
                return (measured.iter().sum::<f64>() / measured.len() as f64 / WARM_PER_S, turn + 1);
            }
            earlier = series;
        }
        unreachable!("a full cache is steady")
    }

    fn count_of_hundred(fills_in_s: f64, condition: impl Fn(f64, usize) -> bool) -> usize {
        (0..100)
            .map(|number| measured_share(fills_in_s, number))
            .filter(|(share, loops)| condition(*share, *loops))
            .count()
    }

    #[test]
    fn the_measurement_begins_when_the_cache_is_full() {
        for (fills_in_s, most_early) in [(0.5, 2), (1.0, 2), (2.0, 2), (3.0, 2), (4.0, 20)] {
            let early = count_of_hundred(fills_in_s, |share, _| share < 0.97);
            assert!(early <= most_early, "{early} of 100 measure while a cache of {fills_in_s} s fills");
            let loops_s = INTERVALS as f64 * INTERVAL_S;
            let late = count_of_hundred(fills_in_s, |_, loops| loops as f64 > fills_in_s / loops_s + 2.0);
            assert!(late <= 2, "{late} of 100 warm up for more than one loop after {fills_in_s} s");
        }
    }

    #[test]
    fn a_series_begins_with_the_first_reply_and_a_stall_has_the_times_of_the_operations_that_waited() {
        let p99 = [None, None, Some(30.0), None, Some(50.0), Some(31.0), None];
        assert_eq!(from_first_reply(p99), [30.0, 50.0, 50.0, 31.0, 31.0]);
        assert_eq!(from_first_reply([None, None]), Vec::<f64>::new());
    }

    #[test]
    fn a_loop_in_which_no_operation_ended_is_not_steady_whatever_the_goal() {
        for goal in [WarmUpGoal::Steady, WarmUpGoal::NoDrift] {
            let none = LoopSeries::default();
            let check = LoopCheck::of(none.clone(), &none, SteadyQuantity::Bytes, goal);
            assert_eq!(check.unsteady.as_deref(), Some("no operation ended within a loop of the warm-up"));
        }
    }

    #[test]
    fn a_server_that_stalls_for_a_quarter_of_the_loop_is_not_steady() {
        let mut series = LoopSeries { throughput: vec![400.0; INTERVALS], p99: vec![40_000.0; INTERVALS] };
        series.throughput[30..45].fill(0.0);
        series.p99[30..46].fill(300_000.0);
        let unsteady =
            |goal| LoopCheck::of(LoopSeries::default(), &series, SteadyQuantity::Operations, goal).unsteady;
        assert!(unsteady(WarmUpGoal::Steady).is_some());
    }

    #[test]
    fn a_warm_server_is_steady_after_one_loop() {
        assert!(count_of_hundred(f64::MIN_POSITIVE, |_, loops| loops == 1) >= 90);
    }
}
