//! The curve of what a server spends at a rate, fitted to what was spent at several: amounts of three parts, and how steep the queue
//! is. Where the curve crosses the budget, and how sure that is, is left to [`error_budget`](super).

use super::spending::{Arrivals, BudgetCurve, Spending};

/// Pauses by work, pauses by the clock, both without a queue after them, and the queue, which is the last.
const PARTS: usize = 5;
const QUEUE: usize = PARTS - 1;
/// How steep the part of the queue may be, of which one is chosen: its power of `rate / (1 - utilisation)`.
const STEEPNESSES: [f64; 6] = [2.0, 3.0, 4.5, 6.5, 9.5, 14.0];
/// Burn rate at which the variance of what was spent is twice that of a Poisson count.
const DISPERSED_FROM: f64 = 2.0;
/// Burn rate from which on a rate says little of the capacity: there, nearly all operations are late, whatever the curve.
const FAR_ABOVE: f64 = 8.0;
/// How often it is asked which rates are far above the capacity, by the curve that was found so far.
const ROUNDS: u32 = 3;
/// Steps of a fit. More of them move the crossing of simulated servers by less than 1 %.
const STEPS: u32 = 120;
/// With more clusters of late operations than these, blocks show by their scatter how much a few more would change.
const FEW_CLUSTERS: f64 = 3.0;
/// The utilisation beyond which the curve is no steeper.
const HIGHEST_UTILISATION: f64 = 0.95;
/// How far below the rates that were tried the capacity may lie, as a logarithm.
const BELOW: f64 = 3.0;
const HALVINGS: u32 = 50;

/// A curve through spendings.
pub(super) struct Fit {
    curve: BudgetCurve,
    amounts: [f64; PARTS],
    steepness: f64,
    /// The logarithm of its likelihood, but for a constant.
    likelihood: f64,
    /// Logarithms of the lowest and the highest rate.
    tried: (f64, f64),
    /// Of how many clusters of late operations the pauses' amounts are, at least 1.
    clusters: f64,
}

/// A spending in seconds of arrivals: a pause makes more operations late at a higher rate, and is one pause all the same.
struct Point {
    parts: [f64; PARTS],
    spent: f64,
    budget: f64,
    weight: f64,
}

impl Fit {
    /// The curve that suits these spendings best. None where nothing was spent, or
    /// no rate was tried.
    pub(super) fn of(curve: BudgetCurve, spendings: &[Spending]) -> Option<Self> {
        let known: Vec<&Spending> = spendings.iter().filter(|s| s.budget > 0.0).collect();
        let has_open = known.iter().any(|s| s.arrivals == Arrivals::Open);
        if !has_open || known.iter().map(|s| s.spent).sum::<f64>() <= 0.0 {
            return None;
        }
        let mut weights = vec![1.0; known.len()];
        let mut best = None;
        for _ in 0..ROUNDS {
            let fits = STEEPNESSES.map(|steepness| Self::of_steepness(curve, steepness, &known, &weights));
            let fit = fits.into_iter().max_by(|a, b| a.likelihood.total_cmp(&b.likelihood))?;
            weights = known.iter().map(|s| fit.weight(s)).collect();
            best = Some(fit);
        }
        best
    }

    /// Amounts of 0 and more at which the quasi-score is 0 (`McCullagh` and Nelder, Generalized Linear Models, 1989, chapter 9), by
    /// multiplicative steps (Richardson, JOSA 62, 1972; Lucy, Astronomical Journal 79, 1974).
    fn of_steepness(curve: BudgetCurve, steepness: f64, spendings: &[&Spending], weights: &[f64]) -> Self {
        let point = |(s, weight): (&&Spending, &f64)| {
            let second = (-s.ln_rate).exp();
            let parts = match s.arrivals {
                Arrivals::Open => parts(curve, s.ln_rate, steepness),
                Arrivals::Closed => parts_of_standstills(curve, s.ln_rate),
            };
            Point { parts, spent: s.spent * second, budget: s.budget * second, weight: *weight }
        };
        let points: Vec<Point> = spendings.iter().zip(weights).map(point).collect();
        let spent: f64 = points.iter().map(|point| point.weight * point.spent).sum();
        let mut amounts = [0.0; PARTS];
        for (part, amount) in amounts.iter_mut().enumerate() {
            let of_one: f64 = points.iter().map(|p| p.weight * p.budget * p.parts[part]).sum();
            *amount = spent / (of_one * PARTS as f64).max(f64::MIN_POSITIVE);
        }
        for _ in 0..STEPS {
            let (mut seen, mut said) = ([0.0; PARTS], [0.0; PARTS]);
            for point in &points {
                let burn = point.burn(&amounts);
                let weight = point.weight / (1.0 + burn / DISPERSED_FROM);
                for part in 0..PARTS {
                    seen[part] += weight * point.parts[part] * point.spent / burn;
                    said[part] += weight * point.parts[part] * point.budget;
                }
            }
            for part in 0..PARTS {
                amounts[part] *= seen[part] / said[part].max(f64::MIN_POSITIVE);
            }
        }
        let rates = || spendings.iter().filter(|s| s.arrivals == Arrivals::Open).map(|s| s.ln_rate);
        let likelihood = points.iter().map(|point| point.likelihood(&amounts)).sum();
        let tried = (rates().fold(f64::INFINITY, f64::min), rates().fold(f64::NEG_INFINITY, f64::max));
        let of_pauses = |point: &Point| {
            let all = point.burn(&amounts);
            point.weight * point.spent * (1.0 - point.parts[QUEUE] * amounts[QUEUE] / all)
        };
        let (sum, squares) = points
            .iter()
            .map(of_pauses)
            .fold((0.0, 0.0), |(sum, squares), spent| (sum + spent, squares + spent * spent));
        let clusters = if squares > 0.0 { (sum * sum / squares).max(1.0) } else { 1.0 };
        Self { curve, amounts, steepness, likelihood, tried, clusters }
    }

