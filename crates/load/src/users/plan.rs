//! The users of a load as plain data: their operations' order and delays, and what a load of them must meet; and
//! visits, by users who do not stay.

use serde::{Deserialize, Serialize};

use super::delay::Delay;
use super::ratio::RatioRule;
use crate::inputs::rate::{Arrivals, RateProfile};
use crate::inputs::slo::Slo;

/// Most operations of users. The walk has a count for each pair.
pub const MOST_OPERATIONS: usize = 100;

/// Below this share of users who still walk, their visits are over; for the mean length of a visit.
const NEGLIGIBLE: f64 = 1e-12;

/// Which operation comes after which.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NextOperation {
    /// By the one before: a row of shares for each, which add up to 1.
    Matrix(Vec<Vec<f64>>),
    /// Independent of the one before: the share of each.
    Weights(Vec<f64>),
    /// In this order, in a circle.
    Sequence(Vec<u16>),
}

/// Users of a load. Operations are named by their place in the mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserPlan {
    /// Where a user begins; none for one that is drawn by the weights, or the first of the sequence.
    pub start: Option<u16>,
    /// What comes next.
    pub next: NextOperation,
    /// The share of users, 0 to 1, who leave after each operation. Where users stay, another one comes in the place of each.
    pub leave: Vec<f64>,
    /// The delay after each operation.
    pub delays: Vec<Delay>,
    /// The limits of each operation.
    pub limits: Vec<Option<Slo>>,
    /// What the load must meet.
    pub pass: PassCriteria,
}

/// What a load of users must meet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PassCriteria {
    /// How far the share of an operation may be from the declared one, per cent points.
    pub mix: f64,
    /// How far the mean delay may be from the one drawn, and that from the declared one, per cent.
    pub delay: f64,
    /// Bounds of counters and operations.
    #[serde(default)]
    pub ratios: Vec<RatioRule>,
}

impl Default for PassCriteria {
    fn default() -> Self {
        Self { mix: 2.0, delay: 2.0, ratios: Vec::new() }
    }
}

impl UserPlan {
    /// How many operations there are.
    pub fn operations(&self) -> usize {
        self.delays.len()
    }

    /// The operation of a place.
    pub(crate) fn operation_at(&self, place: u16) -> u16 {
        match &self.next {
            NextOperation::Sequence(order) => order[usize::from(place)],
            _ => place,
        }
    }

    /// The same users without delays, who try whether the scenario works.
    #[must_use]
    pub fn without_delays(&self) -> Self {
        Self { delays: vec![Delay::NONE; self.operations()], ..self.clone() }
    }

    /// The share of each operation in the long run.
    pub fn shares(&self) -> Vec<f64> {
        match &self.next {
            // Who leaves is followed by a user whose first operation has the same weights.
            NextOperation::Weights(weights) => weights.clone(),
            NextOperation::Sequence(order) => {
                let row = |at: usize| {
                    let mut row = vec![0.0; order.len()];
                    row[(at + 1) % order.len()] = 1.0;
                    row
                };
                let rows: Vec<Vec<f64>> = (0..order.len()).map(row).collect();
                let leave: Vec<f64> =
                    order.iter().map(|operation| self.leave[usize::from(*operation)]).collect();
                let mut shares = vec![0.0; self.operations()];
                for (operation, share) in order.iter().zip(stationary(&rows, &leave, 0)) {
                    shares[usize::from(*operation)] += share;
                }
                shares
            }
            NextOperation::Matrix(rows) => {
                stationary(rows, &self.leave, usize::from(self.start.unwrap_or(0)))
            }
        }
    }

    /// The mean delay of a user in the long run, seconds.
    pub fn mean_delay(&self) -> f64 {
        self.shares().iter().zip(&self.delays).map(|(share, delay)| share * delay.mean()).sum()
    }
}

/// The stationary distribution of a chain that begins at `start`, and begins there again where a user leaves. Half of each step
/// stays, so that chains that alternate converge as well.
fn stationary(rows: &[Vec<f64>], leave: &[f64], start: usize) -> Vec<f64> {
    let mut shares = vec![0.0; rows.len()];
    shares[start] = 1.0;
    loop {
        let mut next: Vec<f64> = shares.iter().map(|share| share / 2.0).collect();
        for ((share, row), leave) in shares.iter().zip(rows).zip(leave) {
            let stays = share * (1.0 - leave) / 2.0;
            next.iter_mut().zip(row).for_each(|(sum, part)| *sum += stays * part);
            next[start] += share * leave / 2.0;
        }
        let moved: f64 = shares.iter().zip(&next).map(|(a, b)| (a - b).abs()).sum();
        shares = next;
        if moved < NEGLIGIBLE {
            return shares;
        }
    }
}

/// Visits that arrive from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct VisitArrivals {
    /// Visits a second over time.
    pub rate: RateProfile,
    /// Gaps between them.
    pub arrivals: Arrivals,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::users::delay::DelayKind;

    /// Olio's matrix: home, login, tag, event, person, add person, add event.
    pub(in crate::users) fn olio() -> Vec<Vec<f64>> {
        [
            [0.0, 11.0, 52.0, 36.0, 0.0, 1.0, 0.0],
            [0.0, 0.0, 60.0, 20.0, 0.0, 0.0, 20.0],
            [21.0, 6.0, 41.0, 31.0, 0.0, 1.0, 0.0],
            [72.0, 21.0, 0.0, 0.0, 6.0, 1.0, 0.0],
            [52.0, 6.0, 0.0, 31.0, 11.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 100.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 100.0, 0.0, 0.0, 0.0],
        ]
        .map(|row| row.map(|percent| percent / 100.0).to_vec())
        .to_vec()
    }

    fn plan(next: NextOperation, operations: usize) -> UserPlan {
        let cycle = Delay::parse(DelayKind::Cycle, "exp:5s", None).expect("a delay");
        UserPlan {
            start: None,
            next,
            leave: vec![0.0; operations],
            delays: vec![cycle; operations],
            limits: vec![None; operations],
            pass: PassCriteria::default(),
        }
    }

    #[test]
    fn the_stationary_mix_of_olio_is_the_published_one() {
        let shares = plan(NextOperation::Matrix(olio()), 7).shares();
        let published = [26.15, 10.22, 33.45, 24.68, 2.61, 0.84, 2.04];
        for (share, percent) in shares.iter().zip(published) {
            assert!((share * 100.0 - percent).abs() < 0.01, "{shares:?}");
        }
    }

    #[test]
    fn a_chain_that_alternates_has_a_mix() {
        let rows = vec![vec![0.0, 1.0], vec![1.0, 0.0]];
        let shares = plan(NextOperation::Matrix(rows), 2).shares();
        assert!((shares[0] - 0.5).abs() < 1e-9);
        let shares = plan(NextOperation::Sequence(vec![0, 1, 1, 1]), 2).shares();
        assert!((shares[0] - 0.25).abs() < 1e-9, "{shares:?}");
    }

    #[test]
    fn visits_begin_again_where_they_left() {
        let rows = vec![vec![0.0, 1.0], vec![0.0, 1.0]];
        let of_visits = UserPlan { leave: vec![0.5, 0.25], ..plan(NextOperation::Matrix(rows), 2) };
        // Half of the visits end after the first operation; the others have four more in the mean.
        let shares = of_visits.shares();
        assert!((shares[0] - 1.0 / 3.0).abs() < 1e-9, "{shares:?}");
    }
}
