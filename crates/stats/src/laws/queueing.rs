//! Queueing theory: exact values that a measurement must agree with.
//!
//! Little's law holds for every stable system and checks that counts, times and users are consistent. The mean waits of
//! single-server queues with Poisson arrivals check servers of known behaviour. Times are in seconds, rates per second.

/// Number of users in a closed loop by Little's law: `X · (R + Z)`, throughput times response plus think time.
///
/// Source: J. D. C. Little, "A proof for the queuing formula L = λW", Operations Research 9 (1961); with
/// think time it is the interactive response time law, Lazowska et al., *Quantitative System Performance*
/// (1984), §3.4.
pub fn users(throughput_per_s: f64, mean_response_s: f64, mean_think_s: f64) -> f64 {
    throughput_per_s * (mean_response_s + mean_think_s)
}

/// The relative error between the number of users that throughput and times imply and the actual number.
///
/// Zero if they agree. Positive if there is too much time, for example because response times count from before the
/// intended start. Negative if time is missing, for example because no reported time contains the client's own delays.
/// NaN without users.
///
/// ```
/// // 64 connections, 100 k requests/s of 0.64 ms each: no time is missing.
/// assert!(stats::queueing::little_error(64.0, 100_000.0, 0.000_64, 0.0).abs() < 1e-9);
/// ```
pub fn little_error(
    actual_users: f64,
    throughput_per_s: f64,
    mean_response_s: f64,
    mean_think_s: f64,
) -> f64 {
    users(throughput_per_s, mean_response_s, mean_think_s) / actual_users - 1.0
}

/// The share of Poisson arrivals that are lost because all `servers` are busy. `load` is the offered load in Erlang:
/// arrivals per second times mean service time.
///
/// It does not depend on the distribution of the service times. NaN for a negative load or NaN.
///
/// Source: A. K. Erlang (1917), his B formula, by its recurrence B(n) = aB(n−1) / (n + aB(n−1)); L. Kleinrock,
/// *Queueing Systems*, vol. 1 (1975), §3.5 and §5.8.
///
/// ```
/// assert!((stats::queueing::lost_share(10.0, 10) - 0.2146).abs() < 1e-4);
/// ```
pub fn lost_share(load: f64, servers: u32) -> f64 {
    if load.is_nan() || load < 0.0 {
        return f64::NAN;
    }
    (1..=servers).fold(1.0, |lost, n| load * lost / (f64::from(n) + load * lost))
}

/// A stable single-server, first-come-first-served queue with Poisson arrivals.
///
/// ```
/// use stats::queueing::Queue;
/// let half_loaded = Queue::exponential_service(500.0, 0.001).unwrap();
/// assert!((half_loaded.mean_response_s() - 0.002).abs() < 1e-12);
/// assert!(Queue::exponential_service(1000.0, 0.001).is_none(), "no steady state at full load");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Queue {
    arrivals_per_s: f64,
    mean_service_s: f64,
    /// Variance of the service time over its squared mean.
    squared_variation: f64,
}

impl Queue {
    /// M/G/1: any service time with this mean and squared coefficient of variation (variance over squared
    /// mean).
    ///
    /// `None` without a steady state (a load of 1 or more), or for an argument that is negative or not a number.
    pub fn general_service(arrivals_per_s: f64, mean_service_s: f64, squared_variation: f64) -> Option<Self> {
        let load = arrivals_per_s * mean_service_s;
        let sensible = arrivals_per_s >= 0.0 && mean_service_s >= 0.0 && squared_variation >= 0.0;
        (sensible && squared_variation.is_finite() && load < 1.0).then_some(Self {
            arrivals_per_s,
            mean_service_s,
            squared_variation,
        })
    }

    /// M/M/1: exponential service times.
    pub fn exponential_service(arrivals_per_s: f64, mean_service_s: f64) -> Option<Self> {
        Self::general_service(arrivals_per_s, mean_service_s, 1.0)
    }

    /// M/D/1: constant service times.
    pub fn fixed_service(arrivals_per_s: f64, service_s: f64) -> Option<Self> {
        Self::general_service(arrivals_per_s, service_s, 0.0)
    }

    /// Utilisation of the server, under 1.
    pub fn load(&self) -> f64 {
        self.arrivals_per_s * self.mean_service_s
    }

    /// Mean wait in the queue, in seconds: `ρ s (1 + c²) / (2 (1 − ρ))`.
    ///
    /// Source: the Pollaczek–Khinchine formula; L. Kleinrock, *Queueing Systems* vol. 1 (1975), §5.6.
    pub fn mean_wait_s(&self) -> f64 {
        let load = self.load();
        load * self.mean_service_s * (1.0 + self.squared_variation) / (2.0 * (1.0 - load))
    }

