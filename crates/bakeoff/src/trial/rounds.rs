//! Servers that are loaded in turns, one slice each in a round: throughput, latency at given rates, and capacity. With one
//! server, the same slices follow each other.

use std::collections::BTreeMap;
use std::time::Duration;

use archive::model::{Measure, PhaseKind, Plan, RunLength, thousands};
use load::capacity::staircase::{SlicedCapacity, Staircase};
use load::capacity::{CLIENT_WAS_THE_LIMIT, FirstGuess, StepOutcome, evaluate};
use load::engine::RunError;
use load::inputs::slo::Slo;
use load::spec::{Arrivals, Shape};
use load::summary::Summary;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use super::load_phases::LoadPhases;
use super::measurement::{TrialMeasurement, amount_of};
use super::slice_length::SliceLength;
use super::slices::{DrawnSlice, MergedSlices, Slice};
use super::warm_up::WarmedUp;
use crate::event::{Event, Observer};

/// Fewest rounds of a measurement: a server's slices should be first and last in a round.
const FEWEST_ROUNDS: u32 = 2;
/// Fewest rounds of a search for capacity, and most before the rounds count.
const FEWEST_CAPACITY_ROUNDS: usize = 8;
const MOST_APPROACH_ROUNDS: u32 = 40;
/// Time of a search with one server up, in steps of the plan.
const STEPS_ALONE: u32 = 10;
/// Largest share of the time for opening connections anew, and fewest rounds in between.
const MAX_CONNECTING: f64 = 0.05;
const FEWEST_BETWEEN: u32 = 4;
/// Width of a bin of rates, as a logarithm: the slices of a search whose rates are in one bin are one point of its curve.
const BIN: f64 = 0.04;
/// The response time at the capacity is that of the slices from this many bins below it.
const BINS_BELOW: i64 = 3;
/// Rates of the curve, as shares of the capacity. Response time bends in the upper half, so three of four are there.
const CURVE_SHARES: [f64; 4] = [0.25, 0.5, 0.75, 0.9];

/// A server that takes turns.
pub struct TurnTaker<'s, 'a> {
    /// Its load.
    pub loads: &'s mut LoadPhases<'a>,
    /// What it has measured.
    pub result: &'s mut TrialMeasurement,
    /// Its rate at this point of a sweep over rates.
    pub rate: Option<f64>,
    /// The value of an earlier trial of the same variant and point.
    pub hint: Option<f64>,
    /// Why it takes no further turns.
    pub failed: Option<RunError>,
}

impl TurnTaker<'_, '_> {
    /// A slice, unless the server has failed.
    fn slice(&mut self, shape: Shape, drawn: &DrawnSlice, observe: &mut Observer<'_>) -> Option<Slice> {
        if self.failed.is_some() {
            return None;
        }
        match self.loads.slice(shape, drawn, observe) {
            Ok(slice) if self.loads.interrupted => {
                drop(slice);
                None
            }
            Ok(slice) => {
                self.result.count_slice(&slice);
                Some(slice)
            }
            Err(error) => {
                self.failed = Some(error);
                None
            }
        }
    }
}

/// What the rounds of a block have in common.
pub struct Rounds<'r> {
    plan: &'r Plan,
    /// Length of slices.
    pub slice: SliceLength,
    rng: &'r mut Pcg64Mcg,
}

