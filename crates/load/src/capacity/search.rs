//! Searches for the capacities of one or several servers, slice by slice: a [`LevelSearch`] of each has its rates, each slice
//! is compared with the objective, and the slices of one rate are kept together. Whoever runs the slices asks for those of a
//! round, and adds them; so `load --find-capacity`, `compare` and `sweep` search alike.

use std::collections::BTreeMap;
use std::time::Duration;

use stats::confidence::ConfidenceInterval;
use stats::describe::Sample;

use super::budget::BudgetUse;
use super::closed_loop::StartingLoop;
use super::evaluate::{StepEvaluation, evaluate};
use super::levels::{LevelPlan, LevelSearch, NextSlice, SliceSpending, Soak, SustainedCapacity};
use crate::inputs::slo::Slo;
use crate::outcome::summary::Summary;
use crate::session::slices::{MergedSlices, Slice};

/// Width of a bin of rates, as a logarithm: the levels whose rates are in one bin are one point of the curve.
const BIN: f64 = 0.04;
/// The response time at the capacity is that of the levels whose rates are this near, as a logarithm.
const AT_CAPACITY: f64 = 0.09;
/// Rates of the curve, as shares of the capacity.
pub const CURVE_SHARES: [f64; 4] = [0.25, 0.5, 0.7, 0.85];

/// Searches under way.
pub struct CapacitySearch<'s> {
    slo: &'s Slo,
    servers: Vec<SearchedServer>,
}

struct SearchedServer {
    search: LevelSearch,
    has_failed: bool,
    levels: BTreeMap<i64, RatedSlices>,
    /// The share of its CPUs that the client used in each slice in which it was the limit.
    client_use: Vec<f64>,
}

/// What a search has found of one server.
pub struct SearchedCapacity {
    /// Its capacity.
    pub capacity: SustainedCapacity,
    /// The 95 % interval of it, operations a second, of this search; none where there are too few cycles, or the client was
    /// the limit.
    pub interval: Option<ConfidenceInterval>,
    /// The last load at the capacity, without a break; none where the plan has none, or the client was the limit.
    pub soak: Option<Soak>,
    /// The levels at about the capacity: all operations that fell due at these rates.
    pub at_capacity: Option<RatedSlices>,
    /// The other levels, from the lowest rate to the highest.
    pub others: Vec<RatedSlices>,
    /// The mean share of its CPUs that the client used in the slices in which it was the limit; none where it never was.
    pub client_use: Option<f64>,
}

/// Slices at about one rate, one at least.
pub struct RatedSlices {
    /// Those that count.
    counted: Option<MergedSlices>,
    /// Those in which the client was the limit.
    limited: Option<MergedSlices>,
    /// What those that count spent of the objective's budget.
    pub spent: BudgetUse,
    ln_rates: f64,
}

impl<'s> CapacitySearch<'s> {
    /// Searches for servers with these closed loops. All have their levels in the same order, so that what happens to the machine meets
    /// them at the same share.
    pub fn new(slo: &'s Slo, closed_loops: Vec<StartingLoop>, plan: LevelPlan, seed: u64) -> Self {
        let server = |closed_loop: StartingLoop| SearchedServer {
            search: LevelSearch::new(&closed_loop, plan, seed),
            has_failed: false,
            levels: BTreeMap::new(),
            client_use: Vec::new(),
        };
        Self { slo, servers: closed_loops.into_iter().map(server).collect() }
    }

    /// The slice of each server in the next round; none for one whose search is over. None at all if all are.
    pub fn next(&self) -> Option<Vec<Option<NextSlice>>> {
        let next = |server: &SearchedServer| server.search.next().filter(|_| !server.has_failed);
        let round: Vec<Option<NextSlice>> = self.servers.iter().map(next).collect();
        round.iter().any(Option::is_some).then_some(round)
    }

    /// How much of the searches is done, 0 to 1.
    pub fn progress(&self) -> f64 {
        let searches = self.servers.iter().filter(|server| !server.has_failed).map(|server| &server.search);
        searches.map(LevelSearch::progress).fold(1.0, f64::min)
    }

    /// About how much own time is left of the longest search.
    pub fn left(&self) -> Duration {
        let searches = self.servers.iter().filter(|server| !server.has_failed).map(|server| &server.search);
        searches.map(LevelSearch::left).max().unwrap_or_default()
    }

