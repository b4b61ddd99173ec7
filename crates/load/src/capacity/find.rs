//! The capacity of a server that is already running: `showdown load --find-capacity`. A closed loop gives the first guess, the length of
//! slices, and the server's standstills; then the search of [`search`](super::search) runs with one server, and ends with a load at
//! the capacity, without a break.

use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use stats::confidence::ConfidenceInterval;

use super::budget::BudgetUse;
use super::closed_loop::{NothingSucceeds, StartingLoop};
use super::evaluate::{StepEvaluation, evaluate};
use super::levels::{LevelPlan, NextSlice, Soak, SustainedCapacity};
use super::search::{CURVE_SHARES, CapacitySearch, RatedSlices, SearchedCapacity};
use super::sustained::CapacityBound;
use crate::inputs::slo::Slo;
use crate::outcome::spans::Spans;
use crate::outcome::summary::Summary;
use crate::outcome::{LoadEvent, LoadOutcome, RunContext, RunError};
use crate::session::slices::{LoadedServer, LoopPace, MergedSlices, Slice, SliceLength};
use crate::spec::{Arrivals, LoadPart, LoadSpec, Shape};

/// The closed loop at the beginning, as a part of the time of the search: it has more operations a second than the search, so more of
/// the pauses by work come in it.
const CLOSED_LOOP_PART: u32 = 2;
/// Intervals of the loop, in which the scatter of slices and standstills are looked for.
const INTERVALS: u32 = 500;
const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);
/// The longest slice that does not follow from the objective.
const LONGEST_SLICE: Duration = Duration::from_secs(2);
/// Fewest slices of a point of the curve, and its time as a share of the time of the search.
const FEWEST_CURVE_ROUNDS: u32 = 2;
const CURVE_SHARE: u32 = 10;
/// The high end of an interval over its low end, from which on the capacity is uncertain.
const UNCERTAIN: f64 = 2.0;

/// One point of the curve: the slices at about one rate.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacityStep {
    /// Operations a second of the open loop: the mean over the slices.
    pub rate_per_s: f64,
    /// Number of slices.
    pub slices: u32,
    /// In how many of them the client was the limit.
    pub client_limited: u32,
    /// What the others spent of the objective's budget.
    pub spent: BudgetUse,
    /// Their numbers.
    pub summary: Summary,
    /// The slices over time.
    pub spans: Spans,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// The objective.
    pub slo: Slo,
    /// The highest rate that is sustained within the objective, operations a second; none if no rate meets it, or if that is
    /// not known.
    pub capacity_per_s: Option<f64>,
    /// Whether that rate is only a bound: a lower one if the client was the limit or all that was offered was carried, and an upper one
    /// if no soak met the objective.
    pub bound: Option<CapacityBound>,
    /// The 95 % interval of it over the cycles of this search; none where there are too few, or of a bound.
    pub interval: Option<ConfidenceInterval>,
    /// Whether it is valid. It is not if the client was the limit, or the search was interrupted.
    pub valid: bool,
    /// Why not.
    pub reasons: Vec<String>,
    /// The soaks at the last rate: loads without a break, at the capacity as it was known before them; none where no capacity was found,
    /// or the client was the limit.
    pub soak: Option<Soak>,
    /// How it was searched, in a sentence.
    pub method: String,
    /// Throughput of a closed loop of the same connections before, operations a second.
    pub closed_loop_per_s: f64,
    /// The slices by rate, from the lowest to the highest: the curve of response time over rate.
    pub curve: Vec<CapacityStep>,
}