impl<'r> Rounds<'r> {
    /// Rounds of servers with these warm-ups.
    pub fn new<'w>(
        plan: &'r Plan,
        warmed_up: impl IntoIterator<Item = &'w WarmedUp>,
        rng: &'r mut Pcg64Mcg,
    ) -> Self {
        let slo: Option<Slo> = match &plan.measure {
            Measure::Capacity { slo } => slo.parse().ok(),
            _ => None,
        };
        Self { plan, slice: SliceLength::for_servers(warmed_up, slo.as_ref(), plan.phases.closed_loop), rng }
    }

    /// Runs the rounds of the plan's measure; returns their number.
    pub fn run(&mut self, servers: &mut [TurnTaker<'_, '_>], observe: &mut Observer<'_>) -> u32 {
        if servers.iter().any(|server| server.rate.is_some()) {
            return self.at_rates(1, |server, _| server.rate, servers, observe);
        }
        match &self.plan.measure {
            Measure::MaxThroughput | Measure::MaxBytes => self.closed_loop(servers, observe),
            Measure::LatencyCurve { rates_per_s, .. } => {
                self.at_rates(rates_per_s.len(), |_, at| rates_per_s.get(at).copied(), servers, observe)
            }
            Measure::Capacity { slo } => {
                let slo = slo.parse().expect("the plan's objective was checked when it was made");
                self.capacity(&slo, servers, observe)
            }
            Measure::OneByOne { .. } => 0,
        }
    }

    /// Time under load of each server.
    fn load(&self) -> Duration {
        self.plan.turns.map_or(self.plan.phases.search_step * STEPS_ALONE, |turns| turns.load)
    }

    fn rounds_for(&self, load: Duration) -> u32 {
        let each = self.slice.measured + self.slice.settle;
        (load.as_secs_f64() / each.as_secs_f64()).round().max(f64::from(FEWEST_ROUNDS)) as u32
    }

    fn is_interrupted(servers: &[TurnTaker<'_, '_>]) -> bool {
        servers.iter().any(|server| server.loads.interrupted)
    }

    /// The slices of the next round, and their order: random, or that of the round before in reverse. So a drift within two
    /// rounds cancels.
    fn next_round(&mut self, order: &mut [usize], round: u32) -> DrawnSlice {
        if round.is_multiple_of(2) {
            order.shuffle(self.rng);
        } else {
            order.reverse();
        }
        self.slice.draw(self.rng)
    }

    /// Opens all connections anew, every few rounds. Which thread of a server has which connections, and how large their
    /// windows have grown, lasts as long as the connections do: a block should not be a sample of one such state.
    fn renew_connections(&self, round: u32, servers: &mut [TurnTaker<'_, '_>]) {
        let connecting = servers.iter().map(|server| server.loads.connecting).sum::<Option<Duration>>();
        let Some(connecting) = connecting else { return };
        let one_round = (self.slice.measured + self.slice.settle) * servers.len() as u32;
        let rounds = connecting.as_secs_f64() / (one_round.as_secs_f64() * MAX_CONNECTING);
        if round > 0 && round.is_multiple_of((rounds.ceil() as u32).max(FEWEST_BETWEEN)) {
            for server in servers.iter_mut().filter(|server| server.failed.is_none()) {
                server.failed = server.loads.reconnect().err();
            }
        }
    }

    /// Runs rounds of slices of one shape for each server, and merges them by server.
    fn merged_rounds(
        &mut self,
        rounds: u32,
        what: &str,
        shapes: &[Option<Shape>],
        servers: &mut [TurnTaker<'_, '_>],
        observe: &mut Observer<'_>,
    ) -> Vec<Option<MergedSlices>> {
        let mut merged: Vec<Option<MergedSlices>> = servers.iter().map(|_| None).collect();
        let mut order: Vec<usize> = (0..servers.len()).collect();
        for round in 0..rounds {
            observe(Event::Doing { what: format!("{what}: round {} of {rounds}", round + 1) });
            let drawn = self.next_round(&mut order, round);
            self.renew_connections(round, servers);
            for &index in &order {
                let Some(shape) = &shapes[index] else { continue };
                if let Some(slice) = servers[index].slice(shape.clone(), &drawn, observe) {
                    MergedSlices::add(&mut merged[index], slice);
                }
            }
            if Self::is_interrupted(servers) {
                break;
            }
        }
        merged
    }

    fn closed_loop(&mut self, servers: &mut [TurnTaker<'_, '_>], observe: &mut Observer<'_>) -> u32 {
        let rounds = self.rounds_for(self.load());
        let shapes = vec![Some(Shape::closed()); servers.len()];
        let merged = self.merged_rounds(rounds, "closed loop in turns", &shapes, servers, observe);
        for (server, merged) in servers.iter_mut().zip(merged) {
            let Some(merged) = merged.filter(|_| !server.loads.interrupted) else { continue };
            let (run, _) = server.loads.keep_slices(PhaseKind::Measure, merged, None);
            let outcome = &run.outcome;
            let within = amount_of(self.plan, &outcome.total) - amount_of(self.plan, &outcome.drain);
            let value = within / outcome.measured.as_secs_f64().max(1e-9);
            server.result.take(self.plan, value, run);
        }
        rounds
    }

    /// Latency at a number of rates; the value is the p99 at the last one.
    fn at_rates(
        &mut self,
        rates: usize,
        rate_of: impl Fn(&TurnTaker<'_, '_>, usize) -> Option<f64>,
        servers: &mut [TurnTaker<'_, '_>],
        observe: &mut Observer<'_>,
    ) -> u32 {
        let slo: Option<Slo> = self.plan.measure.slo().and_then(|text| text.parse().ok());
        let rounds = self.rounds_for(self.plan.phases.measure);
        for at in 0..rates {
            let is_last = at + 1 == rates;
            let kind = if is_last { PhaseKind::Measure } else { PhaseKind::CurveStep };
            let rates: Vec<Option<f64>> = servers.iter().map(|server| rate_of(server, at)).collect();
            let shapes: Vec<_> =
                rates.iter().map(|rate| Some(Shape::open((*rate)?, Arrivals::Poisson))).collect();
            let what = format!("measuring at {}", in_words(&rates));
            let merged = self.merged_rounds(rounds, &what, &shapes, servers, observe);
            for (server, merged) in servers.iter_mut().zip(merged) {
                let Some(merged) = merged.filter(|_| !server.loads.interrupted) else { continue };
                let (run, _) = server.loads.keep_slices(kind, merged, slo.as_ref());
                if is_last {
                    let p99_us = run.summary.response_time_us.p99;
                    server.result.take(self.plan, p99_us as f64, run);
                }
            }
        }
        rounds * rates as u32
    }

    fn capacity(&mut self, slo: &Slo, servers: &mut [TurnTaker<'_, '_>], observe: &mut Observer<'_>) -> u32 {
        let guess = |server: &TurnTaker<'_, '_>| {
            server
                .hint
                .map_or(FirstGuess::ClosedLoop(server.result.closed_loop_per_s), FirstGuess::EarlierTrial)
        };
        let mut staircase = Staircase::new(&servers.iter().map(guess).collect::<Vec<_>>());
        let counting = (self.rounds_for(self.load()) as usize).max(FEWEST_CAPACITY_ROUNDS);
        let mut bins: Vec<RateBins> = servers.iter().map(|_| RateBins::default()).collect();
        let mut order: Vec<usize> = (0..servers.len()).collect();
        let mut rounds = 0;
        while staircase.rounds() < counting && rounds < 2 * counting as u32 + MOST_APPROACH_ROUNDS {
            let rates = staircase.rates();
            if rates
                .iter()
                .zip(servers.iter())
                .all(|(rate, server)| rate.is_none() || server.failed.is_some())
            {
                break;
            }
            observe(Event::Doing { what: doing(&staircase, &rates, counting) });
            let drawn = self.next_round(&mut order, rounds);
            self.renew_connections(rounds, servers);
            rounds += 1;
            let mut outcomes: Vec<Option<StepOutcome>> = vec![None; servers.len()];
            for &index in &order {
                let Some(rate) = rates[index] else { continue };
                let Some(slice) = servers[index].slice(Shape::open(rate, Arrivals::Poisson), &drawn, observe)
                else {
                    continue;
                };
                let evaluation = evaluate(slo, &slice.outcome, &Summary::of(&slice.outcome));
                outcomes[index] = Some(evaluation.outcome());
                bins[index].add(rate, slice);
            }
            if Self::is_interrupted(servers) {
                return rounds;
            }
            for (server, outcome) in servers.iter().zip(&mut outcomes) {
                // A server that has failed misses every objective; its trial is lost, and the others go on.
                if server.failed.is_some() {
                    *outcome = Some(StepOutcome::Missed);
                }
            }
            staircase.record(&outcomes);
        }
        let capacities = staircase.capacities();
        for ((server, bins), capacity) in servers.iter_mut().zip(bins).zip(&capacities) {
            server.take_capacity(self.plan, slo, *capacity, bins);
        }
        self.curve(slo, &capacities, servers, observe);
        rounds
    }

    /// Response time at shares of each server's capacity. In the quick preset only in the first trial of each variant.
    fn curve(
        &mut self,
        slo: &Slo,
        capacities: &[SlicedCapacity],
        servers: &mut [TurnTaker<'_, '_>],
        observe: &mut Observer<'_>,
    ) {
        let draws =
            |server: &TurnTaker<'_, '_>| self.plan.length != RunLength::Quick || server.hint.is_none();
        let capacities: Vec<Option<f64>> = capacities
            .iter()
            .zip(servers.iter())
            .map(|(capacity, server)| capacity.rate_per_s().filter(|_| draws(server)))
            .collect();
        if capacities.iter().all(Option::is_none) {
            return;
        }
        let rounds = self.rounds_for(self.plan.phases.curve_step);
        for share in CURVE_SHARES {
            let shapes: Vec<Option<Shape>> = capacities
                .iter()
                .map(|rate| rate.map(|rate| Shape::open(rate * share, Arrivals::Poisson)))
                .collect();
            let what = format!("latency at {:.0} % of the capacity", share * 100.0);
            let merged = self.merged_rounds(rounds, &what, &shapes, servers, observe);
            for (server, merged) in servers.iter_mut().zip(merged) {
                if let Some(merged) = merged.filter(|_| !server.loads.interrupted) {
                    server.loads.keep_slices(PhaseKind::CurveStep, merged, Some(slo));
                }
            }
        }
    }
}

