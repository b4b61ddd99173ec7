//! The capacity of one server under sustained load: which rate its next slice has, and what its slices have spent of the error
//! budget. Pure, so that tests run it against scripted servers.
//!
//! A cycle has a level at each of a fixed list of shares of the server's closed loop, in random order, and the search repeats the
//! cycle. A level is one continuous load in the server's own time: what falls due while a slice drains is sent when the next one
//! begins. It ends when the server has caught up, so that no level inherits the queue of another, and each has all that it
//! caused. [`stats::error_budget`] says where the budget is spent exactly.
//!
//! The rates do not depend on what was late before. A search that moved towards the capacity was tried: on a machine that stalls now
//! and then, one bad second at the beginning kept it at a tenth of the capacity, in all blocks. So was a cycle from the lowest
//! level up that began anew where a level was far too high: a pause began it anew, so the lowest levels always came just after
//! one, and a server that pauses every 20,000 operations was found 1.7 times too high (decision 0033).
//!
//! A slice in which the client was the limit says nothing about the server and is left out, by what the client did alone. A
//! level with more such slices than others is one that the client cannot offer.

use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use stats::confidence::{Confidence, ConfidenceInterval};
use stats::error_budget::{Arrivals, BudgetCurve, Spending, by_bound};

use super::budget::BudgetUse;
use super::closed_loop::StartingLoop;
pub use super::sustained::SustainedCapacity;
use crate::inputs::slo::Slo;
use crate::session::slices::SliceLength;

/// The rates of a cycle, as shares of the closed loop's throughput. The knee of a server lies at 0.7 to 1.1 of it: there they are
/// denser. Servers that pause spend their budget below.
const LEVELS: [f64; 9] = [0.1, 0.25, 0.45, 0.6, 0.7, 0.78, 0.86, 0.94, 1.02];
/// Where even the lowest level spends more than the budget, the next cycle begins at this share of it.
const LOWER: f64 = 0.4;
/// A capacity may lie this far below the lowest rate that was tried.
const BELOW_TRIED: f64 = 0.5;
/// There is no search for a capacity below this share of the closed loop's throughput.
const LOWEST_SHARE: f64 = 1e-3;
/// A server that falls further behind in this many slices in a row does not catch up: its level ends.
const FALLING_BEHIND: u32 = 3;
/// Slices in which a server may catch up at the end of a level.
const MOST_CLOSING: u32 = 20;
/// Least own time of a level, also in multiples of the time limit: a queue must have time to grow beyond it.
const SHORTEST_LEVEL: Duration = Duration::from_millis(150);
const LEVEL_OVER_LIMIT: u32 = 12;
/// Slices of a level of a server that is loaded without others.
const SLICES_OF_LEVEL_ALONE: u32 = 5;
/// Cycles of a search that has time for them. Their scatter is that of its capacity.
const CYCLES: u32 = 6;

/// How long a search is, in the server's own time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelPlan {
    /// Own time in all. A search has one cycle at least.
    pub load: Duration,
    /// The time limit of the objective.
    pub limit: Duration,
}

impl LevelPlan {
    /// A search of this length for an objective.
    pub fn new(load: Duration, slo: &Slo) -> Self {
        let limit_us = slo.latency_limit_us().unwrap_or_default();
        Self { load, limit: Duration::from_secs_f64(limit_us / 1e6) }
    }

    /// Own time of a level.
    pub fn level(&self) -> Duration {
        let least = SHORTEST_LEVEL.max(self.limit * LEVEL_OVER_LIMIT);
        (self.load / (LEVELS.len() as u32 * CYCLES)).max(least)
    }

    /// The slices of a server that is loaded without others: its load is continuous, and slices only say when it has caught up, and in
    /// which of them the client was the limit.
    pub fn slices_alone(&self, slices: SliceLength) -> SliceLength {
        SliceLength { measured: slices.measured.max(self.level() / SLICES_OF_LEVEL_ALONE), ..slices }
    }

