//! Users in rounds: their delays, or the visits that arrive, give the rate, so what is measured is what an operation costs the server, or how long it takes.
//! The users of a server go on in its next slice where they were.

use archive::model::{CpuTimePerOperation, Measure, PhaseKind};

use super::Rounds;
use crate::run::event::Observer;
use crate::trial::turn_taker::TurnTaker;

impl Rounds<'_> {
    /// Measures each server with its users; returns the number of rounds.
    pub(super) fn of_users(&mut self, servers: &mut [TurnTaker<'_, '_>], observe: &mut Observer<'_>) -> u32 {
        self.slice = self.slice.of_closed_loops();
        let rounds = self.rounds_for(self.load());
        let shapes: Vec<_> = servers.iter().map(|server| Some(server.loads.own_pace())).collect();
        let merged = self.merged_rounds(rounds, "users in turns", (&shapes, false), servers, observe);
        for (server, merged) in servers.iter_mut().zip(merged) {
            let Some(merged) = merged.filter(|_| !server.loads.interrupted) else { continue };
            let run = server.loads.keep_slices(PhaseKind::Measure, merged, None);
            let per_s = run.summary.throughput_per_s;
            if !server.result.has_operations(per_s, &run) {
                continue;
            }
            server.result.cpu_time = server.loads.cpu.per_operation(per_s);
            if self.plan.measure == Measure::UserLatency {
                let p99_us = run.summary.response_time_us.p99;
                server.result.take(&self.plan.measure, p99_us as f64, run);
            } else if let Some(each_us) = server.result.cpu_time.as_ref().map(CpuTimePerOperation::each_us) {
                server.result.take(&self.plan.measure, each_us, run);
            } else {
                server.result.reasons.push(NO_CPU_TIME.to_owned());
            }
        }
        rounds
    }
}

/// Why a server has no CPU time an operation.
pub(super) const NO_CPU_TIME: &str = "the kernel counted no CPU time of the server in its slices";
