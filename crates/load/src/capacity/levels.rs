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
use super::plan::LEVELS_OF_CYCLE;
pub use super::plan::LevelPlan;
pub use super::sustained::{Soak, SustainedCapacity};

/// The rates of a cycle, as shares of the closed loop's throughput. The knee of a server lies at 0.7 to 1.1 of it: there they are
/// denser. Servers that pause spend their budget below.
const LEVELS: [f64; LEVELS_OF_CYCLE as usize] = [0.1, 0.25, 0.45, 0.6, 0.7, 0.78, 0.86, 0.94, 1.02];
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
/// After a soak at a rate that was not sustained, another one follows at the capacity that is found with it, and at this share of its rate at
/// most (decision 0068).
const LOWER_SOAK: f64 = 0.95;
/// What remains of a soak that has spent so many of its whole budgets is left out. More than one, because what was late in its last slices is
/// not all that a pause has caused.
const MISSED: f64 = 1.2;
/// The next soak is at no less than this share of the last rate: one slow moment of the machine is no reason to go far lower at once.
const LOWEST_NEXT: f64 = 0.85;
/// A rate is sustained if this many soaks at it meet the objective, one after the other.
const PASSES: u32 = 3;

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
    /// Whether it is a soak.
    pub is_soak: bool,
}