    /// A server that drains for longer than this has not caught up: what falls due meanwhile may be late for it.
    fn caught_up(&self) -> Duration {
        self.limit / 2
    }
}

/// The next slice of a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NextSlice {
    /// Operations a second.
    pub rate_per_s: f64,
    /// For how long operations have fallen due already, while the slice before drained.
    pub due_before: Duration,
}

/// What came of a slice.
#[derive(Clone, Debug, PartialEq)]
pub struct SliceSpending {
    /// From its begin until the last operation had ended.
    pub own_time: Duration,
    /// The part of it after the last operation had begun.
    pub drain: Duration,
    /// What it spent.
    pub spent: BudgetUse,
    /// Whether the client was its limit.
    pub is_client_limited: bool,
}

/// One continuous load at one rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Operations a second.
    pub rate_per_s: f64,
    /// Its cycle, from 0.
    pub cycle: u32,
    /// What it spent, without the slices in which the client was the limit.
    pub spent: BudgetUse,
    /// How long it was, in the server's own time.
    pub own_time: Duration,
    /// Number of slices.
    pub slices: u32,
    /// In how many of them the client was the limit.
    pub client_limited: u32,
}

/// A search under way.
#[derive(Clone, Debug)]
pub struct LevelSearch {
    plan: LevelPlan,
    closed_loop_per_s: f64,
    /// What standstills spent of each bound in the closed loop; empty where that is not known.
    standstills: Vec<Spending>,
    curve: BudgetCurve,
    /// Of the orders of the levels.
    rng: Pcg64Mcg,
    /// The order of the levels in this cycle.
    order: [usize; LEVELS.len()],
    /// The level under way: its place in the order; none once the search is over.
    place: Option<usize>,
    /// Share of the list's rates at which the cycle runs: less than 1 where the lowest rates were too high.
    lowered: f64,
    /// For how long the last slice drained.
    carried: Duration,
    /// Slices in a row in which the server fell further behind, and those in which it caught up at the end of its level.
    behind: u32,
    closing: u32,
    own_time: Duration,
    cycle: u32,
    levels: Vec<Level>,
}

impl LevelSearch {
    /// A search for the capacity of a server with this closed loop. Where nothing succeeded in it, no rate is tried. Searches with the
    /// same seed have their levels in the same order.
    pub fn new(closed_loop: &StartingLoop, plan: LevelPlan, seed: u64) -> Self {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let closed_loop_per_s = closed_loop.per_s;
        Self {
            plan,
            standstills: closed_loop.spendings(),
            order: in_random_order(&mut rng),
            rng,
            closed_loop_per_s,
            curve: BudgetCurve::of_closed_loop(closed_loop_per_s),
            place: (closed_loop_per_s > 0.0).then_some(0),
            lowered: 1.0,
            carried: Duration::ZERO,
            behind: 0,
            closing: 0,
            own_time: Duration::ZERO,
            cycle: 0,
            levels: Vec::new(),
        }
    }

    /// The next slice; none if the search is over.
    pub fn next(&self) -> Option<NextSlice> {
        let rate_per_s = self.rate_at(self.place?);
        Some(NextSlice { rate_per_s, due_before: self.carried })
    }

    fn rate_at(&self, place: usize) -> f64 {
        LEVELS[self.order[place]] * self.lowered * self.closed_loop_per_s
    }

    /// How much of the search is done, 0 to 1.
    pub fn progress(&self) -> f64 {
        match self.place {
            None => 1.0,
            Some(_) => self.own_time.div_duration_f64(self.plan.load.max(self.cycle_time())).min(0.99),
        }
    }

