//! Has the server settled? Throughput and p99 of a closed loop, interval by interval, held against
//! `stats::steady`; what came before the later of the two cuts counts for nothing.
//!
//! A server that warms up slowly hides in the noise of a short loop, the more so where half of that is cut away. A
//! cache that took 4 s to fill was called steady after 1.8 s, at 40 % of its throughput, three times out of three. So
//! the first loop must not drift as a whole either, and a loop that comes after one that was refused is judged together
//! with it. What takes longer to warm up than two loops is seen by a longer preset only.

use std::time::Duration;

use archive::model::WarmUpOutcome;
use load::engine::Outcome;
use load::record::{Interval, PackError};
use stats::steady::{DriftTolerance, SteadyState, UnsteadyReason, detect_steady_state, significant_drift};

use super::phases::{Observation, observations};

/// The first part in so many of the first loop is not expected to keep the level: connections have just been made.
const BEGINNING: usize = 10;

/// What was watched of a loop, an interval each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    throughput: Vec<f64>,
    p99: Vec<f64>,
}

/// A closed loop that was judged.
pub struct Settled {
    /// What was watched of it.
    pub seen: Seen,
    /// What was found.
    pub outcome: WarmUpOutcome,
    /// Why it has not settled, in a line; none if it has.
    pub unsteady: Option<String>,
    /// What was recorded after the cut.
    pub measured: Interval,
    /// How long that lasted.
    pub length: Duration,
}

/// What is watched until it has settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// How many operations end in an interval, and how long the slowest take.
    Operations,
    /// How many bytes come in an interval. An operation may take longer than that, so its times are told and not
    /// judged.
    Bytes,
}

impl Watched {
    /// How much of it there is in an interval.
    pub fn amount(self, stats: &Interval) -> f64 {
        match self {
            Self::Operations => stats.succeeded() as f64,
            Self::Bytes => stats.operations.iter().map(|op| op.bytes_received).sum::<u64>() as f64,
        }
    }
}

/// The 99th percentiles of intervals, from the first answer on. An interval without an answer has that of the next
/// answers, which are to operations that waited meanwhile; at the end it has that of the last. So a stall shows in both
/// series, and a disk that is flushed for 20 ms does not end a trial.
fn from_first_answer(p99: impl IntoIterator<Item = Option<f64>>) -> Vec<f64> {
    let mut p99: Vec<Option<f64>> = p99.into_iter().skip_while(Option::is_none).collect();
    let mut next = p99.iter().copied().flatten().next_back();
    for value in p99.iter_mut().rev() {
        next = value.or(next);
        *value = next;
    }
    p99.into_iter().flatten().collect()
}

/// Judges a run. `before` is load that the server had already, all of which counts as warm-up; `refused` is the loop
/// before this one, if there was one.
pub fn evaluate(
    run: &Outcome,
    before: Duration,
    refused: Option<Seen>,
    watched: Watched,
) -> Result<Settled, PackError> {
    let observations = observations(run)?;
    let p99 = from_first_answer(observations.iter().map(|o| p99_of(&o.stats)));
    // All connections begin at once: until the first operation has ended there is nothing to be watched.
    let opening = observations.len() - p99.len();
    let per_s = |o: &Observation| watched.amount(&o.stats) / o.length.as_secs_f64();
    let seen = Seen { throughput: observations[opening..].iter().map(per_s).collect(), p99 };
    let Judged { throughput, p99, unsteady, cut } = Judged::of(refused.unwrap_or_default(), &seen, watched);
    let cut = opening + cut;
    let mut measured = Interval::new(run.operations.len(), run.counters.len());
    observations[cut.min(observations.len())..].iter().for_each(|o| measured.append(&o.stats));
    let interval = run.spec.interval;
    Ok(Settled {
        seen,
        outcome: WarmUpOutcome {
            discarded_s: (before + interval * cut as u32).as_secs_f64(),
            interval_s: interval.as_secs_f64(),
            throughput,
            p99,
        },
        unsteady,
        measured,
        length: interval * observations.len().saturating_sub(cut) as u32,
    })
}

/// What both series say together.
struct Judged {
    throughput: SteadyState,
    p99: SteadyState,
    unsteady: Option<String>,
    /// Intervals of the last loop that do not count.
    cut: usize,
}

