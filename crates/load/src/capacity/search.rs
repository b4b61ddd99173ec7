//! A search for the capacities of one or several servers, slice by slice: a [`Staircase`] chooses the rates, each slice is
//! compared with the objective, and the slices of one rate are kept together. Whoever runs the slices asks for the rates of a
//! round, adds its slices, and ends it; so `load --find-capacity`, `compare` and `sweep` search alike.

use std::collections::BTreeMap;

use stats::confidence::ConfidenceInterval;

use super::evaluate::{StepEvaluation, StepOutcome, evaluate};
use super::staircase::{FirstGuess, SlicedCapacity, Staircase};
use crate::inputs::slo::Slo;
use crate::slices::{MergedSlices, Slice};
use crate::summary::Summary;

/// Most rounds before the rounds count, for any number of these.
const MOST_APPROACH_ROUNDS: usize = 40;
/// Where a search has a time, at least this many tenths of its rounds are near the capacity, and this many rounds, however
/// long the approach.
const LEAST_TENTHS_NEAR: u32 = 7;
const FEWEST_NEAR: u32 = 8;
/// Width of a bin of rates, as a logarithm: the slices whose rates are in one bin are one point of the curve.
const BIN: f64 = 0.04;
/// The response time at the capacity is that of the slices from this many bins below it.
const BINS_BELOW: i64 = 3;
/// Rates of the curve, as shares of the capacity. Response time bends in the upper half, so three of four are there.
pub const CURVE_SHARES: [f64; 4] = [0.25, 0.5, 0.75, 0.9];

/// How many rounds a search has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchLength {
    /// This many near the capacity.
    Near(u32),
    /// This many with the approach; seven tenths of it, and eight, are near the capacity at least.
    InAll(u32),
}

impl SearchLength {
    /// Rounds near the capacity with which the search ends.
    fn near(self) -> usize {
        let rounds = match self {
            Self::Near(rounds) => rounds,
            Self::InAll(rounds) => rounds.max(FEWEST_NEAR),
        };
        rounds as usize
    }

    /// Rounds near the capacity without which it does not end.
    fn least_near(self) -> usize {
        let rounds = match self {
            Self::Near(rounds) => rounds,
            Self::InAll(rounds) => (rounds * LEAST_TENTHS_NEAR).div_ceil(10).max(FEWEST_NEAR),
        };
        rounds as usize
    }
}

/// A search under way.
pub struct CapacitySearch<'s> {
    slo: &'s Slo,
    staircase: Staircase,
    length: SearchLength,
    rounds: usize,
    /// Of the round under way.
    outcomes: Vec<Option<StepOutcome>>,
    slices: Vec<SlicesByRate>,
}

/// What a search has found of one server.
pub struct SearchedCapacity {
    /// Its capacity.
    pub capacity: SlicedCapacity,
    /// The 95 % interval of it, operations a second, of this search; none where there are too few rounds, or the client was
    /// the limit.
    pub interval: Option<ConfidenceInterval>,
    /// The slices at rates from just below the capacity to some 15 % below: those that met the objective have the response times at it.
    pub at_capacity: Option<RatedSlices>,
    /// The other slices, from the lowest rate to the highest.
    pub others: Vec<RatedSlices>,
}

/// Slices at about one rate, one at least.
pub struct RatedSlices {
    /// Those that met the objective.
    pub met: Option<MergedSlices>,
    /// The others.
    pub not_met: Option<MergedSlices>,
    /// How many missed the objective.
    pub missed: u32,
    /// In how many the client was the limit.
    pub client_limited: u32,
    ln_rates: f64,
}

impl<'s> CapacitySearch<'s> {
    /// A search of this length, with a server for each guess.
    pub fn new(slo: &'s Slo, guesses: &[FirstGuess], length: SearchLength) -> Self {
        Self {
            slo,
            staircase: Staircase::new(guesses),
            length,
            rounds: 0,
            outcomes: vec![None; guesses.len()],
            slices: guesses.iter().map(|_| SlicesByRate::default()).collect(),
        }
    }

