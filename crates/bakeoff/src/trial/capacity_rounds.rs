//! Capacity in rounds: a [`Staircase`] chooses the rates, and the slices become the phases of the search and the points of the
//! curve of response time over load.

use std::collections::BTreeMap;

use archive::model::{PhaseKind, Plan, RunLength};
use load::capacity::staircase::{FirstGuess, SlicedCapacity, Staircase};
use load::capacity::{CLIENT_WAS_THE_LIMIT, CURVE_SHARES, NoCapacity, StepOutcome, evaluate};
use load::inputs::slo::Slo;
use load::spec::{Arrivals, Shape};
use load::summary::Summary;

use super::rounds::{Rounds, in_words};
use super::slices::{MergedSlices, Slice};
use super::turn_taker::TurnTaker;
use crate::event::{Event, Observer};

/// Fewest rounds of a search for capacity, and most before the rounds count.
const FEWEST_CAPACITY_ROUNDS: usize = 8;
const MOST_APPROACH_ROUNDS: u32 = 40;
/// Width of a bin of rates, as a logarithm: the slices of a search whose rates are in one bin are one point of its curve.
const BIN: f64 = 0.04;
/// The response time at the capacity is that of the slices from this many bins below it.
const BINS_BELOW: i64 = 3;

impl Rounds<'_> {
    /// Searches the capacity of each server under this objective; returns the number of rounds.
    pub fn capacity(
        &mut self,
        slo: &Slo,
        servers: &mut [TurnTaker<'_, '_>],
        observe: &mut Observer<'_>,
    ) -> u32 {
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
            let run = self.loads.keep_slices(PhaseKind::Measure, merged, Some(slo));
            self.result.take(plan, rate, run);
        }
        match capacity {
            SlicedCapacity::Found(_) => {}
            SlicedCapacity::AtLeast(_) => self.result.client_reasons.push(CLIENT_WAS_THE_LIMIT.to_owned()),
            SlicedCapacity::NoRateMeets => {
                self.result.reasons.push(NoCapacity::NoRateMeets.reason(slo));
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
