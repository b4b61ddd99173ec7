//! Whether one side is late more often than an equal one, by windows of one second: a stall makes many operations late, and is one
//! window.
//!
//! The sides are interchangeable while they are equal: same weight, same number of operations in the mean. So the sign of the
//! difference of a window is a fair coin, whatever the distribution, and a bet on it gains nothing in the mean.

use std::collections::VecDeque;

use super::Evidence;

/// Windows that the scale is taken from: ten minutes.
pub(super) const MOST_HISTORY: usize = 600;
/// Windows without a bet at the beginning, because there is no scale yet.
pub(super) const LEAST_HISTORY: usize = 10;
/// A difference of so many mean differences is the most that one window can say.
const CLIPPED_AT: f64 = 4.0;
/// The parts of what it owns that a bettor stakes on a window.
const STAKES: [f64; 4] = [0.1, 0.2, 0.4, 0.8];

/// Operations of one side in one window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SideWindow {
    /// Those that were late.
    pub late: u64,
    /// All of them.
    pub operations: u64,
}

/// A bet on each window that the candidate is late more often than the control.
///
/// Source: I. Waudby-Smith & A. Ramdas, "Estimating means of bounded random variables by betting", arXiv 2010.09686.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WindowBets {
    /// ln of what each stake has made of 1.
    logs: [f64; STAKES.len()],
    /// |d| of the windows before, the oldest first.
    history: VecDeque<f64>,
    sum: f64,
}

impl WindowBets {
    /// Takes a window. One without operations on a side says nothing.
    pub fn record(&mut self, candidate: SideWindow, control: SideWindow) {
        if candidate.operations == 0 || control.operations == 0 {
            return;
        }
        let difference = difference(candidate, control);
        let scale = CLIPPED_AT * self.sum / self.history.len().max(1) as f64;
        if self.history.len() >= LEAST_HISTORY && difference != 0.0 {
            let z = if scale > 0.0 { (difference / scale).clamp(-1.0, 1.0) } else { difference.signum() };
            for (log, stake) in self.logs.iter_mut().zip(STAKES) {
                *log += (stake * z).ln_1p();
            }
        }
        self.history.push_back(difference.abs());
        if self.history.len() > MOST_HISTORY {
            self.history.pop_front();
        }
        self.sum = self.history.iter().sum();
    }

    /// Evidence against "the candidate is as a control".
    pub fn evidence(&self) -> Evidence {
        Evidence::mean(self.logs)
    }
}

/// The difference of the late shares, in standard errors but for a factor that is the same for all windows: so windows of few
/// operations, at the first steps, do not set the scale of those with many.
fn difference(candidate: SideWindow, control: SideWindow) -> f64 {
    let (n1, n2) = (candidate.operations as f64, control.operations as f64);
    let shares = candidate.late as f64 / n1 - control.late as f64 / n2;
    shares * (n1 * n2 / (n1 + n2)).sqrt()
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_distr::{Binomial, Distribution};
    use rand_pcg::Pcg64;

    use super::*;

    fn window(late: u64) -> SideWindow {
        SideWindow { late, operations: 50 }
    }

    /// A second of a server whose operations are late with this probability, and that stalls in one second of a hundred.
    fn second(late: f64, stalls: bool, rng: &mut Pcg64) -> SideWindow {
        let late = if stalls && rng.random_range(0..100) == 0 { 0.3 } else { late };
        window(Binomial::new(50, late).unwrap().sample(rng))
    }

    /// The second in which the evidence reaches 1/0.01.
    fn found_at(candidate: f64, control: f64, seconds: u32, rng: &mut Pcg64) -> Option<u32> {
        let mut bets = WindowBets::default();
        for at in 0..seconds {
            bets.record(second(candidate, true, rng), second(control, true, rng));
            if bets.evidence().rejects(0.01) {
                return Some(at);
            }
        }
        None
    }

    #[test]
    fn bets_are_products_of_one_plus_stake_times_z() {
        let mut bets = WindowBets::default();
        for _ in 0..LEAST_HISTORY {
            bets.record(window(2), window(1));
        }
        assert_eq!(bets.evidence(), Evidence::NONE, "nothing is bet before there is a scale");
        // Each difference was the same: z is 1/4 for it, and -1/2 for the double one in the other direction.
        bets.record(window(2), window(1));
        bets.record(window(1), window(3));
        let scale_after = 4.0; // The mean is the one difference, also after the eleventh window.
        let expected: f64 =
            STAKES.iter().map(|stake| (1.0 + stake / 4.0) * (1.0 - stake * 2.0 / scale_after)).sum::<f64>()
                / 4.0;
        assert!((bets.evidence().value() - expected).abs() < 1e-12);
    }

    #[test]
    fn one_window_says_no_more_than_the_clipped_difference() {
        let mut bets = WindowBets::default();
        for _ in 0..LEAST_HISTORY {
            bets.record(window(1), window(0));
        }
        bets.record(window(50), window(0));
        assert!((bets.evidence().value() - 1.375).abs() < 1e-12, "the mean stake is 0.375");
    }

    #[test]
    fn windows_without_operations_say_nothing() {
        let mut bets = WindowBets::default();
        for _ in 0..100 {
            bets.record(SideWindow { late: 0, operations: 0 }, window(9));
            bets.record(window(9), SideWindow { late: 0, operations: 0 });
        }
        assert_eq!(bets, WindowBets::default());
    }

    #[test]
    fn evidence_is_at_most_one_in_the_mean_also_with_stalls() {
        let rng = &mut Pcg64::seed_from_u64(65);
        let paths = 100_000;
        let mut values = Vec::with_capacity(paths);
        for _ in 0..paths {
            let mut bets = WindowBets::default();
            for _ in 0..40 {
                bets.record(second(0.01, true, rng), second(0.01, true, rng));
            }
            values.push(bets.evidence().value());
        }
        let paths = paths as f64;
        let mean = values.iter().sum::<f64>() / paths;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / paths;
        let error = (variance / paths).sqrt();
        assert!((mean - 1.0).abs() <= 4.0 * error, "{mean} ± {error}");
    }

    #[test]
    fn equal_servers_with_stalls_are_seldom_told_apart_and_twice_as_late_ones_soon() {
        let rng = &mut Pcg64::seed_from_u64(66);
        let mut alarms = 0;
        for _ in 0..200 {
            alarms += u32::from(found_at(0.01, 0.01, 3600, rng).is_some());
        }
        assert!(alarms <= 6, "{alarms} of 200 at 1 %");
        let mut seconds: Vec<u32> =
            (0..99).map(|_| found_at(0.02, 0.01, 3600, rng).unwrap_or(3600)).collect();
        seconds.sort_unstable();
        assert!(seconds[49] <= 150, "the median is {} s", seconds[49]);
    }
}
