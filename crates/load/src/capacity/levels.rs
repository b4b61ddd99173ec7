//! The capacity of one server under sustained load: which rate its next slice has, and what its slices have spent of the error
//! budget. Pure, so that tests run it against simulated servers (`examples/sustained.rs`).
//!
//! | stage | what happens |
//! |---|---|
//! | approach | the rate climbs while slices meet the objective and falls while they miss it, in strides that are halved at each turn (PEST: Taylor and Creelman, Journal of the Acoustical Society of America 41, 1967). Only where nothing is known of the server |
//! | levels | a cycle of three rates around the guess, from the lowest up. A level is one continuous load in the server's own time: what falls due while a slice drains is sent when the next one begins. It ends when the server has caught up, so that no level inherits the queue of another, and each has all that it caused |
//! | fit | after a cycle, [`stats::error_budget`] says where the budget is spent exactly, and the next cycle is around that |
//!
//! A slice in which the client was the limit says nothing about the server and is left out, by what the client did alone. A
//! level with more such slices than others is one that the client cannot offer.

use std::time::Duration;

use stats::confidence::{Confidence, ConfidenceInterval};
use stats::error_budget::{BudgetCurve, Spending};

use super::budget::BudgetUse;
use crate::inputs::slo::Slo;

/// First rate, as a share of the throughput of a closed loop: under the knee of most servers, and within one stride of it.
const FIRST_SHARE: f64 = 0.7;
/// There is no search for a capacity below this share of the closed loop's throughput.
const LOWEST_SHARE: f64 = 1e-3;
/// Factor between the first rates of an approach, and that with which it ends.
const STRIDE: f64 = 1.6;
const LAST_STRIDE: f64 = 1.15;
/// Slices of an approach, at the most.
const MOST_APPROACH: u32 = 24;
/// A sustained capacity is about this share of the rate at which a slice begins to miss.
const BELOW_KNEE: f64 = 0.85;
/// The rates of a cycle, as logarithms of shares of the guess. More of them are below than above: a queue that grows says the
/// same each time, and takes long to drain.
const LEVELS: [f64; 3] = [-0.12, 0.0, 0.12];
/// Burn rate of a level after which its cycle has no higher one.
const HIGH_ENOUGH: f64 = 6.0;
/// A server that falls further behind in this many slices in a row does not catch up: its level ends.
const FALLING_BEHIND: u32 = 3;
/// Slices in which a server may catch up at the end of a level.
const MOST_CLOSING: u32 = 20;
/// A guess moves by at most this much after a cycle, as a logarithm.
const LONGEST_MOVE: f64 = 1.6;
/// Least own time of a level, also in multiples of the time limit: a queue must have time to grow beyond it.
const SHORTEST_LEVEL: Duration = Duration::from_millis(300);
const LEVEL_OVER_LIMIT: u32 = 12;
/// The value of a single search lies within this factor of the rates that it tried.
const BEYOND_TRIED: f64 = 1.1;
/// Cycles of a search that has time for them. Their scatter is that of its capacity.
const CYCLES: u32 = 6;

/// What is known of a server before its search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownServer {
    /// Throughput of a closed loop with the same connections, operations a second. 0 where nothing succeeded: no rate is tried.
    pub closed_loop_per_s: f64,
    /// About its capacity, operations a second, where that is known from elsewhere: the search begins there.
    pub guess_per_s: Option<f64>,
    /// What it spent in earlier blocks, for each bound of the objective: the search begins where they have spent the budget.
    pub spendings: Vec<Vec<Spending>>,
}

/// How long a search is, in the server's own time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelPlan {
    /// Own time in all. A search without a guess may take twice as long.
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

/// What the slices of a server say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SustainedCapacity {
    /// The highest rate that is sustained within the objective, operations a second.
    Found(f64),
    /// The same, but the client could not offer more: the capacity is at least this.
    AtLeast(f64),
    /// No rate that was tried met the objective, or there was none to try.
    NoRateMeets,
    /// Too few slices say something: in the others, the client was the limit.
    Unknown,
    /// Nothing was late at any rate that was tried.
    Unsettled,
}