    /// How much a spending says of the capacity.
    fn weight(&self, spending: &Spending) -> f64 {
        match spending.arrivals {
            Arrivals::Open => (1.0 + (self.burn(spending.ln_rate) / FAR_ABOVE).powi(2)).recip(),
            Arrivals::Closed => 1.0,
        }
    }

    /// The burn rate at a rate.
    fn burn(&self, ln_rate: f64) -> f64 {
        let parts = parts(self.curve, ln_rate, self.steepness);
        parts.iter().zip(self.amounts).map(|(part, amount)| part * amount).sum()
    }

    /// The logarithm of the rate at which the curve is 1, or of the highest rate that was tried if the curve is below 1 there: what a
    /// server does at a rate that nobody offered is not known.
    pub(super) fn crossing(&self) -> f64 {
        let (mut low, mut high) = (self.tried.0 - BELOW, self.tried.1);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if self.burn(middle) < 1.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        f64::midpoint(low, high)
    }

    /// Whether the curve is below 1 at all rates that were tried.
    pub(super) fn is_beyond_tried(&self) -> bool {
        self.burn(self.tried.1) < 1.0
    }

    /// How far the crossing may lie lower because few pauses were seen: as many as there are at most where so many clusters were
    /// seen, by the 95 % interval of a Poisson count (Garwood, Biometrika 28, 1936). Down to the lowest rate that was tried; 0 where
    /// enough were seen.
    pub(super) fn unseen_pauses(&self) -> f64 {
        if self.clusters > FEW_CLUSTERS {
            return 0.0;
        }
        let more = most_for(self.clusters) / self.clusters;
        let mut amounts = self.amounts.map(|amount| amount * more);
        amounts[QUEUE] = self.amounts[QUEUE];
        let pausing = Self { amounts, ..*self };
        let crossing = self.crossing();
        crossing - pausing.crossing().max(self.tried.0).min(crossing)
    }
}

impl Point {
    fn burn(&self, amounts: &[f64; PARTS]) -> f64 {
        self.parts.iter().zip(amounts).map(|(part, amount)| part * amount).sum::<f64>().max(f64::MIN_POSITIVE)
    }

    /// Of counts whose variance grows faster than their mean: negative binomial.
    fn likelihood(&self, amounts: &[f64; PARTS]) -> f64 {
        let mean = self.budget * self.burn(amounts);
        let size = self.budget * DISPERSED_FROM;
        self.weight * (self.spent * mean.ln() - (self.spent + size) * (mean + size).ln())
    }
}

/// What each part spends at a rate, but for its amount.
fn parts(curve: BudgetCurve, ln_rate: f64, steepness: f64) -> [f64; PARTS] {
    let utilisation = ln_rate.exp() / curve.saturation;
    // Straight on from the highest utilisation, with the slope that the curve has there.
    let beyond = (ln_rate - (HIGHEST_UTILISATION * curve.saturation).ln()).max(0.0);
    let catching_up = beyond * HIGHEST_UTILISATION / (1.0 - HIGHEST_UTILISATION)
        - (1.0 - utilisation.min(HIGHEST_UTILISATION)).ln();
    let by_work = ln_rate - curve.saturation.ln() + catching_up;
    // At the saturation the parts are about equal.
    let queue = steepness * (by_work + (1.0 - HIGHEST_UTILISATION).ln());
    [by_work, catching_up, by_work - catching_up, 0.0, queue].map(f64::exp)
}

