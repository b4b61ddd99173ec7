//! Thresholds of several responders that are tried in rounds: at which level does each fail half of the time?
//!
//! A server that is offered a rate meets an objective or misses it. Near its capacity, the outcome also depends on how fast
//! the machine is at that moment, which changes by more than two servers differ. Within a round all of them meet about the
//! same machine. So the difference of two thresholds rests on the rounds in which one of the two failed and the other did
//! not, as in a conditional logistic regression (Chamberlain, Review of Economic Studies 47, 1980): what a round's two
//! outcomes share cancels.
//!
//! The mean of the levels that a staircase tried is simpler. It remembers where the staircase began, and where each block
//! begins at the value of the block before, blocks are not independent: its 95 % intervals held the truth in 90 % of
//! simulated comparisons, those of these thresholds in 95 to 97 % (decision 0009).

use crate::confidence::{Confidence, ConfidenceInterval};
use crate::location::student_t;

/// Levels are natural logarithms. A responder whose threshold is this far above the level fails in one of four rounds. Not an
/// estimate: it says how much a single surprising outcome weighs. From a tenth to a half of the noise of a round, the
/// thresholds scatter by nearly the same.
const SCALE: f64 = 0.04;

/// Where no round tells two responders apart, their difference is that of the levels that were tried, give or take this.
const PRIOR_DEVIATION: f64 = 0.2;

/// Parts of the rounds that an interval rests on. Outcomes of neighbouring rounds depend on each other, because the machine
/// changes slowly and because one outcome chooses the next level; those of parts hardly do. More parts than this give an
/// interval that is too narrow where the machine changes over seconds.
const PARTS: usize = 6;
/// Fewest rounds of a part.
const FEWEST_IN_PART: usize = 2;

const ITERATIONS: u32 = 200;
const LONGEST_STEP: f64 = 0.1;
const CONVERGED: f64 = 1e-9;

/// The outcome of one responder in a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Response {
    /// The level it was tried at: the logarithm of a rate.
    pub level: f64,
    /// Whether it failed.
    pub failed: bool,
}

/// The threshold of each responder. None for one that no round tried. `rounds` has a response for each responder, or
/// none where it was not tried.
///
/// ```
/// use stats::thresholds::{Response, thresholds};
/// // The second fails from 0.3 on, the first from 0.1 on.
/// let response = |level: f64, threshold| Some(Response { level, failed: level > threshold });
/// let rounds: Vec<_> = (0..40)
///     .map(|i| 0.01 + f64::from(i % 8) * 0.05)
///     .map(|level| vec![response(level, 0.1), response(level + 0.2, 0.3)])
///     .collect();
/// let found = thresholds(&rounds);
/// assert!((found[1].unwrap() - found[0].unwrap() - 0.2).abs() < 0.01);
/// ```
pub fn thresholds(rounds: &[Vec<Option<Response>>]) -> Vec<Option<f64>> {
    let responders = rounds.iter().map(Vec::len).max().unwrap_or(0);
    let tried: Vec<Option<f64>> = (0..responders).map(|index| mean_level(rounds, index)).collect();
    let mut found = tried.clone();
    for _ in 0..ITERATIONS {
        let mut moved: f64 = 0.0;
        for index in 0..responders {
            let Some(threshold) = found[index] else { continue };
            let step = relative_step(rounds, index, threshold, &found, &tried);
            found[index] = Some(threshold + step);
            moved = moved.max(step.abs());
        }
        if moved < CONVERGED {
            break;
        }
    }
    let shift = common_shift(rounds, &found);
    found.iter().map(|threshold| threshold.map(|threshold| threshold + shift)).collect()
}