impl TurnTaker<'_, '_> {
    /// Takes a capacity, with the response times of the slices at and a little below it. The other slices are the steps of
    /// the search.
    fn take_capacity(&mut self, plan: &Plan, slo: &Slo, capacity: SlicedCapacity, mut bins: RateBins) {
        if self.loads.interrupted {
            return;
        }
        let near = capacity.rate_per_s().and_then(|rate| Some((rate, bins.take_near(rate)?)));
        for merged in bins.0.into_values() {
            self.loads.keep_slices(PhaseKind::SearchStep, merged, Some(slo));
        }
        if let Some((rate, merged)) = near {
            let (run, _) = self.loads.keep_slices(PhaseKind::Measure, merged, Some(slo));
            self.result.take(plan, rate, run);
        }
        match capacity {
            SlicedCapacity::Found(_) => {}
            SlicedCapacity::AtLeast(_) => self.result.client_reasons.push(CLIENT_WAS_THE_LIMIT.to_owned()),
            SlicedCapacity::NoRateMeets => {
                let why = format!("no rate that was tried meets {slo}: relax the objective");
                self.result.reasons.push(why);
            }
            SlicedCapacity::Unknown => {
                let why = "the search found no capacity: in most rounds the client was the limit for one of the servers";
                self.result.reasons.push(why.to_owned());
            }
        }
    }
}

