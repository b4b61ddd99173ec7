//! Capacity in rounds: a [`CapacitySearch`] has the rates, and the slices become the phases of the search and the points of
//! the curve of response time over load.

use archive::model::{PhaseKind, Plan, RunLength};
use load::capacity::levels::{LevelPlan, NextSlice, SustainedCapacity};
use load::capacity::{CURVE_SHARES, CapacitySearch, SearchedCapacity, StartingLoop};
use load::inputs::slo::Slo;
use load::spec::{Arrivals, Shape};

use super::{Rounds, in_words};
use crate::event::{Event, Observer};
use crate::trial::interleaved_trial::InterleavedTrial;

impl Rounds<'_> {
    /// Searches the capacity of each server under this objective; returns the number of rounds.
    pub fn capacity(
        &mut self,
        slo: &Slo,
        servers: &mut [InterleavedTrial<'_, '_>],
        observe: &mut Observer<'_>,
    ) -> u32 {
        let plan = LevelPlan::new(self.load(), slo);
        self.slice = self.slice.in_own_time();
        if let [_] = servers {
            self.slice = plan.slices_alone(self.slice);
        }
        let closed_loops = servers.iter().map(InterleavedTrial::starting_loop).collect();
        let mut search = CapacitySearch::new(slo, closed_loops, plan, self.seed());
        let mut order: Vec<usize> = (0..servers.len()).collect();
        let mut rounds = 0;
        // Connections stay open: the first large replies on a new one take tens of milliseconds, until its windows have grown, and
        // a load that goes on does not have these. Each block has connections of its own.
        while let Some(round) = search.next() {
            observe(Event::Doing { what: doing(&search, &round) });
            let drawn = self.next_round(&mut order, rounds);
            rounds += 1;
            for &index in &order {
                let Some(next) = round[index] else { continue };
                let shape = Shape::open(next.rate_per_s, Arrivals::Poisson);
                if let Some(slice) = servers[index].slice(shape, Some(next.due_before), &drawn, observe) {
                    search.add(index, next, slice);
                }
            }
            if Self::end_all_if_interrupted(servers) {
                return rounds;
            }
            let has_failed = |index: &usize| servers[*index].failed.is_some();
            (0..servers.len()).filter(has_failed).for_each(|index| search.fail(index));
        }
        let found = search.finish();
        let capacities: Vec<SustainedCapacity> = found.iter().map(|found| found.capacity).collect();
        for (server, found) in servers.iter_mut().zip(found) {
            server.take_capacity(self.plan, slo, found);
        }
        self.curve(slo, &capacities, servers, observe);
        rounds
    }

    /// Response time at shares of each server's capacity. In the quick preset only where nothing was known of it.
    fn curve(
        &mut self,
        slo: &Slo,
        capacities: &[SustainedCapacity],
        servers: &mut [InterleavedTrial<'_, '_>],
        observe: &mut Observer<'_>,
    ) {
        let draws = |server: &InterleavedTrial<'_, '_>| {
            self.plan.length != RunLength::Quick || server.search_start.is_none()
        };
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
            let merged = self.merged_rounds(rounds, &what, (&shapes, true), servers, observe);
            for (server, merged) in servers.iter_mut().zip(merged) {
                if let Some(merged) = merged.filter(|_| !server.loads.interrupted) {
                    server.loads.keep_slices(PhaseKind::CurveStep, merged, Some(slo));
                }
            }
        }
    }
}

impl InterleavedTrial<'_, '_> {
    fn starting_loop(&self) -> StartingLoop {
        let standstills = self.result.standstills.clone();
        StartingLoop { per_s: self.result.closed_loop_per_s, standstills }
    }

