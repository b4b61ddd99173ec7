//! Whether one side is late so much more often than the other that it matters, by windows of one second: more than a multiple of the
//! other's share, or more than a fixed share.
//!
//! A window says min(x, c)/c, x being the share of late operations. This is concave in x, so a side that is late at most m times as
//! often, in each window or in m times as many windows, has at most m times the mean of the other, whatever c is. A bet on the
//! difference gains nothing in the mean then, and a stall says no more than c.

use std::collections::VecDeque;

use super::Evidence;
use super::windows::{LEAST_HISTORY, MOST_HISTORY, SideWindow};

/// A new bettor begins after so many windows: five minutes. Before a leak, those from the start have lost what they had.
const NEXT_BETTOR: u64 = 300;
/// What the first bettor owns, of all that they own together. The k-th of the others has 1/(k(k+1)) of the rest.
const FIRST_OWNS: f64 = 0.9;
/// The parts of what it owns that a bettor stakes on a window: larger ones than of [`WindowBets`](super::windows::WindowBets), because a
/// difference that is hardly beyond what is tolerated need not be found soon.
const STAKES: [f64; 3] = [0.2, 0.4, 0.8];
/// The most that a window says: so many mean differences, and so many mean shares.
const CLIPPED_AT: f64 = 2.0;

/// What a candidate may be as late as without that it matters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tolerance {
    /// A multiple of the control's share, 1 or more.
    Ratio(f64),
    /// A share of its operations, 0 to 1.
    Share(f64),
}

/// A window that the scale is taken from.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Past {
    /// |d|, in standard errors but for a factor that is the same for all windows.
    difference: f64,
    /// The mean share of both sides.
    share: f64,
}

/// A bet on each window that the candidate is late more often than is tolerated.
///
/// Source: as [`WindowBets`](super::windows::WindowBets).
#[derive(Debug, Clone, PartialEq)]
pub struct ExcessBets {
    tolerance: Tolerance,
    /// ln of what each stake of each bettor has made of 1, the first bettor first.
    bettors: Vec<[f64; STAKES.len()]>,
    windows: u64,
    /// The windows before, the oldest first.
    history: VecDeque<Past>,
}

impl ExcessBets {
    /// Without a window.
    pub fn new(tolerance: Tolerance) -> Self {
        let bettors = vec![[0.0; STAKES.len()]];
        Self { tolerance, bettors, windows: 0, history: VecDeque::new() }
    }

    /// Takes a window. One without operations on a side says nothing.
    pub fn record(&mut self, candidate: SideWindow, control: SideWindow) {
        if candidate.operations == 0 || control.operations == 0 {
            return;
        }
        let (n1, n2) = (candidate.operations as f64, control.operations as f64);
        let (x1, x2) = (candidate.late as f64 / n1, control.late as f64 / n2);
        let root = (n1 * n2 / (n1 + n2)).sqrt();
        if self.history.len() >= LEAST_HISTORY {
            let most = self.most_said(root, n1.min(n2));
            let said = x1.min(most) / most;
            let (gain, stake_of) = match self.tolerance {
                Tolerance::Ratio(ratio) => (said - ratio * x2.min(most) / most, 1.0 / ratio),
                Tolerance::Share(share) => (said - share / most, 1.0),
            };
            for log in &mut self.bettors {
                for (log, stake) in log.iter_mut().zip(STAKES) {
                    *log += (stake * stake_of * gain).ln_1p();
                }
            }
        }
        self.windows += 1;
        if self.windows.is_multiple_of(NEXT_BETTOR) {
            self.bettors.push([0.0; STAKES.len()]);
        }
        self.history.push_back(Past { difference: (x1 - x2).abs() * root, share: f64::midpoint(x1, x2) });
        if self.history.len() > MOST_HISTORY {
            self.history.pop_front();
        }
    }

    /// The share above which a window says no more: by the windows before it, and never less than one operation or the tolerated share,
    /// so that no bet loses all.
    fn most_said(&self, root: f64, operations: f64) -> f64 {
        let mut sum = Past::default();
        for past in &self.history {
            sum.difference += past.difference;
            sum.share += past.share;
        }
        let usual = CLIPPED_AT * (sum.difference / root + sum.share) / self.history.len() as f64;
        let tolerated = match self.tolerance {
            Tolerance::Ratio(_) => 0.0,
            Tolerance::Share(share) => share,
        };
        usual.max(1.0 / operations).max(tolerated)
    }