impl Judged {
    fn of(mut refused: Seen, seen: &Seen, watched: Watched) -> Self {
        let earlier = refused.throughput.len();
        refused.throughput.extend(&seen.throughput);
        refused.p99.extend(&seen.p99);
        let throughput = detect_steady_state(&refused.throughput, DriftTolerance::THROUGHPUT);
        let p99 = detect_steady_state(&refused.p99, DriftTolerance::PERCENTILE);
        let judged = match watched {
            Watched::Operations => &[("throughput", &throughput), ("p99", &p99)][..],
            Watched::Bytes => &[("throughput", &throughput)],
        };
        let refuse = |name: &str, reason: &UnsteadyReason| format!("{name} did not settle: {reason}");
        let as_a_whole = || {
            let series = &seen.throughput[seen.throughput.len() / BEGINNING..];
            let relative =
                (earlier == 0).then(|| significant_drift(series, DriftTolerance::THROUGHPUT)).flatten()?;
            Some(refuse("throughput", &UnsteadyReason::Drifting { relative }))
        };
        let unsteady = judged
            .iter()
            .find_map(|(name, state)| match state {
                SteadyState::Steady { .. } => None,
                SteadyState::NotSteady { reason } => Some(refuse(name, reason)),
            })
            .or_else(as_a_whole);
        let cut = judged.iter().map(|(_, state)| discarded(state)).max().unwrap_or(0).saturating_sub(earlier);
        Self { throughput, p99, unsteady, cut }
    }
}

fn discarded(state: &SteadyState) -> usize {
    match state {
        SteadyState::Steady { discard, .. } => *discard,
        SteadyState::NotSteady { .. } => 0,
    }
}

/// None where nothing was answered.
fn p99_of(stats: &Interval) -> Option<f64> {
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

    /// Loops of 1.2 s on a server of 16 connections whose misses cost 8 ms and whose hits 2 ms, while its cache fills:
    /// the throughput that counts, as a share of what a full cache gives, and after how many loops.
    fn counted(fills_in_s: f64, number: u64) -> (f64, usize) {
        let rng = &mut Pcg64::seed_from_u64(number);
        let mut refused = Seen::default();
        for turn in 0.. {
            let mut seen = Seen::default();
            for interval in 0..INTERVALS {
                let at_s = (turn * INTERVALS + interval) as f64 * INTERVAL_S;
                let misses = (1.0 - at_s / fills_in_s).max(0.0);
                let operations =
                    Poisson::new(WARM_PER_S * INTERVAL_S / (1.0 + 4.0 * misses)).expect("a mean");
                seen.throughput.push(operations.sample(rng) / INTERVAL_S);
                seen.p99.push(if misses > 0.01 { 10_000.0 } else { 2_000.0 });
            }
            let judged = Judged::of(refused, &seen, Watched::Operations);
            if judged.unsteady.is_none() {
                let counts = &seen.throughput[judged.cut..];
                return (counts.iter().sum::<f64>() / counts.len() as f64 / WARM_PER_S, turn + 1);
            }
            refused = seen;
        }
        unreachable!("a full cache is steady")
    }

    fn of_hundred(fills_in_s: f64, is_so: impl Fn(f64, usize) -> bool) -> usize {
        (0..100)
            .map(|number| counted(fills_in_s, number))
            .filter(|(share, loops)| is_so(*share, *loops))
            .count()
    }

    #[test]
    fn what_counts_begins_when_the_cache_is_full() {
        for (fills_in_s, most_early) in [(0.5, 2), (1.0, 2), (2.0, 2), (3.0, 2), (4.0, 20)] {
            let early = of_hundred(fills_in_s, |share, _| share < 0.97);
            assert!(early <= most_early, "{early} of 100 count while a cache of {fills_in_s} s fills");
            let loops_s = INTERVALS as f64 * INTERVAL_S;
            let late = of_hundred(fills_in_s, |_, loops| loops as f64 > fills_in_s / loops_s + 2.0);
            assert!(late <= 2, "{late} of 100 go on for more than a loop after {fills_in_s} s");
        }
    }

    #[test]
    fn a_loop_is_watched_from_its_first_answer_on_and_a_stall_has_the_times_of_those_who_waited() {
        let p99 = [None, None, Some(30.0), None, Some(50.0), Some(31.0), None];
        assert_eq!(from_first_answer(p99), [30.0, 50.0, 50.0, 31.0, 31.0]);
        assert_eq!(from_first_answer([None, None]), Vec::<f64>::new());
    }

    #[test]
    fn a_server_that_stands_still_for_a_part_of_the_loop_has_not_settled() {
        let mut seen = Seen { throughput: vec![400.0; INTERVALS], p99: vec![40_000.0; INTERVALS] };
        seen.throughput[30..45].fill(0.0);
        seen.p99[30..46].fill(300_000.0);
        assert!(Judged::of(Seen::default(), &seen, Watched::Operations).unsteady.is_some());
    }

    #[test]
    fn a_server_that_is_warm_from_the_start_takes_one_loop() {
        assert!(of_hundred(f64::MIN_POSITIVE, |_, loops| loops == 1) >= 90);
    }
}