    /// The rate of each server in the next round, operations a second; none for one that meets the objective at no rate.
    /// None at all if the search is over.
    pub fn next_rates(&self) -> Option<Vec<Option<f64>>> {
        let (near, counted) = (self.length.near(), self.staircase.rounds());
        let is_over = counted >= near
            || (counted >= self.length.least_near() && self.rounds >= near)
            || self.rounds >= 2 * near + MOST_APPROACH_ROUNDS;
        let rates = self.staircase.rates();
        (!is_over && rates.iter().any(Option::is_some)).then_some(rates)
    }

    /// Rounds so far.
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    /// Rounds near the capacity so far and at most, while the rates are near it.
    pub fn counted(&self) -> Option<(usize, usize)> {
        self.staircase.is_near().then_some((self.staircase.rounds(), self.length.near()))
    }

    /// Adds a server's slice of this round, at its rate.
    pub fn add(&mut self, server: usize, rate_per_s: f64, slice: Slice) -> (StepEvaluation, Summary) {
        let summary = Summary::of(&slice.outcome);
        let evaluation = evaluate(self.slo, &slice.outcome, &summary);
        let outcome = evaluation.outcome();
        self.outcomes[server] = Some(outcome);
        self.slices[server].add(rate_per_s, outcome, slice);
        (evaluation, summary)
    }

    /// A server that has failed loses its measurement, and the others go on.
    pub fn fail(&mut self, server: usize) {
        self.outcomes[server] = None;
        self.staircase.give_up(server);
    }

    /// Ends a round.
    pub fn end_round(&mut self) {
        self.rounds += 1;
        self.staircase.record(&self.outcomes);
        self.outcomes.fill(None);
    }

    /// What the search has found.
    pub fn finish(self) -> Vec<SearchedCapacity> {
        let found = self.staircase.capacities().into_iter().zip(self.staircase.intervals());
        let searched = |((capacity, interval), mut slices): ((SlicedCapacity, Option<_>), SlicesByRate)| {
            SearchedCapacity {
                capacity,
                interval: interval.filter(|_| matches!(capacity, SlicedCapacity::Found(_))),
                at_capacity: capacity.rate_per_s().and_then(|rate| slices.take_near(rate)),
                others: slices.0.into_values().collect(),
            }
        };
        found.zip(self.slices).map(searched).collect()
    }
}

impl RatedSlices {
    /// The first slice at a rate.
    fn new(rate_per_s: f64, outcome: StepOutcome, slice: Slice) -> Self {
        let slice = Some(MergedSlices::from(slice));
        let (met, not_met) = if outcome == StepOutcome::Met { (slice, None) } else { (None, slice) };
        Self {
            met,
            not_met,
            missed: u32::from(outcome == StepOutcome::Missed),
            client_limited: u32::from(outcome == StepOutcome::ClientLimited),
            ln_rates: rate_per_s.ln(),
        }
    }

    /// Adds a slice at a rate to those before.
    pub fn add(slices: &mut Option<Self>, rate_per_s: f64, outcome: StepOutcome, slice: Slice) {
        let new = Self::new(rate_per_s, outcome, slice);
        match slices {
            None => *slices = Some(new),
            Some(all) => all.join(new),
        }
    }

    /// Number of slices.
    pub fn count(&self) -> u32 {
        self.met.iter().chain(&self.not_met).map(|slices| slices.count).sum()
    }

    /// The mean of their rates, operations a second.
    pub fn rate_per_s(&self) -> f64 {
        (self.ln_rates / f64::from(self.count())).exp()
    }

    /// All of them.
    pub fn merged(self) -> MergedSlices {
        let mut merged = self.met;
        MergedSlices::join_all(&mut merged, self.not_met);
        merged.expect("one slice at least")
    }

    fn join(&mut self, other: Self) {
        MergedSlices::join_all(&mut self.met, other.met);
        MergedSlices::join_all(&mut self.not_met, other.not_met);
        self.missed += other.missed;
        self.client_limited += other.client_limited;
        self.ln_rates += other.ln_rates;
    }
}

