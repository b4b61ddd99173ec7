//! Servers that are loaded in turns, one slice each in a round: throughput, and latency at given rates. With one server, the
//! same slices follow each other.
//!
//! [`capacity`] has the search for a capacity, [`cpu`] CPU time at a rate, [`users`] what is measured of users who stay.

mod capacity;
mod cpu;
mod users;

use std::time::Duration;

use archive::model::{Measure, PhaseKind, Plan, thousands};
use load::inputs::slo::Slo;
use load::slices::{DrawnSlice, LoopPace, MergedSlices, SliceLength, is_renewal_due};
use load::spec::{Arrivals, Shape};
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use crate::event::{Event, Observer};
use crate::trial::interleaved_trial::InterleavedTrial;
use crate::trial::measurement::amount_of;
use crate::trial::warm_up::WarmedUp;

/// Fewest rounds of a measurement: a server's slices should be first and last in a round.
const FEWEST_ROUNDS: u32 = 2;
/// Operations that a measurement at a rate should have of each server: two are then later than the p99. At a low rate that takes longer than
/// planned, but no more than this many times as long.
const OPERATIONS_AT_RATE: f64 = 200.0;
const LONGEST_AT_RATE: u32 = 4;
/// Time of a search with one server up, in steps of the plan.
const STEPS_ALONE: u32 = 10;

/// What the rounds of a block have in common.
pub struct Rounds<'r> {
    /// The plan.
    pub plan: &'r Plan,
    /// The objective of its measure.
    objective: Option<&'r Slo>,
    /// Length of slices.
    pub slice: SliceLength,
    rng: &'r mut Pcg64Mcg,
}