/// The reason that is reported where the client set the highest rate.
const CLIENT_WAS_THE_LIMIT: &str = "the client was the limit of the search: the server's capacity is at least this: give the client more threads and cores";

impl SustainedCapacity {
    /// Why it is not known, or not exactly; none if it is.
    pub fn reason(self, slo: &Slo) -> Option<String> {
        match self {
            Self::Found(_) => None,
            Self::AtLeast(_) => Some(CLIENT_WAS_THE_LIMIT.to_owned()),
            Self::NoRateMeets => Some(format!("no rate that was tried meets {slo}: relax the objective")),
            Self::Unknown => Some(
                "the search found no capacity: in most slices the client was the limit: give it more threads and cores"
                    .to_owned(),
            ),
            Self::Unsettled => Some(
                "the search did not settle: no rate that was tried spends the budget of the objective: measure for longer, or on a quieter machine"
                    .to_owned(),
            ),
        }
    }

    /// The rate that was found, also where the client was the limit.
    pub fn rate_per_s(self) -> Option<f64> {
        match self {
            Self::Found(rate) | Self::AtLeast(rate) => Some(rate),
            Self::NoRateMeets | Self::Unknown | Self::Unsettled => None,
        }
    }
}

/// A search under way.
#[derive(Clone, Debug)]
pub struct LevelSearch {
    plan: LevelPlan,
    curve: BudgetCurve,
    /// Logarithm of the lowest rate.
    lowest: f64,
    /// Logarithm of a rate that the client cannot offer.
    ceiling: f64,
    /// Of earlier blocks.
    known: Vec<Vec<Spending>>,
    stage: Stage,
    own_time: Duration,
    cycle: u32,
    levels: Vec<Level>,
    /// Whether the objective was missed down to the lowest rate.
    is_hopeless: bool,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Approach { rate: f64, stride: f64, last_missed: Option<bool>, slices: u32 },
    Levels { guess: f64, place: usize, carried: Duration, behind: u32, closing: u32 },
    Over,
}

impl LevelSearch {
    /// A search for the capacity of a server.
    pub fn new(server: KnownServer, plan: LevelPlan) -> Self {
        let KnownServer { closed_loop_per_s, guess_per_s, spendings: known } = server;
        let curve = BudgetCurve::of_closed_loop(closed_loop_per_s);
        let stage = match crossing_of(curve, &known).or(guess_per_s.map(f64::ln)) {
            // Without a rate to begin with there is nothing to try.
            _ if closed_loop_per_s <= 0.0 => Stage::Over,
            Some(guess) => Stage::levels(guess),
            None => Stage::Approach {
                rate: (FIRST_SHARE * closed_loop_per_s).ln(),
                stride: STRIDE.ln(),
                last_missed: None,
                slices: 0,
            },
        };
        let lowest = (LOWEST_SHARE * closed_loop_per_s).max(f64::MIN_POSITIVE).ln();
        Self {
            plan,
            curve,
            lowest,
            ceiling: f64::INFINITY,
            known,
            stage,
            own_time: Duration::ZERO,
            cycle: 0,
            levels: Vec::new(),
            is_hopeless: false,
        }
    }

    /// The next slice; none if the search is over.
    pub fn next(&self) -> Option<NextSlice> {
        match self.stage {
            Stage::Approach { rate, .. } => {
                Some(NextSlice { rate_per_s: rate.exp(), due_before: Duration::ZERO })
            }
            Stage::Levels { guess, place, carried, .. } => {
                Some(NextSlice { rate_per_s: (guess + LEVELS[place]).exp(), due_before: carried })
            }
            Stage::Over => None,
        }
    }

    /// How much of the search is done, 0 to 1.
    pub fn progress(&self) -> f64 {
        match self.stage {
            Stage::Over => 1.0,
            _ => self.own_time.div_duration_f64(self.plan.load).min(0.99),
        }
    }