/// The slices of one server by rate.
#[derive(Default)]
struct SlicesByRate(BTreeMap<i64, RatedSlices>);

impl SlicesByRate {
    fn bin(rate: f64) -> i64 {
        (rate.ln() / BIN).floor() as i64
    }

    fn add(&mut self, rate: f64, outcome: StepOutcome, slice: Slice) {
        let mut slices = self.0.remove(&Self::bin(rate));
        RatedSlices::add(&mut slices, rate, outcome, slice);
        self.0.extend(slices.map(|slices| (Self::bin(rate), slices)));
    }

    /// Takes the slices at a rate and a little below it; those with the next lower rate where there are none, or the next
    /// higher one.
    fn take_near(&mut self, rate: f64) -> Option<RatedSlices> {
        let bin = Self::bin(rate);
        let mut near: Vec<i64> = self.0.range(bin - BINS_BELOW..bin).map(|(bin, _)| *bin).collect();
        if near.is_empty() {
            let below = self.0.range(..bin).next_back();
            near.extend(below.or(self.0.range(bin..).next()).map(|(bin, _)| *bin));
        }
        near.into_iter().filter_map(|bin| self.0.remove(&bin)).reduce(|mut all, next| {
            all.join(next);
            all
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::example;

    /// A slice of a server that answers in 1 ms up to this rate, and in 8 ms beyond.
    fn slice(rate: f64, capacity: f64, number: usize) -> Slice {
        let mut outcome = example::outcome();
        if rate > capacity {
            let operation = &mut outcome.total.operations[0];
            operation.response_time.record_n(8_000, 1_000).expect("a time");
            operation.server_time.record_n(8_000, 1_000).expect("a time");
        }
        let start = Duration::from_secs(20 * number as u64);
        Slice { start, under_load: outcome.measured, outcome }
    }

    fn slo() -> Slo {
        "p99<5ms".parse().expect("an objective")
    }

    fn search(capacities: &[f64], near: u32) -> Vec<SearchedCapacity> {
        let slo = slo();
        let guesses: Vec<_> = capacities.iter().map(|_| FirstGuess::ClosedLoop(1_000.0)).collect();
        let mut search = CapacitySearch::new(&slo, &guesses, SearchLength::Near(near));
        while let Some(rates) = search.next_rates() {
            for (server, rate) in rates.into_iter().enumerate() {
                match rate {
                    Some(rate) if capacities[server] > 0.0 => {
                        search.add(server, rate, slice(rate, capacities[server], search.rounds()));
                    }
                    _ => search.fail(server),
                }
            }
            search.end_round();
        }
        search.finish()
    }

    #[test]
    fn a_search_finds_capacities_with_their_intervals_and_keeps_every_slice_by_rate() {
        for (found, capacity) in search(&[900.0, 1_500.0], 30).into_iter().zip([900.0, 1_500.0]) {
            let rate = found.capacity.rate_per_s().expect("a capacity");
            assert!((rate / capacity - 1.0).abs() < 0.04, "{rate} of {capacity}");
            let interval = found.interval.expect("an interval");
            assert!(interval.low <= rate && rate <= interval.high, "{interval:?}");
            let at = found.at_capacity.expect("slices at the capacity");
            assert!(at.met.is_some() && at.missed == 0, "this server misses no objective below its capacity");
            assert!(at.rate_per_s() <= rate && at.rate_per_s() > 0.85 * rate, "{}", at.rate_per_s());
            let rates: Vec<f64> = found.others.iter().map(RatedSlices::rate_per_s).collect();
            assert!(rates.is_sorted(), "{rates:?}");
            assert!(found.others.iter().any(|slices| slices.missed > 0));
            let slices: u32 = found.others.iter().chain([&at]).map(RatedSlices::count).sum();
            assert!(slices >= 30, "{slices}");
        }
    }

    #[test]
    fn slices_of_one_rate_are_kept_apart_by_what_they_say() {
        let mut slices = None;
        for (number, capacity) in [(0, 900.0), (1, 700.0), (2, 900.0)] {
            let outcome = if capacity > 800.0 { StepOutcome::Met } else { StepOutcome::Missed };
            RatedSlices::add(&mut slices, 800.0, outcome, slice(800.0, capacity, number));
        }
        let slices = slices.expect("slices");
        assert_eq!((slices.count(), slices.missed), (3, 1));
        let longest = |merged: &MergedSlices| merged.outcome.total.operations[0].response_time.max();
        assert!(slices.met.as_ref().is_some_and(|met| met.count == 2 && longest(met) < 5_000));
        assert!(
            slices.not_met.as_ref().is_some_and(|not_met| not_met.count == 1 && longest(not_met) > 5_000)
        );
        assert_eq!(slices.merged().count, 3);
    }

    #[test]
    fn a_server_that_has_failed_leaves_the_others_their_search() {
        let found = search(&[0.0, 900.0], 12);
        assert_eq!(found[0].capacity, SlicedCapacity::NoRateMeets);
        assert!(found[0].at_capacity.is_none() && found[0].interval.is_none());
        assert!(matches!(found[1].capacity, SlicedCapacity::Found(_)));
    }

    #[test]
    fn a_capacity_that_the_client_limits_has_no_interval() {
        let slo = slo();
        let mut search =
            CapacitySearch::new(&slo, &[FirstGuess::ClosedLoop(1_000.0)], SearchLength::Near(20));
        while let Some(rates) = search.next_rates() {
            let rate = rates[0].expect("a rate");
            let mut slice = slice(rate, 900.0, search.rounds());
            if rate > 900.0 {
                // Only late sends make it miss the objective.
                slice.outcome.total.operations[0].server_time.reset();
            }
            search.add(0, rate, slice);
            search.end_round();
        }
        let found = search.finish().remove(0);
        assert!(matches!(found.capacity, SlicedCapacity::AtLeast(_)), "{:?}", found.capacity);
        assert!(found.interval.is_none() && found.others.iter().any(|slices| slices.client_limited > 0));
    }

    /// Searches one capacity; returns the number of rounds near it, and of all.
    fn rounds_of(first: FirstGuess, capacity: f64, length: SearchLength) -> (usize, usize) {
        let slo = slo();
        let mut search = CapacitySearch::new(&slo, &[first], length);
        while let Some(rates) = search.next_rates() {
            let rate = rates[0].expect("a rate");
            search.add(0, rate, slice(rate, capacity, search.rounds()));
            search.end_round();
        }
        assert!(matches!(search.staircase.capacities()[0], SlicedCapacity::Found(_)));
        (search.staircase.rounds(), search.rounds())
    }

    #[test]
    fn the_approach_takes_up_to_three_tenths_of_a_search_that_has_a_time() {
        let length = SearchLength::InAll(20);
        let (counted, all) = rounds_of(FirstGuess::Near(900.0), 900.0, length);
        assert!((15..20).contains(&counted) && all == 20, "{counted} of {all}");
        let (counted, all) = rounds_of(FirstGuess::ClosedLoop(900.0), 50.0, length);
        assert!(counted == 14 && all > 20, "{counted} of {all}");
        let (counted, all) = rounds_of(FirstGuess::ClosedLoop(900.0), 50.0, SearchLength::Near(20));
        assert!(counted == 20 && all > 26, "{counted} of {all}");
    }

    #[test]
    fn a_search_ends() {
        assert_eq!(search(&[0.0], 12)[0].capacity, SlicedCapacity::NoRateMeets);
        let slo = slo();
        let mut search =
            CapacitySearch::new(&slo, &[FirstGuess::ClosedLoop(1_000.0)], SearchLength::Near(20));
        let mut rounds = 0;
        // Outcomes that say nothing of a capacity: every other slice misses.
        while let Some(rates) = search.next_rates() {
            let rate = rates[0].expect("a rate");
            search.add(0, rate, slice(rate, if rounds % 2 == 0 { 0.0 } else { f64::INFINITY }, rounds));
            search.end_round();
            rounds += 1;
            assert!(rounds <= 2 * 20 + MOST_APPROACH_ROUNDS);
        }
    }
}