impl<'r> Rounds<'r> {
    /// Rounds of servers with these warm-ups.
    pub fn new<'w>(
        plan: &'r Plan,
        objective: Option<&'r Slo>,
        warmed_up: impl IntoIterator<Item = &'w WarmedUp>,
        rng: &'r mut Pcg64Mcg,
    ) -> Self {
        let is_search = plan.measure.is_capacity();
        // A server of which nothing succeeded gets no search, so its slices need no length.
        let is_loaded = |pace: &LoopPace| !is_search || pace.per_s > 0.0;
        let paces = warmed_up.into_iter().map(WarmedUp::pace).filter(is_loaded);
        Self { plan, objective, slice: SliceLength::for_servers(paces, plan.phases.closed_loop), rng }
    }

    /// Runs the rounds of the plan's measure; returns their number.
    pub fn run(&mut self, servers: &mut [InterleavedTrial<'_, '_>], observe: &mut Observer<'_>) -> u32 {
        if let Measure::CpuTime { rate_per_s } = self.plan.measure {
            return self.cpu_time(rate_per_s, servers, observe);
        }
        if self.plan.measure.is_of_users() {
            return self.of_users(servers, observe);
        }
        if servers.iter().any(|server| server.rate.is_some()) {
            return self.at_rates(1, |server, _| server.rate, servers, observe);
        }
        match &self.plan.measure {
            Measure::MaxThroughput | Measure::MaxBytes => self.closed_loop(servers, observe),
            Measure::LatencyCurve { rates_per_s, .. } => {
                self.at_rates(rates_per_s.len(), |_, at| rates_per_s.get(at).copied(), servers, observe)
            }
            Measure::Capacity { .. } => {
                let slo = self.objective.expect("a checked plan of capacities has its objective");
                self.capacity(slo, servers, observe)
            }
            Measure::OneByOne { .. }
            | Measure::CpuTime { .. }
            | Measure::UserCpuTime
            | Measure::UserLatency
            | Measure::BreakingPoint => 0,
        }
    }

    /// Time under load of each server.
    pub(super) fn load(&self) -> Duration {
        self.plan.turns.map_or(self.plan.phases.search_step * STEPS_ALONE, |turns| turns.load)
    }

    /// Rounds in which each server is loaded for this long, or for longer where the lowest of these rates needs it.
    pub(super) fn rounds_at_rates(&self, load: Duration, rates: &[Option<f64>]) -> u32 {
        let lowest = rates.iter().flatten().copied().min_by(f64::total_cmp);
        let needed = lowest.and_then(|rate| Duration::try_from_secs_f64(OPERATIONS_AT_RATE / rate).ok());
        self.rounds_for(needed.unwrap_or(load).clamp(load, load * LONGEST_AT_RATE))
    }

    /// Rounds in which each server is loaded for this long.
    pub(super) fn rounds_for(&self, load: Duration) -> u32 {
        self.slice.rounds_for(load).max(FEWEST_ROUNDS)
    }

    /// Whether the user has interrupted. An interruption ends the measurement of all servers: a round in which only some servers had
    /// their slices is no measurement.
    pub(super) fn end_all_if_interrupted(servers: &mut [InterleavedTrial<'_, '_>]) -> bool {
        let interrupted = servers.iter().any(|server| server.loads.interrupted);
        for server in servers.iter_mut() {
            server.loads.interrupted = interrupted;
        }
        interrupted
    }

    /// A seed of its own for a part of the rounds.
    pub(super) fn seed(&mut self) -> u64 {
        self.rng.random()
    }

    /// The slices of the next round, and their order: random, or the reverse of the order in the round before. So a drift within two
    /// rounds cancels.
    pub(super) fn next_round(&mut self, order: &mut [usize], round: u32) -> DrawnSlice {
        if round.is_multiple_of(2) {
            order.shuffle(self.rng);
        } else {
            order.reverse();
        }
        self.slice.draw(self.rng)
    }

    /// Opens all connections anew, every few rounds.
    pub(super) fn renew_connections(&self, round: u32, servers: &mut [InterleavedTrial<'_, '_>]) {
        let connecting = servers.iter().map(|server| server.loads.connecting()).sum::<Option<Duration>>();
        let Some(connecting) = connecting else { return };
        let one_round = self.slice.under_load() * servers.len() as u32;
        if is_renewal_due(round, connecting, one_round) {
            servers.iter_mut().for_each(InterleavedTrial::reconnect);
        }
    }

    /// Runs rounds of slices of one shape for each server, and merges them by server. In their own time, the slices of a server
    /// are one continuous load: what falls due while one slice drains is sent when the next slice begins.
    pub(super) fn merged_rounds(
        &mut self,
        rounds: u32,
        what: &str,
        (shapes, in_own_time): (&[Option<Shape>], bool),
        servers: &mut [InterleavedTrial<'_, '_>],
        observe: &mut Observer<'_>,
    ) -> Vec<Option<MergedSlices>> {
        let mut merged: Vec<Option<MergedSlices>> = servers.iter().map(|_| None).collect();
        let mut drained = vec![Duration::ZERO; servers.len()];
        let mut order: Vec<usize> = (0..servers.len()).collect();
        for round in 0..rounds {
            observe(Event::Doing { what: format!("{what}: round {} of {rounds}", round + 1) });
            let drawn = self.next_round(&mut order, round);
            // A continuous load goes on on its connections.
            if !in_own_time {
                self.renew_connections(round, servers);
            }
            for &index in &order {
                let Some(shape) = &shapes[index] else { continue };
                let due_before = in_own_time.then_some(drained[index]);
                if let Some(slice) = servers[index].slice(shape.clone(), due_before, &drawn, observe) {
                    drained[index] = slice.outcome.draining;
                    MergedSlices::add(&mut merged[index], slice);
                }
            }
            if Self::end_all_if_interrupted(servers) {
                break;
            }
        }
        merged
    }

    /// Rounds in which the load of each server has its own pace: their number, and the slices of each server as one.
    pub(super) fn at_own_pace(
        &mut self,
        what: &str,
        servers: &mut [InterleavedTrial<'_, '_>],
        observe: &mut Observer<'_>,
    ) -> (u32, Vec<Option<MergedSlices>>) {
        self.slice = self.slice.of_closed_loops();
        let rounds = self.rounds_for(self.load());
        let shapes: Vec<_> = servers.iter().map(|server| Some(server.loads.own_pace())).collect();
        (rounds, self.merged_rounds(rounds, what, (&shapes, false), servers, observe))
    }

    fn closed_loop(&mut self, servers: &mut [InterleavedTrial<'_, '_>], observe: &mut Observer<'_>) -> u32 {
        let (rounds, merged) = self.at_own_pace("closed loop in turns", servers, observe);
        for (server, merged) in servers.iter_mut().zip(merged) {
            let Some(merged) = merged.filter(|_| !server.loads.interrupted) else { continue };
            let run = server.loads.keep_slices(PhaseKind::Measure, merged, None);
            let outcome = &run.outcome;
            let within = amount_of(self.plan, &outcome.total) - amount_of(self.plan, &outcome.drain);
            // What a pause took beyond the end of a slice is time, too.
            let time = outcome.measured + server.result.drains.beyond_usual();
            let value = within / time.as_secs_f64().max(1e-9);
            server.result.cpu_time = server.loads.cpu.per_operation(run.summary.throughput_per_s);
            server.result.take(&self.plan.measure, value, run);
        }
        rounds
    }

    /// Latency at a number of rates; the value is the p99 at the last one.
    fn at_rates(
        &mut self,
        rates: usize,
        rate_of: impl Fn(&InterleavedTrial<'_, '_>, usize) -> Option<f64>,
        servers: &mut [InterleavedTrial<'_, '_>],
        observe: &mut Observer<'_>,
    ) -> u32 {
        let slo = self.objective;
        let mut all_rounds = 0;
        for at in 0..rates {
            let is_last = at + 1 == rates;
            let kind = if is_last { PhaseKind::Measure } else { PhaseKind::CurveStep };
            let rates: Vec<Option<f64>> = servers.iter().map(|server| rate_of(server, at)).collect();
            let shapes: Vec<_> =
                rates.iter().map(|rate| Some(Shape::open((*rate)?, Arrivals::Poisson))).collect();
            let rounds = self.rounds_at_rates(self.plan.phases.measure, &rates);
            all_rounds += rounds;
            let what = format!("measuring at {}", in_words(&rates));
            let merged = self.merged_rounds(rounds, &what, (&shapes, true), servers, observe);
            for ((server, merged), rate) in servers.iter_mut().zip(merged).zip(rates) {
                let measured = merged.filter(|_| !server.loads.interrupted).zip(rate);
                let Some((merged, rate)) = measured else { continue };
                let run = server.loads.keep_slices(kind, merged, slo);
                if is_last && server.result.has_operations(rate, &run) {
                    let p99_us = run.summary.response_time_us.p99;
                    server.result.take(&self.plan.measure, p99_us as f64, run);
                }
            }
        }
        all_rounds
    }
}

/// Rates for people, each once.
pub fn in_words(rates: &[Option<f64>]) -> String {
    let mut rates: Vec<String> =
        rates.iter().flatten().map(|rate| format!("{}/s", thousands(*rate))).collect();
    rates.dedup();
    rates.join(" and ")
}