    /// Whether the rates are near the capacity.
    pub fn is_near(&self) -> bool {
        matches!(self.stage, Stage::Levels { .. })
    }

    /// Adds the slice of [`LevelSearch::next`].
    pub fn add(&mut self, slice: &SliceSpending) {
        self.own_time += slice.own_time;
        match self.stage {
            Stage::Approach { rate, stride, last_missed, slices } => {
                let missed = slice.is_client_limited || slice.spent.burn_rate().is_none_or(|burn| burn > 1.0);
                if slice.is_client_limited {
                    self.ceiling = self.ceiling.min(rate);
                }
                let turned = last_missed.is_some_and(|last| last != missed);
                let stride = if turned { stride / 2.0 } else { stride };
                self.approach(rate, stride, missed, slices + 1);
            }
            Stage::Levels { guess, place, carried, behind, closing } => {
                let behind = if slice.drain > carried { behind + 1 } else { 0 };
                self.add_to_level(slice, (guess, place), behind, closing);
            }
            Stage::Over => {}
        }
    }

    fn approach(&mut self, rate: f64, stride: f64, missed: bool, slices: u32) {
        if stride < LAST_STRIDE.ln() || slices == MOST_APPROACH {
            self.own_time = Duration::ZERO;
            self.stage = Stage::levels(rate + BELOW_KNEE.ln());
            return;
        }
        let next = rate + if missed { -stride } else { stride };
        self.is_hopeless = next < self.lowest;
        self.stage = if self.is_hopeless {
            Stage::Over
        } else {
            Stage::Approach { rate: next, stride, last_missed: Some(missed), slices }
        };
    }

    fn add_to_level(
        &mut self,
        slice: &SliceSpending,
        (guess, place): (f64, usize),
        behind: u32,
        closing: u32,
    ) {
        let rate_per_s = (guess + LEVELS[place]).exp();
        if self.levels.last().is_none_or(|level| level.rate_per_s != rate_per_s) {
            self.levels.push(Level::at(rate_per_s, self.cycle));
        }
        let Some(level) = self.levels.last_mut() else { return };
        level.add(slice);
        let is_long_enough = level.own_time >= self.plan.level();
        let is_client_limited = is_long_enough && level.is_client_limited();
        let has_caught_up = slice.drain <= self.plan.caught_up() || closing == MOST_CLOSING;
        let falls_behind = behind >= FALLING_BEHIND && slice.drain > self.plan.limit;
        let is_highest = falls_behind
            || is_client_limited
            || level.spent.burn_rate().is_some_and(|burn| burn > HIGH_ENOUGH);
        if is_client_limited {
            self.ceiling = self.ceiling.min(rate_per_s.ln());
        }
        if falls_behind || (is_long_enough && has_caught_up) {
            self.end_level(guess, place, is_highest);
        } else {
            let closing = if is_long_enough { closing + 1 } else { 0 };
            self.stage = Stage::Levels { guess, place, carried: slice.drain, behind, closing };
        }
    }

    fn end_level(&mut self, guess: f64, place: usize, is_highest: bool) {
        if place + 1 < LEVELS.len() && !is_highest {
            let carried = Duration::ZERO;
            self.stage = Stage::Levels { guess, place: place + 1, carried, behind: 0, closing: 0 };
            return;
        }
        self.cycle += 1;
        let next = self.next_guess(guess);
        let is_near = next - guess < LEVELS[LEVELS.len() - 1] + 0.1 && guess - next < 0.3 - LEVELS[0];
        let most = if is_near { self.plan.load } else { self.plan.load * 3 };
        // A further cycle takes about as long as the one before.
        let half_a_cycle = self.plan.level() * LEVELS.len() as u32 / 2;
        let is_over = self.own_time + half_a_cycle > most;
        self.is_hopeless = next < self.lowest;
        self.stage = if is_over || self.is_hopeless { Stage::Over } else { Stage::levels(next) };
    }