impl Capacity {
    /// The interval, if it is so wide that the capacity alone would say more than is known: pauses that come every few seconds or
    /// more rarely make most of the late operations, and a short search has seen few of them.
    pub fn uncertain(&self) -> Option<ConfidenceInterval> {
        self.interval.filter(|interval| interval.high > UNCERTAIN * interval.low)
    }
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum CapacityError {
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Nothing succeeded in the closed loop.
    #[error(transparent)]
    NothingSucceeds(#[from] NothingSucceeds),
}

/// What happens during a search.
#[derive(Debug)]
pub enum CapacityEvent {
    /// The connections are open, and the closed loop begins.
    ClosedLoop {
        /// Open connections.
        opened: u32,
    },
    /// A slice has ended.
    Slice {
        /// Its rate, operations a second.
        rate_per_s: f64,
        /// What it spent of the objective's budget.
        evaluation: StepEvaluation,
        /// Its numbers.
        summary: Box<Summary>,
        /// How much of the search is done, 0 to 1; none in the curve.
        progress: Option<f64>,
        /// About how long the rest of the search takes, if nothing disturbs it.
        left: Duration,
    },
}

/// Receives the events of a search.
pub type CapacityObserver<'o> = dyn FnMut(CapacityEvent) + Send + 'o;

/// Searches. `spec` has the arrivals of the open loops, the length of the closed loop's warm-up, and as its duration the time
/// under load near the capacity.
pub fn find(
    spec: &LoadSpec,
    slo: &Slo,
    context: &RunContext,
    observe: &mut CapacityObserver<'_>,
) -> Result<Capacity, CapacityError> {
    let load = spec.part.duration.unwrap_or(LoadSpec::DURATION);
    let mut server = LoadedServer::new(spec.clone(), context, Instant::now());
    let closed = closed_loop(&mut server, load, observe)?;
    if closed.interrupted {
        return Err(RunError::Interrupted.into());
    }
    let closed_loop_per_s = Summary::of(&closed).throughput_per_s;
    if let Some(nothing) = NothingSucceeds::of(&closed, closed_loop_per_s) {
        return Err(nothing.into());
    }
    let pace = LoopPace::of(&closed, &closed.total, closed.measured);
    let arrivals = match spec.part.shape {
        Shape::Open { arrivals, .. } => arrivals,
        Shape::Closed { .. } => Arrivals::default(),
    };
    let plan = LevelPlan::new(load, slo).with_soaks();
    let length = SliceLength::for_servers([pace], LONGEST_SLICE).in_own_time();
    let mut run = SearchRun {
        slo,
        plan,
        arrivals,
        length: plan.slices_alone(length),
        rng: Pcg64Mcg::seed_from_u64(spec.part.seed),
        slices: 0,
        server,
    };
    let standstills = BudgetUse::of_standstills(slo, &closed);
    let found = run.search(StartingLoop { per_s: closed_loop_per_s, standstills }, observe)?;
    let (capacity_per_s, bound) = answer(found.capacity, found.soak.as_ref());
    let mut steps: Vec<CapacityStep> =
        found.at_capacity.into_iter().chain(found.others).map(CapacityStep::of).collect();
    let is_interrupted = || context.interrupted.load(std::sync::atomic::Ordering::Relaxed);
    if !is_interrupted()
        && let Some(capacity) = capacity_per_s
    {
        steps.extend(run.curve(capacity, observe)?);
    }
    steps.sort_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
    let reasons = reasons(found.capacity, bound, (found.client_use, is_interrupted()), slo);
    Ok(Capacity {
        slo: slo.clone(),
        capacity_per_s,
        bound,
        interval: found.interval.and_then(|found| with_answer(found, capacity_per_s, bound)),
        soak: found.soak,
        valid: reasons.is_empty(),
        reasons,
        method: run.method(),
        closed_loop_per_s,
        curve: steps,
    })
}

/// An interval that contains a capacity; none of a bound.
fn with_answer(
    interval: ConfidenceInterval,
    capacity_per_s: Option<f64>,
    bound: Option<CapacityBound>,
) -> Option<ConfidenceInterval> {
    if bound.is_some() {
        return None;
    }
    let capacity = capacity_per_s?;
    Some(ConfidenceInterval { low: interval.low.min(capacity), high: interval.high.max(capacity) })
}

/// The capacity and whether it is only a bound. A rate that soaks have sustained is the answer; it was checked for longer than any level.
fn answer(capacity: SustainedCapacity, soak: Option<&Soak>) -> (Option<f64>, Option<CapacityBound>) {
    let (found, bound) = match capacity {
        SustainedCapacity::Found(rate) => (rate, None),
        SustainedCapacity::AtLeast(rate) | SustainedCapacity::AllCarried(rate) => {
            (rate, Some(CapacityBound::Lower))
        }
        SustainedCapacity::NoRateMeets | SustainedCapacity::Unknown => return (None, None),
    };
    match soak {
        Some(soak) if !soak.is_sustained() => (Some(soak.rate_per_s), Some(CapacityBound::Upper)),
        Some(soak) if soak.rate_per_s < found => (Some(soak.rate_per_s), None),
        Some(soak) => (Some(soak.rate_per_s), bound),
        None => (Some(found), bound),
    }
}

/// Why a result is not valid. That no rate meets the objective is a valid answer.
fn reasons(
    capacity: SustainedCapacity,
    bound: Option<CapacityBound>,
    (client_use, is_interrupted): (Option<f64>, bool),
    slo: &Slo,
) -> Vec<String> {
    let interrupted = is_interrupted.then(|| "interrupted before the search was over".to_owned());
    let not_sustained = (bound == Some(CapacityBound::Upper)).then(|| {
        format!(
            "no rate that was tried without a break met {slo}: the capacity is lower: search for longer (-d)"
        )
    });
    let of_capacity = match capacity {
        SustainedCapacity::Unknown if is_interrupted => None,
        SustainedCapacity::NoRateMeets => None,
        _ => capacity.reason(slo, client_use),
    };
    interrupted.into_iter().chain(of_capacity).chain(not_sustained).collect()
}

fn closed_loop(
    server: &mut LoadedServer<'_>,
    load: Duration,
    observe: &mut CapacityObserver<'_>,
) -> Result<LoadOutcome, RunError> {
    let length = load / CLOSED_LOOP_PART;
    let part = LoadPart {
        shape: Shape::closed(),
        duration: Some(length),
        interval: (length / INTERVALS).max(SHORTEST_INTERVAL),
        ..server.spec.part.clone()
    };
    server.run(&part, &mut |event| {
        if let LoadEvent::Begins { opened, .. } = event {
            observe(CapacityEvent::ClosedLoop { opened });
        }
    })
}

impl CapacityStep {
    fn of(slices: RatedSlices) -> Self {
        let (rate_per_s, count) = (slices.rate_per_s(), slices.count());
        let (client_limited, spent) = (slices.client_limited(), slices.spent.clone());
        let MergedSlices { outcome, .. } = slices.merged();
        Self {
            rate_per_s,
            slices: count,
            client_limited,
            spent,
            spans: Spans::of(&outcome),
            summary: Summary::of(&outcome),
        }
    }
}

/// A search under way.
struct SearchRun<'s> {
    slo: &'s Slo,
    plan: LevelPlan,
    arrivals: Arrivals,
    length: SliceLength,
    rng: Pcg64Mcg,
    /// Slices so far.
    slices: u32,
    server: LoadedServer<'s>,
}

impl SearchRun<'_> {
    fn search(
        &mut self,
        closed_loop: StartingLoop,
        observe: &mut CapacityObserver<'_>,
    ) -> Result<SearchedCapacity, RunError> {
        let mut search = CapacitySearch::new(self.slo, vec![closed_loop], self.plan, self.rng.random());
        let curve = self.length.measured * self.curve_slices() * CURVE_SHARES.len() as u32;
        while let Some(next) = search.next().and_then(|round| round[0]) {
            let Some(slice) = self.slice(next)? else { break };
            let (evaluation, summary) = search.add(0, next, slice);
            let progress = search.progress();
            let left = search.left() + curve;
            let (rate_per_s, summary, progress) = (next.rate_per_s, Box::new(summary), Some(progress));
            observe(CapacityEvent::Slice { rate_per_s, evaluation, summary, progress, left });
        }
        let found = search.finish().into_iter().next();
        Ok(found.expect("a search of one server has one result"))
    }

