//! When the operations of an open loop are due: constant or Poisson arrivals at a rate that may change.
//!
//! It has no clock, so a test runs an hour of a schedule in milliseconds.

use std::time::Duration;

use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64Mcg;

use crate::clock::Nanos;
use crate::inputs::rate::{RateClock, RateProfile};
use crate::spec::Arrivals;

/// One worker's share of an open loop's arrivals, as instants in rising order.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    begin: Nanos,
    rate: RateClock,
    arrivals: Arrivals,
    rng: Pcg64Mcg,
    count: f64,
    next: Nanos,
}

impl Schedule {
    /// The share of worker `worker` of `workers` in a profile that starts at `begin` with the warm-up. With constant
    /// arrivals the workers take turns, so that their operations do not begin together.
    pub fn new(
        profile: &RateProfile,
        arrivals: Arrivals,
        warmup: Duration,
        begin: Nanos,
        (worker, workers): (u32, u32),
        seed: u64,
    ) -> Self {
        let share = 1.0 / f64::from(workers);
        let count = match arrivals {
            Arrivals::Poisson => 0.0,
            Arrivals::Constant => f64::from(worker) * share - 1.0,
        };
        let mut schedule = Self {
            begin,
            rate: profile.clock(warmup, share),
            arrivals,
            rng: Pcg64Mcg::seed_from_u64(seed),
            count,
            next: begin,
        };
        schedule.advance();
        schedule
    }

    fn advance(&mut self) {
        self.count += match self.arrivals {
            Arrivals::Poisson => Exp1.sample(&mut self.rng),
            Arrivals::Constant => 1.0,
        };
        let seconds = self.rate.instant_of(self.count);
        self.next = Nanos(self.begin.0.saturating_add((seconds * 1e9) as u64));
    }

    /// When the next operation is due.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.next
    }

    /// Removes the next operation from the schedule if it is due by `now` and before `end`.
    #[inline]
    pub fn take_due(&mut self, now: Nanos, end: Nanos) -> Option<Nanos> {
        let intended_start = self.next;
        (intended_start <= now && intended_start < end).then(|| {
            self.advance();
            intended_start
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::worker_share::WorkerSet;

    const SECOND: u64 = 1_000_000_000;

    fn constant(rate: f64, worker: u32, workers: u32) -> Schedule {
        let profile = RateProfile::constant(rate);
        Schedule::new(&profile, Arrivals::Constant, Duration::ZERO, Nanos(0), (worker, workers), 1)
    }

    fn instants(mut schedule: Schedule, until: Nanos) -> Vec<Nanos> {
        std::iter::from_fn(|| schedule.take_due(Nanos::NEVER, until)).collect()
    }

    #[test]
    fn a_constant_rate_does_not_drift_in_two_thousand_seconds() {
        let instants = instants(constant(1_000.0, 0, 1), Nanos(2_000 * SECOND));
        assert_eq!(instants.len(), 2_000_000);
        let last = instants[instants.len() - 1];
        assert!(last.0.abs_diff(1_999_999_000_000) <= 1_000, "{last:?}");
    }

    #[test]
    fn workers_take_turns_at_a_constant_rate() {
        let first = instants(constant(1_000.0, 0, 2), Nanos(SECOND));
        let second = instants(constant(1_000.0, 1, 2), Nanos(SECOND));
        assert_eq!((first.len(), second.len()), (500, 500));
        assert!(first.iter().zip(&second).all(|(a, b)| b.0.abs_diff(a.0 + 1_000_000) <= 1));
    }

    /// Workers are dealt to clients round-robin ([`WorkerSet`]), so client i of n has every n-th arrival.
    #[test]
    fn arrival_i_of_the_one_schedule_belongs_to_client_i_modulo_their_number() {
        let one = instants(constant(997.0, 0, 1), Nanos(SECOND));
        for (clients, workers) in [(2, 2), (3, 6), (4, 4)] {
            for client in 0..clients {
                let of_worker = |worker| instants(constant(997.0, worker, workers), Nanos(SECOND));
                let mut own: Vec<Nanos> =
                    WorkerSet::part(workers, client, clients).iter().flat_map(of_worker).collect();
                own.sort_unstable();
                let expected: Vec<Nanos> =
                    one.iter().skip(client as usize).step_by(clients as usize).copied().collect();
                assert_eq!(own.len(), expected.len(), "{client} of {clients}");
                assert!(
                    own.iter().zip(&expected).all(|(a, b)| a.0.abs_diff(b.0) <= 1),
                    "{client} of {clients}"
                );
            }
        }
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_the_spread_of_an_exponential() {
        let profile = RateProfile::constant(10_000.0);
        let schedule = Schedule::new(&profile, Arrivals::Poisson, Duration::ZERO, Nanos(0), (0, 1), 42);
        let instants = instants(schedule, Nanos(20 * SECOND));
        let gaps: Vec<f64> = instants.windows(2).map(|w| (w[1].0 - w[0].0) as f64 / 1e5).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.01 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
    }
}