/// The same of the standstills of a closed loop: pauses of the whole server, which leave no queue there. Other slow operations are no
/// standstills.
fn parts_of_standstills(curve: BudgetCurve, ln_rate: f64) -> [f64; PARTS] {
    let utilisation = ln_rate.exp() / curve.saturation;
    [utilisation, 1.0, 0.0, 0.0, 0.0]
}

/// The largest mean of a Poisson count of which so many are not surprising: the 97.5th percentile of half a chi-squared variable
/// (Wilson and Hilferty, PNAS 17, 1931).
fn most_for(count: f64) -> f64 {
    const NORMAL: f64 = 1.96;
    let degrees = 2.0 * count + 2.0;
    let ninth = 2.0 / (9.0 * degrees);
    degrees * (1.0 - ninth + NORMAL * ninth.sqrt()).powi(3) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_pauses_leave_room_for_many_more() {
        // Garwood's table: 1 was seen, 5.57 at most; 10 were seen, 18.4 at most.
        assert!((most_for(1.0) - 5.57).abs() < 0.02, "{}", most_for(1.0));
        assert!((most_for(10.0) - 18.39).abs() < 0.02, "{}", most_for(10.0));
        let curve = BudgetCurve { saturation: 50_000.0 };
        // Of 40 levels, these have a pause.
        let pausing = |at: &[usize]| {
            let level = |(place, share): (usize, f64)| {
                let spent = if at.contains(&place) { 2_000.0 } else { 0.0 };
                let ln_rate = (share * 50_000.0_f64).ln();
                Spending { ln_rate, spent, budget: 100.0, arrivals: Arrivals::Open }
            };
            let shares = [0.1, 0.2, 0.3, 0.4].into_iter().cycle().take(40);
            Fit::of(curve, &shares.enumerate().map(level).collect::<Vec<_>>()).expect("spent")
        };
        let (few, many) = (pausing(&[1]), pausing(&[1, 3, 4, 6, 8, 11, 13, 14, 16, 18]));
        let said = |fit: &Fit| (fit.clusters, fit.unseen_pauses());
        assert!(
            few.clusters < many.clusters && few.unseen_pauses() > many.unseen_pauses(),
            "{:?} {:?}",
            said(&few),
            said(&many)
        );
    }

    #[test]
    fn standstills_of_a_closed_loop_are_pauses_that_leave_a_queue_in_an_open_one() {
        let curve = BudgetCurve { saturation: 50_000.0 };
        // Levels in which no pause came, and a closed loop in which half of the budget was spent by pauses.
        let levels = [5_000.0_f64, 12_500.0, 22_500.0, 30_000.0, 50_000.0].map(|rate| Spending {
            ln_rate: rate.ln(),
            spent: 0.1,
            budget: 500.0,
            arrivals: Arrivals::Open,
        });
        let ln_rate = 45_000.0_f64.ln();
        let standing = Spending { ln_rate, spent: 5_000.0, budget: 10_000.0, arrivals: Arrivals::Closed };
        let found = Fit::of(curve, &[levels.as_slice(), &[standing]].concat()).expect("spent");
        let pauses = found.amounts[0] + found.amounts[1];
        assert!(pauses > 10.0 * (found.amounts[2] + found.amounts[3]), "{:?}", found.amounts);
        let without = Fit::of(curve, &levels).expect("spent");
        assert!(found.crossing() < without.crossing() - 0.2, "{}", found.crossing().exp());
    }

    #[test]
    fn pauses_are_told_from_a_queue() {
        let curve = BudgetCurve { saturation: 50_000.0 };
        let spendings = |amounts: [f64; PARTS]| -> Vec<Spending> {
            let at = |share: f64| {
                let ln_rate = (share * 50_000.0_f64).ln();
                let burn: f64 = parts(curve, ln_rate, 6.5).iter().zip(amounts).map(|(p, a)| p * a).sum();
                Spending { ln_rate, spent: 500.0 * burn, budget: 500.0, arrivals: Arrivals::Open }
            };
            [0.1, 0.25, 0.45, 0.6, 0.7, 0.78, 0.86, 0.94, 1.02].map(at).to_vec()
        };
        for (pauses, amount) in [(0, 5.0), (1, 0.4), (2, 3.0), (3, 0.5), (0, 0.0)] {
            let mut amounts = [0.0; PARTS];
            (amounts[pauses], amounts[QUEUE]) = (amount, 1.0);
            let found = Fit::of(curve, &spendings(amounts)).expect("spent");
            let crossing = found.crossing();
            let truth = Fit { amounts, steepness: 6.5, ..found }.crossing();
            assert!((crossing - truth).abs() < 0.03, "{amounts:?}: {}", crossing.exp());
        }
    }
}