    /// Mean time from arrival to the end of service, in seconds.
    pub fn mean_response_s(&self) -> f64 {
        self.mean_wait_s() + self.mean_service_s
    }

    /// Mean number waiting or in service (Little's law).
    pub fn mean_requests(&self) -> f64 {
        users(self.arrivals_per_s, self.mean_response_s(), 0.0)
    }

    /// Quantile `p` of the response time, in seconds, for *exponential* service times. `None` for any other variation,
    /// whose quantiles do not follow from the mean, and for `p` outside 0..1.
    ///
    /// The response time of M/M/1 is exponential: Kleinrock, vol. 1, §5.12.
    pub fn response_quantile_s(&self, p: f64) -> Option<f64> {
        let exponential = (self.squared_variation - 1.0).abs() < 1e-12;
        (exponential && (0.0..1.0).contains(&p)).then(|| -(1.0 - p).ln() * self.mean_response_s())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_distr::{Distribution, Exp};
    use rand_pcg::Pcg64;

    #[test]
    fn losses_agree_with_erlangs_table() {
        // Load at which 1 % is lost (Kleinrock): 0.0101, 1.361 and 4.461 for 1, 5 and 10.
        for (servers, load) in [(1, 0.0101), (5, 1.361), (10, 4.461)] {
            assert!((lost_share(load, servers) - 0.01).abs() < 5e-5, "{servers}");
        }
        assert!(lost_share(0.0, 3).abs() < 1e-12 && lost_share(f64::NAN, 3).is_nan());
    }

    #[test]
    fn waits_at_eighty_percent_load_agree_with_the_textbook() {
        // ρ = 0.8, s = 1: M/M/1 waits ρ/(1 − ρ) = 4, M/D/1 half of that.
        let exponential = Queue::exponential_service(0.8, 1.0).unwrap();
        let fixed = Queue::fixed_service(0.8, 1.0).unwrap();
        assert!((exponential.mean_wait_s() - 4.0).abs() < 1e-12);
        assert!((fixed.mean_wait_s() - 2.0).abs() < 1e-12);
        assert!((exponential.mean_requests() - 4.0).abs() < 1e-12, "ρ/(1 − ρ) in the system");
    }

    #[test]
    fn exponential_response_quantiles() {
        let queue = Queue::exponential_service(500.0, 0.001).unwrap();
        assert!((queue.response_quantile_s(0.5).unwrap() - 0.002 * std::f64::consts::LN_2).abs() < 1e-12);
        assert_eq!(queue.response_quantile_s(1.0), None);
        assert_eq!(Queue::fixed_service(500.0, 0.001).unwrap().response_quantile_s(0.5), None);
    }

    #[test]
    fn a_simulated_queue_agrees_with_the_formula() {
        // Lindley's recurrence: wait' = max(0, wait + service − gap); service is 1 or 9 ms, half and half.
        let rng = &mut Pcg64::seed_from_u64(1);
        let gap = Exp::new(100.0).unwrap();
        let (mut wait, mut total, requests) = (0.0_f64, 0.0, 400_000);
        for _ in 0..requests {
            total += wait;
            let service = if rng.random_bool(0.5) { 0.001 } else { 0.009 };
            wait = (wait + service - gap.sample(rng)).max(0.0);
        }
        let formula = Queue::general_service(100.0, 0.005, 16.0 / 25.0).unwrap().mean_wait_s();
        let simulated = total / f64::from(requests);
        assert!((simulated / formula - 1.0).abs() < 0.05, "{simulated} against {formula}");
    }

    #[test]
    fn unrecorded_time_shows_in_littles_law() {
        // The client spent 30 ms per request in select(): the response time has only 10 of the 40 ms of each user.
        assert!((little_error(10.0, 250.0, 0.010, 0.0) + 0.75).abs() < 1e-12);
        assert!((users(250.0, 0.010, 0.030) - 10.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn more_variation_never_shortens_the_wait(load in 0.0..0.99_f64, less in 0.0..4.0_f64, more in 0.0..4.0_f64) {
            let wait = |variation: f64| Queue::general_service(load, 1.0, variation).unwrap().mean_wait_s();
            prop_assert!(wait(less) <= wait(less + more));
        }

        #[test]
        fn a_queue_is_stable_or_refused(
            arrivals in any::<f64>(),
            service in any::<f64>(),
            variation in any::<f64>(),
        ) {
            if let Some(queue) = Queue::general_service(arrivals, service, variation) {
                prop_assert!(queue.load() < 1.0 && queue.mean_wait_s() >= 0.0);
            }
        }
    }
}
