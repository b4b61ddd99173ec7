//! Users in rounds: their delays, or the visits that arrive, give the rate, so what is measured is what an operation costs the
//! server, or how long an operation takes. The users of a server go on in its next slice where they were.

use archive::model::{Measure, PhaseKind};

use super::Rounds;
use crate::event::Observer;
use crate::trial::interleaved_trial::InterleavedTrial;

impl Rounds<'_> {
    /// Measures each server with its users; returns the number of rounds.
    pub(super) fn of_users(
        &mut self,
        servers: &mut [InterleavedTrial<'_, '_>],
        observe: &mut Observer<'_>,
    ) -> u32 {
        let (rounds, merged) = self.at_own_pace("users in turns", servers, observe);
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
            } else if let Some(each_us) = server.result.counted_cpu_us() {
                server.result.take(&self.plan.measure, each_us, run);
            }
        }
        rounds
    }
}