    /// Adds the slice of a server in this round.
    pub fn add(&mut self, server: usize, next: NextSlice, slice: Slice) -> (StepEvaluation, Summary) {
        let summary = Summary::of(&slice.outcome);
        let evaluation = evaluate(self.slo, &slice.outcome, &summary);
        let server = &mut self.servers[server];
        let spending = SliceSpending {
            own_time: slice.outcome.own_time(),
            drain: slice.outcome.draining,
            spent: evaluation.spent.clone(),
            is_client_limited: evaluation.is_client_limited(),
        };
        if spending.is_client_limited {
            server.client_use.push(slice.outcome.utilisation());
        }
        server.search.add(&spending);
        let bin = (next.rate_per_s.ln() / BIN).floor() as i64;
        let mut slices = server.levels.remove(&bin);
        RatedSlices::add(&mut slices, next.rate_per_s, &evaluation, slice);
        server.levels.extend(slices.map(|slices| (bin, slices)));
        (evaluation, summary)
    }

    /// A server that has failed loses its measurement, and the others go on.
    pub fn fail(&mut self, server: usize) {
        self.servers[server].has_failed = true;
    }

    /// What the searches have found.
    pub fn finish(self) -> Vec<SearchedCapacity> {
        self.servers.into_iter().map(SearchedServer::finish).collect()
    }
}

impl SearchedServer {
    fn finish(mut self) -> SearchedCapacity {
        let capacity = if self.has_failed { SustainedCapacity::NoRateMeets } else { self.search.capacity() };
        let interval = matches!(capacity, SustainedCapacity::Found(_)).then(|| self.search.interval());
        let soak = self.search.soaked();
        let rate = soak.as_ref().map(|soak| soak.rate_per_s).or(capacity.rate_per_s());
        let at_capacity = rate.and_then(|rate| self.take_near(rate));
        SearchedCapacity {
            capacity,
            interval: interval.flatten(),
            soak,
            at_capacity,
            others: self.levels.into_values().collect(),
            client_use: Sample::new(&self.client_use).ok().map(|sample| sample.mean()),
        }
    }

    /// Takes the levels at about a rate; the nearest one where there is none.
    fn take_near(&mut self, rate: f64) -> Option<RatedSlices> {
        let distance = |slices: &RatedSlices| (slices.rate_per_s() / rate).ln().abs();
        let nearest = self.levels.values().map(distance).min_by(f64::total_cmp)?;
        let reach = nearest.max(AT_CAPACITY);
        let (near, others) = std::mem::take(&mut self.levels)
            .into_iter()
            .partition::<BTreeMap<_, _>, _>(|(_, slices)| distance(slices) <= reach);
        self.levels = others;
        near.into_values().reduce(|mut all, next| {
            all.join(next);
            all
        })
    }
}

impl RatedSlices {
    /// Adds a slice at a rate to those before.
    pub fn add(slices: &mut Option<Self>, rate_per_s: f64, evaluation: &StepEvaluation, slice: Slice) {
        let slice = Some(MergedSlices::from(slice));
        let (counted, limited) = if evaluation.is_client_limited() { (None, slice) } else { (slice, None) };
        let spent = if counted.is_some() { evaluation.spent.clone() } else { BudgetUse::default() };
        let new = Self { counted, limited, spent, ln_rates: rate_per_s.ln() };
        match slices {
            None => *slices = Some(new),
            Some(all) => all.join(new),
        }
    }

    /// Number of slices.
    pub fn count(&self) -> u32 {
        self.counted.iter().chain(&self.limited).map(|slices| slices.count).sum()
    }

    /// In how many of them the client was the limit.
    pub fn client_limited(&self) -> u32 {
        self.limited.as_ref().map_or(0, |slices| slices.count)
    }

    /// The mean of their rates, operations a second.
    pub fn rate_per_s(&self) -> f64 {
        (self.ln_rates / f64::from(self.count())).exp()
    }

    /// Those that count, where there are some; otherwise those in which the client was the limit.
    pub fn merged(self) -> MergedSlices {
        self.counted.or(self.limited).expect("one slice at least")
    }