/// What a search does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// The level at this place in the order of its cycle.
    Level { place: usize },
    /// A load at the capacity that was found, operations a second: the soak of this number, from 0.
    Soak { rate_per_s: f64, number: u32 },
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
    /// What is under way; none once the search is over.
    stage: Option<Stage>,
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
            stage: (closed_loop_per_s > 0.0).then_some(Stage::Level { place: 0 }),
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
        Some(NextSlice { rate_per_s: self.rate_of(self.stage?), due_before: self.carried })
    }

    fn rate_of(&self, stage: Stage) -> f64 {
        match stage {
            Stage::Level { place } => LEVELS[self.order[place]] * self.lowered * self.closed_loop_per_s,
            Stage::Soak { rate_per_s, .. } => rate_per_s,
        }
    }

    /// How much of the search is done, 0 to 1.
    pub fn progress(&self) -> f64 {
        match self.stage {
            None => 1.0,
            Some(_) => self.own_time.div_duration_f64(self.own_time + self.left()).min(0.99),
        }
    }

    /// About how much own time is left: as many soaks as a rate takes that is sustained.
    pub fn left(&self) -> Duration {
        let passes = PASSES.min(self.plan.most_soaks);
        let soaks = match self.stage {
            None => return Duration::ZERO,
            Some(Stage::Level { .. }) => {
                let load = self.plan.load.max(self.cycle_time());
                return load.saturating_sub(self.own_time) + self.plan.soak * passes;
            }
            Some(Stage::Soak { .. }) => self.plan.soak * passes,
        };
        let at_this_rate = self.levels.iter().rev().take_while(|level| level.is_soak);
        let done = at_this_rate.take_while(|level| {
            self.next().is_some_and(|next| next.rate_per_s.total_cmp(&level.rate_per_s).is_eq())
        });
        soaks.saturating_sub(done.map(|level| level.own_time).sum())
    }

    /// Adds the slice of [`LevelSearch::next`].
    pub fn add(&mut self, slice: &SliceSpending) {
        let Some(stage) = self.stage else { return };
        let rate_per_s = self.rate_of(stage);
        self.own_time += slice.own_time;
        if self.levels.last().is_none_or(|level| (level.rate_per_s, level.cycle) != (rate_per_s, self.cycle))
        {
            let is_soak = matches!(stage, Stage::Soak { .. });
            self.levels.push(Level::at(rate_per_s, self.cycle, is_soak));
        }
        let length = match stage {
            Stage::Level { .. } => self.plan.level(),
            Stage::Soak { .. } => self.plan.soak,
        };
        let Some(level) = self.levels.last_mut() else { return };
        level.add(slice);
        self.behind = if slice.drain > self.carried { self.behind + 1 } else { 0 };
        let is_long_enough = level.own_time >= length;
        let has_missed = level.is_soak && level.has_missed(length);
        let has_caught_up = slice.drain <= self.plan.caught_up() || self.closing == MOST_CLOSING;
        let falls_behind = self.behind >= FALLING_BEHIND && slice.drain > self.plan.limit;
        if has_missed || falls_behind || (is_long_enough && has_caught_up) {
            (self.carried, self.behind, self.closing) = (Duration::ZERO, 0, 0);
            self.stage = match stage {
                Stage::Level { place } if place + 1 < LEVELS.len() => Some(Stage::Level { place: place + 1 }),
                Stage::Level { .. } => self.end_cycle(),
                Stage::Soak { number, .. } => self.end_soak(number),
            };
        } else {
            self.closing = if is_long_enough { self.closing + 1 } else { 0 };
            self.carried = slice.drain;
        }
    }

    fn end_cycle(&mut self) -> Option<Stage> {
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
        if (has_time || is_too_high) && !is_lowest {
            return Some(Stage::Level { place: 0 });
        }
        self.first_soak()
    }

    /// The first soak; none if the plan has none, or no capacity was found.
    fn first_soak(&self) -> Option<Stage> {
        let (SustainedCapacity::Found(rate_per_s) | SustainedCapacity::AllCarried(rate_per_s)) =
            self.capacity()
        else {
            return None;
        };
        (self.plan.most_soaks > 0).then_some(Stage::Soak { rate_per_s, number: 0 })
    }

    /// Ends a soak, which is a cycle of its own. Another one follows at the same rate if that is to be shown once more, or if the client
    /// was the limit, and at a lower rate if the rate was not sustained.
    fn end_soak(&mut self, number: u32) -> Option<Stage> {
        self.cycle += 1;
        if number + 1 >= self.plan.most_soaks {
            return None;
        }
        let last = self.levels.last()?;
        let rate_per_s = match self.soaked() {
            _ if last.is_client_limited() => last.rate_per_s,
            Some(soak) if soak.is_sustained() && soak.soaks < PASSES => last.rate_per_s,
            Some(soak) if !soak.is_sustained() => {
                let found = self.crossing().map_or(f64::INFINITY, f64::exp);
                found.clamp(LOWEST_NEXT * soak.rate_per_s, LOWER_SOAK * soak.rate_per_s)
            }
            _ => return None,
        };
        Some(Stage::Soak { rate_per_s, number: number + 1 })
    }

    /// The soaks in which the client was not the limit.
    fn soaks(&self) -> impl DoubleEndedIterator<Item = &Level> {
        self.levels.iter().filter(|level| level.is_soak && !level.is_client_limited())
    }

    /// The soaks at the last rate together, without those in which the client was the limit; none if the search had no others.
    pub fn soaked(&self) -> Option<Soak> {
        let rate_per_s = self.soaks().next_back()?.rate_per_s;
        let mut all = Soak { rate_per_s, own_time: Duration::ZERO, spent: BudgetUse::default(), soaks: 0 };
        for soak in self.soaks().filter(|soak| soak.rate_per_s.total_cmp(&rate_per_s).is_eq()) {
            all.own_time += soak.own_time;
            all.spent.add(&soak.spent);
            all.soaks += 1;
        }
        Some(all)
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

    /// Whether no rate that was tried spends the budget.
    fn is_beyond_tried(&self) -> bool {
        let bounds = self.spendings(&self.levels, 1.0);
        self.curve.first_spent(&bounds).is_none_or(|(first, _)| self.curve.is_beyond_tried(&bounds[first]))
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
            Some(rate) if rate < highest && !self.is_beyond_tried() => SustainedCapacity::Found(rate),
            // A rate that the client could not offer below that is of something that disturbed it.
            _ if self.is_limited_above(highest) => SustainedCapacity::AtLeast(highest),
            _ => SustainedCapacity::AllCarried(highest),
        }
    }
}

impl Level {
    fn at(rate_per_s: f64, cycle: u32, is_soak: bool) -> Self {
        let (spent, own_time) = (BudgetUse::default(), Duration::ZERO);
        Self { rate_per_s, cycle, spent, own_time, slices: 0, client_limited: 0, is_soak }
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

    /// Whether a load of this own time has spent more than its budget already, so that the rest of it cannot meet the objective.
    fn has_missed(&self, length: Duration) -> bool {
        let done = self.own_time.div_duration_f64(length).clamp(f64::MIN_POSITIVE, 1.0);
        self.spent.burn_rate().is_some_and(|burn| burn * done > MISSED)
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
mod tests;