    /// Adds the slice of [`LevelSearch::next`].
    pub fn add(&mut self, slice: &SliceSpending) {
        let Some(place) = self.place else { return };
        let rate_per_s = self.rate_at(place);
        self.own_time += slice.own_time;
        if self.levels.last().is_none_or(|level| (level.rate_per_s, level.cycle) != (rate_per_s, self.cycle))
        {
            self.levels.push(Level::at(rate_per_s, self.cycle));
        }
        let Some(level) = self.levels.last_mut() else { return };
        level.add(slice);
        self.behind = if slice.drain > self.carried { self.behind + 1 } else { 0 };
        let is_long_enough = level.own_time >= self.plan.level();
        let has_caught_up = slice.drain <= self.plan.caught_up() || self.closing == MOST_CLOSING;
        let falls_behind = self.behind >= FALLING_BEHIND && slice.drain > self.plan.limit;
        if falls_behind || (is_long_enough && has_caught_up) {
            self.end_level(place);
        } else {
            self.closing = if is_long_enough { self.closing + 1 } else { 0 };
            self.carried = slice.drain;
        }
    }

    fn end_level(&mut self, place: usize) {
        (self.carried, self.behind, self.closing) = (Duration::ZERO, 0, 0);
        if place + 1 < LEVELS.len() {
            self.place = Some(place + 1);
            return;
        }
        self.cycle += 1;
        self.order = in_random_order(&mut self.rng);
        let lowest = self.levels.iter().map(|level| level.rate_per_s).fold(f64::INFINITY, f64::min);
        let is_too_high = self.crossing().is_some_and(|found| found.exp() < lowest);
        if is_too_high {
            self.lowered *= LOWER;
        }
        let has_time = self.own_time + self.cycle_time() / 2 <= self.plan.load;
        let is_lowest = self.lowered * LEVELS[0] < LOWEST_SHARE;
        // Lower rates have a cycle at least.
        self.place = ((has_time || is_too_high) && !is_lowest).then_some(0);
    }

    /// About how long a cycle is: levels that the server cannot carry end early.
    fn cycle_time(&self) -> Duration {
        self.plan.level() * (LEVELS.len() as u32 - 1)
    }

    fn is_limited_above(&self, rate_per_s: f64) -> bool {
        self.levels.iter().any(|level| level.is_client_limited() && level.rate_per_s > rate_per_s)
    }

    /// The spendings of each bound over levels, and this share of those of the closed loop.
    fn spendings<'l>(
        &self,
        levels: impl IntoIterator<Item = &'l Level>,
        share_of_closed: f64,
    ) -> Vec<Vec<Spending>> {
        let known = levels.into_iter().filter(|level| !level.is_client_limited());
        let of_levels = known.map(|level| level.spent.spendings(level.rate_per_s, Arrivals::Open));
        let in_closed_loop = self.standstills.iter().map(|all| Spending {
            spent: all.spent * share_of_closed,
            budget: all.budget * share_of_closed,
            ..*all
        });
        by_bound(of_levels.chain([in_closed_loop.collect()]))
    }

    fn crossing(&self) -> Option<f64> {
        self.curve.first_spent(&self.spendings(&self.levels, 1.0)).map(|(_, crossing)| crossing)
    }

    /// The 95 % interval of the capacity over the cycles of this search, operations a second. It says what the capacity was
    /// during this search, and not what it is in another hour. It ends at the highest rate that was offered, which is about the
    /// closed loop's. None where there are too few cycles.
    pub fn interval(&self) -> Option<ConfidenceInterval> {
        let (bound, _) = self.curve.first_spent(&self.spendings(&self.levels, 1.0))?;
        let of_cycle = |cycle: u32| -> Vec<Spending> {
            let own = self.levels.iter().filter(|level| level.cycle == cycle);
            self.spendings(own, 1.0 / f64::from(self.cycle)).into_iter().nth(bound).unwrap_or_default()
        };
        let cycles: Vec<Vec<Spending>> = (0..self.cycle).map(of_cycle).collect();
        let highest = self.levels.iter().map(|level| level.rate_per_s).fold(0.0, f64::max);
        let interval = self.curve.interval(&cycles, Confidence::P95)?.through(f64::exp);
        Some(ConfidenceInterval { low: interval.low.min(highest), high: interval.high.min(highest) })
    }

    /// What the levels say.
    pub fn capacity(&self) -> SustainedCapacity {
        let known = self.levels.iter().filter(|level| !level.is_client_limited());
        let rates: Vec<f64> = known.map(|level| level.rate_per_s).collect();
        let (Some(highest), Some(lowest)) =
            (rates.iter().copied().reduce(f64::max), rates.iter().copied().reduce(f64::min))
        else {
            let has_tried = !self.levels.is_empty();
            return if has_tried { SustainedCapacity::Unknown } else { SustainedCapacity::NoRateMeets };
        };
        match self.crossing().map(f64::exp) {
            Some(rate) if rate < lowest * BELOW_TRIED => SustainedCapacity::NoRateMeets,
            Some(rate) if rate < highest => SustainedCapacity::Found(rate),
            // A rate that the client could not offer below that is of something that disturbed it.
            _ if self.is_limited_above(highest) => SustainedCapacity::AtLeast(highest),
            _ => SustainedCapacity::Found(highest),
        }
    }
}