    fn join(&mut self, other: Self) {
        MergedSlices::join_all(&mut self.counted, other.counted);
        MergedSlices::join_all(&mut self.limited, other.limited);
        self.spent.add(&other.spent);
        self.ln_rates += other.ln_rates;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::example;

    /// A slice of a server that answers in 1 ms up to this rate; beyond, ever more operations take 8 ms.
    fn slice(rate: f64, capacity: f64, number: usize) -> Slice {
        let mut outcome = example::outcome();
        let late = (100.0 * (rate / capacity).powi(8)).min(5_000.0) as u64;
        let operation = &mut outcome.total.operations[0];
        operation.response_time.record_n(8_000, late).expect("a time");
        operation.server_time.record_n(8_000, late).expect("a time");
        outcome.measured = Duration::from_millis(100);
        let start = Duration::from_secs(20 * number as u64);
        Slice { start, under_load: outcome.measured, outcome }
    }

    fn slo() -> Slo {
        "p99<5ms".parse().expect("an objective")
    }

    const PLAN: LevelPlan = LevelPlan {
        load: Duration::from_secs(5),
        limit: Duration::from_millis(5),
        soak: Duration::ZERO,
        most_soaks: 0,
    };

    const CLOSED_LOOP: f64 = 1_600.0;

    fn search(capacities: &[f64]) -> Vec<SearchedCapacity> {
        let slo = slo();
        let mut search =
            CapacitySearch::new(&slo, vec![StartingLoop::at(CLOSED_LOOP); capacities.len()], PLAN, 1);
        let mut number = 0;
        while let Some(round) = search.next() {
            number += 1;
            assert!(number < 10_000, "a search ends");
            for (server, next) in round.into_iter().enumerate() {
                match next {
                    Some(next) if capacities[server] > 0.0 => {
                        search.add(server, next, slice(next.rate_per_s, capacities[server], number));
                    }
                    Some(_) => search.fail(server),
                    None => {}
                }
            }
        }
        search.finish()
    }

    #[test]
    fn a_search_finds_capacities_with_their_intervals_and_keeps_every_slice_by_rate() {
        for (found, capacity) in search(&[900.0, 1_400.0]).into_iter().zip([900.0, 1_400.0]) {
            let rate = found.capacity.rate_per_s().expect("a capacity");
            assert!((rate / capacity - 1.0).abs() < 0.05, "{rate} of {capacity}");
            let interval = found.interval.expect("an interval");
            assert!(interval.low <= rate && rate <= interval.high, "{interval:?}");
            let at = found.at_capacity.expect("levels at the capacity");
            assert!((at.rate_per_s() / rate).ln().abs() <= 0.2, "{}", at.rate_per_s());
            let burn = at.spent.burn_rate().expect("a burn rate");
            assert!((0.2..4.0).contains(&burn), "about the budget is spent at the capacity: {burn}");
            let rates: Vec<f64> = found.others.iter().map(RatedSlices::rate_per_s).collect();
            assert!(rates.is_sorted() && !rates.is_empty(), "{rates:?}");
        }
    }

    #[test]
    fn a_server_that_has_failed_leaves_the_others_their_search() {
        let found = search(&[0.0, 900.0]);
        assert_eq!(found[0].capacity, SustainedCapacity::NoRateMeets);
        assert!(found[0].at_capacity.is_none() && found[0].interval.is_none());
        assert!(matches!(found[1].capacity, SustainedCapacity::Found(_)));
    }

    #[test]
    fn a_capacity_that_the_client_limits_is_a_bound_without_an_interval() {
        let slo = slo();
        let mut search = CapacitySearch::new(&slo, vec![StartingLoop::at(CLOSED_LOOP)], PLAN, 1);
        let mut number = 0;
        while let Some(round) = search.next() {
            let next = round[0].expect("a slice");
            let mut slice = slice(next.rate_per_s, 1e6, number);
            if next.rate_per_s > 900.0 {
                slice.outcome.total.client.lag.record_n(9_000, 5_000).expect("a time");
            }
            search.add(0, next, slice);
            number += 1;
            assert!(number < 10_000, "a search ends");
        }
        let found = search.finish().remove(0);
        let SustainedCapacity::AtLeast(rate) = found.capacity else { panic!("{:?}", found.capacity) };
        assert!((500.0..=900.0).contains(&rate) && found.interval.is_none(), "{rate}");
        let client_limited = |slices: &RatedSlices| slices.client_limited();
        assert!(found.others.iter().map(client_limited).sum::<u32>() > 0);
        let used = found.client_use.expect("what the client used");
        assert!((used - example::outcome().utilisation()).abs() < 1e-9, "{used}");
    }
}