    /// The middle of the next cycle.
    fn next_guess(&self, guess: f64) -> f64 {
        let found = self.crossing_with_earlier().unwrap_or(guess + STRIDE.ln());
        let moved = (found - guess).clamp(-LONGEST_MOVE, STRIDE.ln());
        (guess + moved).min(self.ceiling - LEVELS[1])
    }

    /// Where the budget is spent exactly, by these levels and those of earlier blocks.
    fn crossing_with_earlier(&self) -> Option<f64> {
        let mut all = spendings(&self.levels);
        for (bound, known) in all.iter_mut().zip(&self.known) {
            bound.extend(known);
        }
        crossing_of(self.curve, &all)
    }

    fn crossing(&self) -> Option<f64> {
        crossing_of(self.curve, &spendings(&self.levels))
    }

    /// The levels so far.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The 95 % interval of the capacity over the cycles of this search, operations a second. It says what the capacity was
    /// during this search, and not what it is in another hour. None where there are too few cycles.
    pub fn interval(&self) -> Option<ConfidenceInterval> {
        let of_cycle = |cycle: u32| self.levels.iter().filter(move |level| level.cycle == cycle);
        let bounds = spendings(&self.levels).len();
        // Of the bound that is spent first.
        let curve = |bound: usize| -> Vec<Vec<Spending>> {
            let of =
                |cycle| of_cycle(cycle).flat_map(|l| l.spent.spendings(l.rate_per_s).into_iter().nth(bound));
            (0..self.cycle).map(|cycle| of(cycle).collect()).collect()
        };
        let crossing = |bound: &usize| self.curve.crossing(&curve(*bound).concat());
        let known = (0..bounds).filter_map(|bound| Some((bound, crossing(&bound)?)));
        let (bound, _) = known.min_by(|a, b| a.1.total_cmp(&b.1))?;
        self.curve.interval(&curve(bound), Confidence::P95).map(|interval| interval.through(f64::exp))
    }

    /// What the levels say.
    pub fn capacity(&self) -> SustainedCapacity {
        let known: Vec<&Level> = self.levels.iter().filter(|level| !level.is_client_limited()).collect();
        let highest = known.iter().map(|level| level.rate_per_s).fold(0.0, f64::max);
        let lowest = known.iter().map(|level| level.rate_per_s).fold(f64::INFINITY, f64::min);
        if known.is_empty() {
            return if self.ceiling.is_finite() {
                SustainedCapacity::Unknown
            } else {
                SustainedCapacity::NoRateMeets
            };
        }
        let own = self.crossing().map_or(f64::INFINITY, f64::exp);
        if self.is_hopeless {
            SustainedCapacity::NoRateMeets
        } else if own > highest && self.ceiling.is_finite() {
            SustainedCapacity::AtLeast(highest)
        } else if self.crossing_with_earlier().is_none() {
            SustainedCapacity::Unsettled
        } else {
            // A block in which nothing was late has still sustained its highest rate: leaving it out would be unfair.
            SustainedCapacity::Found(own.clamp(lowest / BEYOND_TRIED, highest * BEYOND_TRIED))
        }
    }
}

impl Stage {
    fn levels(guess: f64) -> Self {
        Self::Levels { guess, place: 0, carried: Duration::ZERO, behind: 0, closing: 0 }
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

/// The spendings of each bound over levels.
pub fn spendings(levels: &[Level]) -> Vec<Vec<Spending>> {
    let mut bounds: Vec<Vec<Spending>> = Vec::new();
    for level in levels.iter().filter(|level| !level.is_client_limited()) {
        for (index, spending) in level.spent.spendings(level.rate_per_s).into_iter().enumerate() {
            if bounds.len() <= index {
                bounds.push(Vec::new());
            }
            bounds[index].push(spending);
        }
    }
    bounds
}

/// Where the first of several budgets is spent exactly, as the logarithm of a rate.
pub fn crossing_of(curve: BudgetCurve, bounds: &[Vec<Spending>]) -> Option<f64> {
    bounds.iter().filter_map(|spendings| curve.crossing(spendings)).min_by(f64::total_cmp)
}