/// The interval of each threshold, from those of consecutive parts of the rounds (batch means, with Student's t). It says
/// what the thresholds were during these rounds, and not what they are in another hour: where a machine's speed changes over
/// half a minute, rounds of half a minute cannot know. None for too few rounds.
pub fn intervals(
    rounds: &[Vec<Option<Response>>],
    confidence: Confidence,
) -> Vec<Option<ConfidenceInterval>> {
    let all = thresholds(rounds);
    if rounds.len() < PARTS * FEWEST_IN_PART {
        return vec![None; all.len()];
    }
    let part = |number: usize| &rounds[number * rounds.len() / PARTS..(number + 1) * rounds.len() / PARTS];
    let parts: Vec<Vec<Option<f64>>> = (0..PARTS).map(|number| thresholds(part(number))).collect();
    let interval = |(index, threshold): (usize, &Option<f64>)| {
        let of_parts: Option<Vec<f64>> =
            parts.iter().map(|part| part.get(index).copied().flatten()).collect();
        let half = student_t(&of_parts?, confidence)?.interval.half_width();
        let threshold = (*threshold)?;
        Some(ConfidenceInterval { low: threshold - half, high: threshold + half })
    };
    all.iter().enumerate().map(interval).collect()
}

fn mean_level(rounds: &[Vec<Option<Response>>], index: usize) -> Option<f64> {
    let levels = rounds.iter().filter_map(|round| Some(round.get(index).copied()??.level));
    let (count, sum) = levels.fold((0_u32, 0.0), |(count, sum), level| (count + 1, sum + level));
    (count > 0).then(|| sum / f64::from(count))
}

fn logistic(distance: f64) -> f64 {
    1.0 / (1.0 + (-distance / SCALE).exp())
}

/// A Newton step.
#[derive(Default)]
struct Newton {
    slope: f64,
    curvature: f64,
}

impl Newton {
    /// A binary outcome of this probability, which falls as the threshold rises.
    fn add(&mut self, failed: bool, probability: f64) {
        self.slope += (probability - f64::from(u8::from(failed))) / SCALE;
        self.curvature += probability * (1.0 - probability) / SCALE.powi(2);
    }

    fn step(&self) -> f64 {
        if self.curvature > 0.0 {
            (self.slope / self.curvature).clamp(-LONGEST_STEP, LONGEST_STEP)
        } else {
            self.slope.clamp(-LONGEST_STEP, LONGEST_STEP)
        }
    }
}

/// The step of one threshold against the others, from the rounds in which it and another one had different outcomes.
fn relative_step(
    rounds: &[Vec<Option<Response>>],
    index: usize,
    threshold: f64,
    found: &[Option<f64>],
    tried: &[Option<f64>],
) -> f64 {
    let mut newton = Newton::default();
    for round in rounds {
        let Some(own) = round.get(index).copied().flatten() else { continue };
        for (other_index, response) in round.iter().enumerate() {
            let (Some(other), Some(other_threshold)) = (response, found[other_index]) else { continue };
            if other_index != index && own.failed != other.failed {
                let distance = (own.level - threshold) - (other.level - other_threshold);
                newton.add(own.failed, logistic(distance));
            }
        }
    }
    if let Some(centre) = tried[index] {
        newton.slope += (centre - threshold) / PRIOR_DEVIATION.powi(2);
        newton.curvature += PRIOR_DEVIATION.powi(-2);
    }
    newton.step()
}