fn doing(staircase: &Staircase, rates: &[Option<f64>], counting: usize) -> String {
    let rates = in_words(rates);
    if staircase.is_near() {
        format!("searching the capacity at {rates}: round {} of {counting}", staircase.rounds() + 1)
    } else {
        format!("trying {rates}")
    }
}

/// Rates for people; those that are equal once.
fn in_words(rates: &[Option<f64>]) -> String {
    let mut rates: Vec<String> =
        rates.iter().flatten().map(|rate| format!("{}/s", thousands(*rate))).collect();
    rates.dedup();
    rates.join(" and ")
}

/// The slices of a search by rate.
#[derive(Default)]
struct RateBins(BTreeMap<i64, MergedSlices>);

impl RateBins {
    fn bin(rate: f64) -> i64 {
        (rate.ln() / BIN).floor() as i64
    }

    fn add(&mut self, rate: f64, slice: Slice) {
        let mut bin = self.0.remove(&Self::bin(rate));
        MergedSlices::add(&mut bin, slice);
        self.0.extend(bin.map(|merged| (Self::bin(rate), merged)));
    }

    /// Takes the slices at a rate and a little below it; those with the next lower rate where there are none, or the next
    /// higher one.
    fn take_near(&mut self, rate: f64) -> Option<MergedSlices> {
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
