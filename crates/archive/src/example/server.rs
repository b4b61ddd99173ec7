//! A model of a server: a queue with a capacity, and the response times of such a queue.

use crate::model::{QuantileCurve, Times};

/// A made-up server after one restart.
#[derive(Debug, Clone, Copy)]
pub(super) struct MadeUpServer {
    /// Its highest throughput, operations per second.
    pub(super) limit_per_s: f64,
    /// Response time without load, microseconds.
    pub(super) idle_us: f64,
    /// Scale of the waiting time, microseconds.
    pub(super) wait_us: f64,
    /// Extra time of one operation in ten thousand, microseconds.
    pub(super) outlier_us: f64,
}

impl MadeUpServer {
    /// The quantile `q` of response time at an offered `rate`, operations per second. Waiting times are exponential as
    /// in an M/M/1 queue, with rare outliers.
    fn response_time_us(&self, q: f64, rate: f64) -> f64 {
        let busy = (rate / self.limit_per_s).min(0.995);
        let waiting = -(1.0 - q).ln() * self.wait_us * busy / (1.0 - busy);
        let outlier = self.outlier_us * ((q - 0.99).max(0.0) / 0.01).powi(24);
        self.idle_us * (0.85 + 0.3 * q) + waiting + outlier
    }

    /// The highest rate whose 99th percentile stays below `limit_us`.
    pub(super) fn capacity(&self, limit_us: f64) -> f64 {
        let (mut meets, mut fails) = (0.0, self.limit_per_s);
        for _ in 0..40 {
            let middle = f64::midpoint(meets, fails);
            *if self.response_time_us(0.99, middle) < limit_us { &mut meets } else { &mut fails } = middle;
        }
        meets
    }

    pub(super) fn times(&self, rate: f64) -> Times {
        let at = |q| self.response_time_us(q, rate) as u64;
        let mean = (1..200).map(|i| self.response_time_us(f64::from(i) / 200.0, rate)).sum::<f64>() / 199.0;
        Times {
            mean,
            p50: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p99_9: at(0.999),
            p99_99: at(0.9999),
            max: (at(0.9999) as f64 * 1.4) as u64,
        }
    }

    /// The quantile curve: five steps for each halving of the distance to 1, up to 0.99999.
    pub(super) fn curve(&self, rate: f64) -> QuantileCurve {
        let steps = (0..=83).map(|step| 1.0 - 0.5_f64.powf(f64::from(step) / 5.0));
        steps.map(|q| (q, self.response_time_us(q, rate) as u64)).collect()
    }
}