    /// Takes a capacity, with all operations of the levels at about it. All other levels are the steps of the search.
    fn take_capacity(&mut self, plan: &Plan, slo: &Slo, found: SearchedCapacity) {
        if self.loads.interrupted {
            return;
        }
        // No rate was tried, so the objective is not the reason.
        if let Some(nothing) = &self.result.nothing_succeeds {
            self.result.reasons.push(nothing.to_string());
            return;
        }
        for slices in found.others {
            self.loads.keep_level(PhaseKind::SearchStep, slices, slo);
        }
        if let Some((rate, slices)) = found.capacity.rate_per_s().zip(found.at_capacity) {
            let run = self.loads.keep_level(PhaseKind::Measure, slices, slo);
            self.result.take(&plan.measure, rate, run);
        }
        let reasons = match found.capacity {
            SustainedCapacity::AtLeast(_) | SustainedCapacity::Unknown => &mut self.result.client_reasons,
            SustainedCapacity::Found(_)
            | SustainedCapacity::AllCarried(_)
            | SustainedCapacity::NoRateMeets => &mut self.result.reasons,
        };
        reasons.extend(found.capacity.reason(slo, found.client_use));
    }
}

fn doing(search: &CapacitySearch<'_>, round: &[Option<NextSlice>]) -> String {
    let rates: Vec<Option<f64>> = round.iter().map(|next| next.map(|next| next.rate_per_s)).collect();
    let rates = in_words(&rates);
    format!("searching the capacity at {rates}: {:.0} % done", search.progress() * 100.0)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use archive::model::{Measure, SteadyState, WarmUpOutcome};
    use load::engine::RunContext;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::plan::check::objective;
    use crate::testing::outcome::closed_loop_outcome;
    use crate::testing::plan::PLAN;
    use crate::trial::load_phases::LoadPhases;
    use crate::trial::measurement::TrialMeasurement;
    use crate::trial::warm_up::WarmedUp;

    /// A warm-up of a second, with this many operations that succeeded and that failed.
    fn warmed_up(succeeded: u64, failed: u64) -> WarmedUp {
        let run = closed_loop_outcome(succeeded, failed);
        let steady = SteadyState::Steady { discard: 0, mean: 0.0, effective_observations: 50.0 };
        let outcome =
            WarmUpOutcome { discarded_s: 0.0, interval_s: 1.0, throughput: steady.clone(), p99: steady };
        let (measured, length) = (run.total.clone(), run.measured);
        WarmedUp { outcome, unsteady: None, run, measured, length, standstills: None }
    }

    #[test]
    fn a_server_of_which_nothing_succeeds_gets_the_first_error_and_no_search() {
        let text = "p99<5ms";
        let measure = Measure::Capacity { slo: text.to_owned() };
        let plan = Plan { measure, ..PLAN.parse().expect("a plan") };
        let slo = objective(&plan.measure).expect("an objective").expect("it has one");
        let (context, warm) = (RunContext::default(), warmed_up(0, 200));
        let mut loads = LoadPhases::new("", warm.run.spec.clone(), &context, Instant::now());
        let mut result = TrialMeasurement::after(&warm);
        let rng = &mut Pcg64Mcg::seed_from_u64(1);
        let mut rounds = Rounds::new(&plan, Some(&slo), [&warm], rng);
        let server = InterleavedTrial {
            loads: &mut loads,
            settings: None,
            result: &mut result,
            rate: None,
            search_start: None,
            failed: None,
        };
        let tried = rounds.capacity(&slo, &mut [server], &mut |event| panic!("no round: {event:?}"));
        assert_eq!(tried, 0);
        let why = "no capacity to search: in a closed loop no operation succeeded (status 503)";
        assert_eq!((result.reasons.join("; ").as_str(), &result.measured), (why, &None));
        assert!(result.error_share > 0.99, "the gate of errors refuses the trial: {}", result.error_share);
    }

    #[test]
    fn failures_beside_successes_leave_a_server_its_search() {
        let result = TrialMeasurement::after(&warmed_up(100, 100));
        assert_eq!((result.nothing_succeeds, result.closed_loop_per_s.round() as u64), (None, 100));
        assert!(result.error_share < 0.01, "the measurement has its own");
    }
}