impl Level {
    fn at(rate_per_s: f64, cycle: u32) -> Self {
        let (spent, own_time) = (BudgetUse::default(), Duration::ZERO);
        Self { rate_per_s, cycle, spent, own_time, slices: 0, client_limited: 0 }
    }

    fn add(&mut self, slice: &SliceSpending) {
        self.own_time += slice.own_time;
        self.slices += 1;
        if slice.is_client_limited {
            self.client_limited += 1;
        } else {
            self.spent.add(&slice.spent);
        }
    }

    /// Whether the client was the limit in most of its slices.
    pub fn is_client_limited(&self) -> bool {
        2 * self.client_limited > self.slices
    }
}

fn in_random_order(rng: &mut Pcg64Mcg) -> [usize; LEVELS.len()] {
    let mut order = std::array::from_fn(|place| place);
    order.shuffle(rng);
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Micros;

    const PLAN: LevelPlan = LevelPlan { load: Duration::from_secs(8), limit: Duration::from_millis(5) };
    const MS: Duration = Duration::from_millis(1);
    const CLOSED_LOOP: f64 = 40_000.0;

    /// A slice of 50 ms, in which this share of 10,000 operations was late.
    fn slice(late: f64, drain: Duration) -> SliceSpending {
        let slo: Slo = "p99<5ms".parse().expect("an objective");
        let mut times = Micros::new(3).expect("three digits");
        let late = (10_000.0 * late.min(1.0)) as u64;
        times.record_n(1_000, 10_000 - late).expect("a time");
        times.record_n(8_000, late).expect("a time");
        let spent = BudgetUse::of_times(&slo, &times, 0);
        SliceSpending { own_time: 50 * MS + drain, drain, spent, is_client_limited: false }
    }

    /// Searches a server of which this share is late at a rate, as long as it takes.
    fn search(late: impl Fn(f64) -> f64) -> LevelSearch {
        let mut search = LevelSearch::new(&StartingLoop::at(CLOSED_LOOP), PLAN, 1);
        for _ in 0..10_000 {
            let Some(next) = search.next() else { return search };
            search.add(&slice(late(next.rate_per_s), MS));
        }
        panic!("a search ends");
    }

    #[test]
    fn what_fell_due_in_a_drain_is_due_in_the_next_slice_of_the_level() {
        let mut search = LevelSearch::new(&StartingLoop::at(CLOSED_LOOP), PLAN, 1);
        let first = search.next().expect("a slice");
        assert_eq!(first.due_before, Duration::ZERO);
        search.add(&slice(0.0, 40 * MS));
        let second = search.next().expect("a slice");
        assert_eq!((second.rate_per_s, second.due_before), (first.rate_per_s, 40 * MS));
    }

    #[test]
    fn a_level_ends_when_the_server_has_caught_up() {
        let mut search = LevelSearch::new(&StartingLoop::at(CLOSED_LOOP), PLAN, 1);
        let first = search.next().expect("a slice").rate_per_s;
        for _ in 0..2 {
            search.add(&slice(0.0, MS));
        }
        // The level is long enough with this slice, but a pause has left a queue.
        search.add(&slice(0.01, 60 * MS));
        for drain in [40, 20, 8] {
            assert_eq!(search.next().map(|next| next.rate_per_s), Some(first), "it catches up");
            search.add(&slice(0.01, drain * MS));
        }
        search.add(&slice(0.0, MS));
        let next = search.next().expect("a slice");
        assert!((next.rate_per_s - first).abs() > 1.0 && next.due_before.is_zero(), "{next:?}");
    }

    #[test]
    fn a_server_that_falls_behind_ends_its_level_and_every_cycle_has_all_levels() {
        let mut search = LevelSearch::new(&StartingLoop::at(CLOSED_LOOP), PLAN, 1);
        let mut tried = Vec::new();
        for _ in LEVELS {
            let rate = search.next().expect("a slice").rate_per_s;
            for drain in [10, 20, 30] {
                assert_eq!(search.next().map(|next| next.rate_per_s), Some(rate));
                search.add(&slice(0.9, drain * MS));
            }
            tried.push(rate);
        }
        assert!(!tried.is_sorted(), "in random order: {tried:?}");
        tried.sort_by(f64::total_cmp);
        assert_eq!(tried, LEVELS.map(|share| share * CLOSED_LOOP));
    }

    #[test]
    fn a_search_finds_the_rate_at_which_one_in_a_hundred_is_late() {
        let steep = |rate: f64| 0.01 * (rate / 30_000.0).powi(8);
        let pausing = |rate: f64| 0.01 * rate / 6_000.0;
        for (found, truth) in [(search(steep), 30_000.0), (search(pausing), 6_000.0)] {
            let SustainedCapacity::Found(rate) = found.capacity() else { panic!("{:?}", found.capacity()) };
            assert!((rate / truth - 1.0).abs() < 0.05, "{rate} of {truth}");
            let interval = found.interval().expect("an interval");
            assert!(interval.low <= rate && rate <= interval.high, "{interval:?}");
        }
    }

    #[test]
    fn one_bad_second_does_not_keep_the_search_down() {
        let is_first = std::cell::Cell::new(0);
        let found = search(|rate| {
            is_first.set(is_first.get() + 1);
            if is_first.get() == 4 { 0.2 } else { 0.01 * (rate / 30_000.0).powi(8) }
        });
        let SustainedCapacity::Found(rate) = found.capacity() else { panic!("{:?}", found.capacity()) };
        assert!((rate / 30_000.0 - 1.0).abs() < 0.1, "{rate}");
    }

    #[test]
    fn an_interval_ends_at_the_highest_rate_that_was_offered() {
        // Every eleventh slice has a pause, at any rate.
        let slices = std::cell::Cell::new(0);
        let found = search(|_| {
            slices.set(slices.get() + 1);
            if slices.get() % 11 == 0 { 0.12 } else { 0.0 }
        });
        let interval = found.interval().expect("an interval");
        assert!(interval.low < interval.high, "{interval:?}");
        assert!(interval.high <= LEVELS[LEVELS.len() - 1] * CLOSED_LOOP, "{interval:?}");
    }

    #[test]
    fn a_server_that_pauses_often_is_searched_below_and_one_that_is_always_late_meets_the_objective_nowhere()
    {
        let SustainedCapacity::Found(rate) = search(|rate| 0.01 * rate / 500.0).capacity() else {
            panic!("a capacity")
        };
        assert!((400.0..650.0).contains(&rate), "{rate}");
        assert_eq!(search(|_| 0.5).capacity(), SustainedCapacity::NoRateMeets);
        assert_eq!(
            LevelSearch::new(&StartingLoop::at(0.0), PLAN, 1).capacity(),
            SustainedCapacity::NoRateMeets
        );
    }

    #[test]
    fn where_nothing_is_late_the_capacity_is_the_highest_rate() {
        let found = search(|_| 0.0);
        assert_eq!(found.capacity(), SustainedCapacity::Found(LEVELS[LEVELS.len() - 1] * CLOSED_LOOP));
    }
}