/// The shift of all thresholds, from all outcomes.
fn common_shift(rounds: &[Vec<Option<Response>>], found: &[Option<f64>]) -> f64 {
    let mut shift = 0.0;
    for _ in 0..ITERATIONS {
        let mut newton =
            Newton { slope: -shift / PRIOR_DEVIATION.powi(2), curvature: PRIOR_DEVIATION.powi(-2) };
        for (response, threshold) in rounds.iter().flat_map(|round| round.iter().zip(found)) {
            if let (Some(response), Some(threshold)) = (response, threshold) {
                newton.add(response.failed, logistic(response.level - threshold - shift));
            }
        }
        let step = newton.step();
        shift += step;
        if step.abs() < CONVERGED {
            break;
        }
    }
    shift
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_distr::{Distribution, StandardNormal};
    use rand_pcg::Pcg64;

    use super::*;

    /// Rounds of servers with these thresholds on a machine whose speed wanders by 10 %, at levels scattered by 8 %. One
    /// slice in thirty is late whatever the rate is.
    fn rounds(truth: &[f64], count: usize, rng: &mut Pcg64) -> Vec<Vec<Option<Response>>> {
        let normal = |rng: &mut Pcg64| -> f64 { StandardNormal.sample(rng) };
        let mut machine = 0.0;
        (0..count)
            .map(|_| {
                machine = 0.8 * machine + 0.06 * normal(rng);
                let round = truth.iter().map(|threshold| {
                    let level = threshold + 0.08 * normal(rng);
                    let speed = machine + 0.05 * normal(rng);
                    Some(Response { level, failed: level > threshold + speed || rng.random_bool(1.0 / 30.0) })
                });
                round.collect()
            })
            .collect()
    }

    #[test]
    fn differences_are_found_on_a_machine_whose_speed_changes() {
        let rng = &mut Pcg64::seed_from_u64(5);
        let found = thresholds(&rounds(&[9.0, 9.3, 8.0], 2_000, rng));
        let found: Vec<f64> = found.into_iter().map(|threshold| threshold.expect("a threshold")).collect();
        for (index, truth) in [9.0, 9.3, 8.0].iter().enumerate() {
            assert!((found[index] - truth).abs() < 0.03, "{found:?}");
            assert!((found[index] - found[0] - (truth - 9.0)).abs() < 0.01, "{found:?}");
        }
    }

    #[test]
    fn a_few_rounds_are_not_biased_and_scatter_as_the_simulation_says() {
        let rng = &mut Pcg64::seed_from_u64(6);
        let differences: Vec<f64> = (0..300)
            .map(|_| {
                let found = thresholds(&rounds(&[0.0, 0.0], 24, rng));
                found[1].expect("a threshold") - found[0].expect("a threshold")
            })
            .collect();
        let mean = differences.iter().sum::<f64>() / 300.0;
        let deviation = (differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / 299.0).sqrt();
        assert!(mean.abs() < 3.0 * deviation / 300_f64.sqrt(), "{mean}");
        assert!(deviation < 0.05, "{deviation}");
    }

    /// One responder, by a staircase, on a machine whose speed wanders.
    #[test]
    fn intervals_hold_the_threshold_of_the_rounds() {
        let rng = &mut Pcg64::seed_from_u64(7);
        let normal = |rng: &mut Pcg64| -> f64 { StandardNormal.sample(rng) };
        for count in [12, 60, 280] {
            let mut holds = 0;
            for _ in 0..200 {
                let (mut machine, mut level, mut sum) = (0.0, 0.0, 0.0);
                let rounds: Vec<_> = (0..count)
                    .map(|_| {
                        machine = 0.9 * machine + 0.05 * normal(rng);
                        let speed = machine + 0.08 * normal(rng);
                        sum += speed;
                        let response = Response { level, failed: level > speed || rng.random_bool(0.03) };
                        level += if response.failed { -0.06 } else { 0.06 };
                        vec![Some(response)]
                    })
                    .collect();
                let interval = intervals(&rounds, Confidence::P95)[0].expect("an interval");
                holds += u32::from(interval.contains(sum / f64::from(count)));
            }
            assert!(holds >= 186, "{count} rounds: {holds} of 200");
        }
        let few = vec![vec![Some(Response { level: 0.0, failed: true })]; PARTS * FEWEST_IN_PART - 1];
        assert_eq!(intervals(&few, Confidence::P95), [None]);
        assert!(intervals(&[], Confidence::P95).is_empty());
    }

    #[test]
    fn one_responder_has_a_threshold_too_and_one_that_was_never_tried_has_none() {
        let at = |level, failed| Some(Response { level, failed });
        let alone: Vec<_> = (0..20).map(|i| vec![at(f64::from(i) * 0.05, i >= 10), None]).collect();
        let found = thresholds(&alone);
        assert!((found[0].expect("a threshold") - 0.475).abs() < 0.01, "{found:?}");
        assert_eq!(found[1], None);
        assert!(thresholds(&[]).is_empty());
    }

    #[test]
    fn outcomes_that_never_differ_leave_the_levels_that_were_tried() {
        let both = |level: f64, failed| {
            vec![Some(Response { level, failed }), Some(Response { level: level + 0.1, failed })]
        };
        let found = thresholds(&[both(1.0, true), both(0.9, false), both(0.95, true)]);
        assert!((found[1].expect("a threshold") - found[0].expect("a threshold") - 0.1).abs() < 1e-6);
    }
}
