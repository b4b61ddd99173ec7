//! CPU time an operation, in rounds: open loops at one rate for all servers, and the CPU time that each one uses in its own
//! slices. How it is read and divided is left to [`cpu_account`](crate::trial::cpu_account).

use archive::model::{CpuTimePerOperation, Measure, PhaseKind, Plan, thousands};
use load::spec::{Arrivals, Shape};

use super::{Rounds, in_words};
use crate::cpu_rate;
use crate::event::Observer;
use crate::trial::interleaved_trial::InterleavedTrial;
use crate::trial::load_phases::MeasuredRun;
use crate::trial::measurement::TrialMeasurement;

/// Least share of the offered rate at which operations end within their slices. The rest ends while a slice drains: all
/// servers carry out the same operations, so this limits how much the arrivals may differ from a Poisson process at the rate.
/// The engine's 98 % are for long runs; here, one stall of 5 ms at the end of a slice of 50 ms is 10 % of it, and beside programs that
/// use 85 % of the CPUs 69 to 87 % ended in time.
const LEAST_ACHIEVED: f64 = 0.6;

impl Rounds<'_> {
    /// Measures the CPU time of each server at this rate, or at the one that the warm-ups suggest; returns the number of
    /// rounds. In a sweep over rates, each server has its own.
    pub fn cpu_time(
        &mut self,
        rate_per_s: Option<f64>,
        servers: &mut [InterleavedTrial<'_, '_>],
        observe: &mut Observer<'_>,
    ) -> u32 {
        let closed_loops = servers.iter().map(|server| server.result.closed_loop_per_s);
        let of_all = rate_per_s.or_else(|| cpu_rate::for_closed_loops(closed_loops));
        let rates: Vec<Option<f64>> = servers.iter().map(|server| server.rate.or(of_all)).collect();
        let shapes: Vec<Option<Shape>> =
            rates.iter().map(|rate| Some(Shape::open((*rate)?, Arrivals::Poisson))).collect();
        let rounds = self.rounds_at_rates(self.load(), &rates);
        let what = format!("CPU time at {}", in_words(&rates));
        let merged = self.merged_rounds(rounds, &what, (&shapes, false), servers, observe);
        for ((server, merged), rate) in servers.iter_mut().zip(merged).zip(rates) {
            let Some(rate) = rate else {
                let why = "no rate is known, because a server had no operation in the closed loop of its warm-up: pass --rate";
                server.result.reasons.push(why.to_owned());
                continue;
            };
            let Some(merged) = merged.filter(|_| !server.loads.interrupted) else { continue };
            let run = server.loads.keep_slices(PhaseKind::Measure, merged, None);
            server.result.cpu_time = server.loads.cpu.per_operation(rate);
            server.result.take_cpu_time(self.plan, rate, run);
        }
        rounds
    }
}

impl TrialMeasurement {
    /// The CPU time an operation, microseconds. Where the kernel counted none, that is why the trial has no value.
    pub(super) fn counted_cpu_us(&mut self) -> Option<f64> {
        let each_us = self.cpu_time.as_ref().map(CpuTimePerOperation::each_us);
        if each_us.is_none() {
            self.reasons.push("the kernel counted no CPU time of the server in its slices".to_owned());
        }
        each_us
    }

    /// Takes the CPU time an operation of the slices of this run, which were offered at this rate.
    fn take_cpu_time(&mut self, plan: &Plan, rate: f64, run: MeasuredRun) {
        if !self.has_operations(rate, &run) {
            return;
        }
        let (summary, seconds) = (&run.summary, run.summary.duration_s.max(1e-9));
        let achieved = summary.throughput_per_s + summary.failed as f64 / seconds;
        let has_fallen_behind = achieved < LEAST_ACHIEVED * summary.offered_per_s;
        // A plan that varies the rate has no rate, and one that has it names it.
        let varies = plan.measure == (Measure::CpuTime { rate_per_s: None }) && !plan.sweep.is_empty();
        let measure = Measure::CpuTime { rate_per_s: (!varies).then_some(rate) };
        let offered = thousands(summary.offered_per_s);
        let Some(each_us) = self.counted_cpu_us() else { return };
        let achieved = thousands(achieved);
        let client_sent_late = summary.client.lag_us.mean > summary.server_time_us.mean;
        self.take(&measure, each_us, run);
        // Below the rate, it is not the CPU time at that rate.
        if !has_fallen_behind {
            return;
        }
        if client_sent_late {
            self.client_reasons.push(format!(
                "achieved {achieved}/s of {offered}/s offered, because the client sent late: give it more cores, or pass a lower --rate"
            ));
        } else {
            self.measured = None;
            self.reasons.push(format!(
                "the server did not keep up: {achieved}/s of {offered}/s offered: pass a lower --rate"
            ));
        }
    }
}