    /// Slices at shares of the capacity, each share one continuous load in the server's own time. Fewer of them if the user
    /// interrupts.
    fn curve(
        &mut self,
        capacity_per_s: f64,
        observe: &mut CapacityObserver<'_>,
    ) -> Result<Vec<CapacityStep>, RunError> {
        let mut steps = Vec::new();
        let slices = self.curve_slices();
        let mut to_run = slices * CURVE_SHARES.len() as u32;
        for share in CURVE_SHARES {
            let mut next = NextSlice { rate_per_s: share * capacity_per_s, due_before: Duration::ZERO };
            let mut merged: Option<RatedSlices> = None;
            let mut is_cut = false;
            for _ in 0..slices {
                let Some(slice) = self.slice(next)? else {
                    is_cut = true;
                    break;
                };
                next.due_before = slice.outcome.draining;
                let summary = Summary::of(&slice.outcome);
                let evaluation = evaluate(self.slo, &slice.outcome, &summary);
                RatedSlices::add(&mut merged, next.rate_per_s, &evaluation, slice);
                to_run -= 1;
                let (left, summary) = (self.length.measured * to_run, Box::new(summary));
                let rate_per_s = next.rate_per_s;
                observe(CapacityEvent::Slice { rate_per_s, evaluation, summary, progress: None, left });
            }
            steps.extend(merged.map(CapacityStep::of));
            if is_cut {
                break;
            }
        }
        Ok(steps)
    }

