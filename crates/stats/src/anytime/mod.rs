//! Tests that may be looked at after each observation, and ended at any time: the evidence stays valid, however often it is read.
//!
//! Each test has a process E that is at most 1 in the mean while the null hypothesis is true. So E reaches 1/α with a probability of
//! at most α, at any time (Ville's inequality). Several tests divide α among them.
//!
//! | question | module |
//! |---|---|
//! | do failures come more often on one side, and by how much at most? | [`counts`] |
//! | is one side late more often, when late operations come in bunches? | [`windows`] |
//! | is it late so much more often that it matters? | [`excess`] |
//! | where is a rate, a quantile or a distribution, at most? | [`bounds`] |
//!
//! The samples of a comparison that ends at planned times are left to [`looks`](crate::looks).

pub mod bounds;
pub mod counts;
pub mod excess;
pub mod windows;

/// Evidence against a null hypothesis: ln E, which is finite also where E is not.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Evidence {
    log: f64,
}

impl Evidence {
    /// No evidence: E is 1.
    pub const NONE: Self = Self { log: 0.0 };

    /// Evidence from ln E.
    pub fn from_log(log: f64) -> Self {
        Self { log }
    }

    /// The mean of processes, which is a process, too.
    pub fn mean(logs: impl IntoIterator<Item = f64>) -> Self {
        let logs: Vec<f64> = logs.into_iter().collect();
        let highest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !highest.is_finite() {
            return Self { log: if logs.is_empty() { 0.0 } else { highest } };
        }
        let sum: f64 = logs.iter().map(|log| (log - highest).exp()).sum();
        Self { log: highest + (sum / logs.len() as f64).ln() }
    }

    /// ln E.
    pub fn log(self) -> f64 {
        self.log
    }

    /// E.
    pub fn value(self) -> f64 {
        self.log.exp()
    }

    /// Whether the null hypothesis is rejected at the level `alpha`, 0 to 1.
    pub fn rejects(self, alpha: f64) -> bool {
        self.log >= -alpha.ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_of_processes_does_not_overflow() {
        assert!((Evidence::mean([2.0_f64.ln(), 4.0_f64.ln()]).value() - 3.0).abs() < 1e-12);
        assert!((Evidence::mean([2000.0, 0.0]).log() - (2000.0 - 2.0_f64.ln())).abs() < 1e-9);
        assert_eq!(Evidence::mean([]), Evidence::NONE);
        assert_eq!(Evidence::mean([f64::NEG_INFINITY; 2]).value(), 0.0);
    }

    #[test]
    fn evidence_rejects_from_one_in_alpha_on() {
        assert!(Evidence::from_log(100.0_f64.ln()).rejects(0.01));
        assert!(!Evidence::from_log(99.9_f64.ln()).rejects(0.01));
    }
}