    /// Evidence against "the candidate is late at most as often as is tolerated".
    pub fn evidence(&self) -> Evidence {
        let mut owned = Vec::new();
        for (k, logs) in self.bettors.iter().enumerate() {
            let k = k as f64;
            let part = if k == 0.0 { FIRST_OWNS } else { (1.0 - FIRST_OWNS) / (k * (k + 1.0)) };
            owned.push(Evidence::mean(*logs).log() + part.ln());
        }
        // The bettors that follow have not staked theirs.
        owned.push(((1.0 - FIRST_OWNS) / self.bettors.len() as f64).ln());
        let count = owned.len() as f64;
        Evidence::from_log(Evidence::mean(owned).log() + count.ln())
    }
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

    /// A second of a server whose operations are late with this probability, and 30 % of them in this share of its seconds.
    fn second(late: f64, stalls: f64, rng: &mut Pcg64) -> SideWindow {
        let late = if rng.random_range(0.0..1.0) < stalls { 0.3 } else { late };
        window(Binomial::new(50, late).unwrap().sample(rng))
    }

    /// The mean of E after 100 windows, and its standard error.
    fn mean_evidence(tolerance: Tolerance, late: [f64; 2], stalls: [f64; 2]) -> (f64, f64) {
        let rng = &mut Pcg64::seed_from_u64(77);
        let paths = 4000;
        let mut values = Vec::with_capacity(paths);
        for _ in 0..paths {
            let mut bets = ExcessBets::new(tolerance);
            for _ in 0..100 {
                bets.record(second(late[0], stalls[0], rng), second(late[1], stalls[1], rng));
            }
            values.push(bets.evidence().value());
        }
        let paths = paths as f64;
        let mean = values.iter().sum::<f64>() / paths;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / paths;
        (mean, (variance / paths).sqrt())
    }

    #[test]
    fn evidence_is_at_most_one_in_the_mean_at_the_tolerated_difference() {
        let ratio = Tolerance::Ratio(1.25);
        for (tolerance, late, stalls) in [
            (ratio, [0.0125, 0.01], [0.0, 0.0]),
            (ratio, [0.0125, 0.01], [0.0125, 0.01]),
            (ratio, [0.01, 0.01], [0.01, 0.01]),
            (Tolerance::Share(0.02), [0.02, 0.001], [0.0, 0.0]),
        ] {
            let (mean, error) = mean_evidence(tolerance, late, stalls);
            assert!(mean <= 1.0 + 4.0 * error, "{tolerance:?} {late:?} {stalls:?}: {mean} ± {error}");
        }
        assert!(
            mean_evidence(ratio, [0.03, 0.01], [0.0, 0.0]).0 > 20.0,
            "a test that finds nothing would pass"
        );
    }

    #[test]
    fn one_window_says_no_more_than_the_most_and_none_before_there_is_a_scale() {
        let mut bets = ExcessBets::new(Tolerance::Ratio(1.0));
        for _ in 0..LEAST_HISTORY {
            bets.record(window(0), window(0));
        }
        assert!((bets.evidence().value() - 1.0).abs() < 1e-12, "nothing is bet before there is a scale");
        bets.record(window(50), window(0));
        let mean_stake = STAKES.iter().sum::<f64>() / STAKES.len() as f64;
        let expected = FIRST_OWNS * (1.0 + mean_stake) + 1.0 - FIRST_OWNS;
        assert!((bets.evidence().value() - expected).abs() < 1e-12, "{:?}", bets.evidence());
    }

    #[test]
    fn a_leak_is_found_soon_after_hours_without_a_difference() {
        let rng = &mut Pcg64::seed_from_u64(78);
        let mut bets = ExcessBets::new(Tolerance::Ratio(1.25));
        for _ in 0..3 * 3600 {
            bets.record(second(0.01, 0.0, rng), second(0.01, 0.0, rng));
        }
        let mut seconds = 0;
        while !bets.evidence().rejects(0.05) {
            bets.record(second(0.05, 0.0, rng), second(0.01, 0.0, rng));
            seconds += 1;
        }
        assert!((10..120).contains(&seconds), "{seconds} s");
    }
}