    fn curve_slices(&self) -> u32 {
        self.length.rounds_for(self.plan.load / CURVE_SHARE).max(FEWEST_CURVE_ROUNDS)
    }

    /// Runs a slice. None if the user interrupts.
    fn slice(&mut self, next: NextSlice) -> Result<Option<Slice>, RunError> {
        self.slices += 1;
        let drawn = self.length.draw(&mut self.rng);
        let shape = Shape::open(next.rate_per_s, self.arrivals);
        let part = self.server.part_in_own_time(shape, next.due_before, &drawn);
        match self.server.run(&part, &mut |_| ()) {
            Ok(outcome) if outcome.interrupted => Ok(None),
            Ok(outcome) => Ok(Some(self.server.slice_of(outcome))),
            Err(RunError::Interrupted) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn method(&self) -> String {
        format!(
            "{} slices of open loops ({} arrivals) of {}, each level of them one continuous load; at the capacity, all operations together spend the budget of the objective",
            self.slices,
            self.arrivals,
            humantime::format_duration(Duration::from_millis(self.length.measured.as_millis() as u64)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::micros;

    #[test]
    fn a_client_limit_and_an_interruption_are_reasons_and_an_objective_that_no_rate_meets_is_none() {
        let slo: Slo = "p99<5ms".parse().expect("an objective");
        let of = |capacity, is_interrupted| reasons(capacity, None, (None, is_interrupted), &slo).join("; ");
        assert_eq!(of(SustainedCapacity::Found(1.0), false), "");
        assert_eq!(of(SustainedCapacity::NoRateMeets, false), "");
        assert!(of(SustainedCapacity::AtLeast(1.0), false).contains("the client was the limit"));
        assert!(of(SustainedCapacity::Unknown, false).contains("the client was the limit"));
        assert_eq!(of(SustainedCapacity::Unknown, true), "interrupted before the search was over");
        assert!(of(SustainedCapacity::AtLeast(1.0), true).starts_with("interrupted"));
    }

    #[test]
    fn a_soak_decides_what_the_answer_is() {
        let slo: Slo = "p99<5ms".parse().expect("an objective");
        let soak = |rate_per_s, late: u64| {
            let mut times = micros();
            times.record_n(1_000, 10_000 - late).expect("a time");
            times.record_n(8_000, late).expect("a time");
            let spent = BudgetUse::of_times(&slo, &times, 0);
            Soak { rate_per_s, own_time: Duration::from_secs(10), spent, soaks: 1 }
        };
        let found = SustainedCapacity::Found(1_000.0);
        let of = |capacity, soak: &Soak| answer(capacity, Some(soak));
        assert_eq!(of(found, &soak(950.0, 90)), (Some(950.0), None));
        let (rate, bound) = of(found, &soak(950.0, 300));
        assert_eq!((rate, bound), (Some(950.0), Some(CapacityBound::Upper)));
        let why = reasons(found, bound, (None, false), &slo).join("; ");
        assert!(why.contains("the capacity is lower: search for longer"), "{why}");
        let all = SustainedCapacity::AllCarried(1_000.0);
        assert_eq!(of(all, &soak(1_000.0, 0)), (Some(1_000.0), Some(CapacityBound::Lower)));
        assert_eq!(of(all, &soak(950.0, 0)), (Some(950.0), None), "the first soak was not sustained");
        assert_eq!(answer(found, None), (Some(1_000.0), None), "the client was the limit of the soak");
    }

    #[test]
    fn a_client_that_others_kept_from_its_cpus_gets_no_more_of_them() {
        let slo: Slo = "p99<5ms".parse().expect("an objective");
        for capacity in [SustainedCapacity::AtLeast(1.0), SustainedCapacity::Unknown] {
            let busy = capacity.reason(&slo, Some(0.95)).expect("a reason");
            assert!(busy.ends_with("give the client more threads and cores"), "{busy}");
            let kept = capacity.reason(&slo, Some(0.02)).expect("a reason");
            assert!(!kept.contains("more threads") && kept.contains("of which it used 2 % itself"), "{kept}");
        }
    }
}
