//! The whole procedure of a capacity search:
//!
//! 1. *Search*: open loops bracket and bisect the capacity, see [`Search`].
//! 2. *Confirm*: a measurement at the rate that the search found. Where it misses the objective, the next one is at a
//!    lower rate.
//! 3. *Curve*: open loops at shares of the capacity, for the curve of response time over rate.
//!
//! `load --find-capacity` uses it. The bake-off compares servers in slices instead: [`staircase`](super::staircase).

use super::search::{CLIENT_LIMITED_TRIES, NextRate, Search, StepOutcome};
use crate::inputs::slo::Slo;

/// First rate of a search, as a share of the throughput of a closed loop. It is under the capacity of most servers, so
/// that the search does not begin with an overload, and within one stride (1.5) of it.
pub(super) const FIRST_SHARE: f64 = 0.8;
/// Factor between the rates of confirmations, where the one before missed the objective. One retreat is a little more
/// than the precision of the search, so the next rate differs by more than the search could tell.
const RETREAT: f64 = 0.97;
/// Confirmations before the search ends without a capacity. Five retreats reach 14 % below the rate that the search
/// found: a server that does not meet its objective there has changed since.
const MOST_CONFIRMATIONS: u32 = 6;
/// Rates of the curve, as shares of the capacity. Response time bends in the upper half, so three of four are there.
pub const CURVE_SHARES: [f64; 4] = [0.25, 0.5, 0.75, 0.9];

/// The reason that is reported where the client set the highest rate.
pub const CLIENT_WAS_THE_LIMIT: &str = "the client was the limit of the search: the server's capacity is at least this: give the client more threads and cores";

/// What a step is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepPurpose {
    /// A rate of the search.
    Search,
    /// The measurement at the rate that was found.
    Confirm,
    /// A point of the curve, at this share of the capacity.
    Curve(f64),
}

/// Why there is no capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoCapacity {
    /// No rate of the search met the objective.
    NoRateMeets,
    /// The search found a rate, but no confirmation at or below it met the objective.
    NotConfirmed {
        /// The rate that the search found.
        near_per_s: f64,
    },
    /// The user ended it. The highest rate that met the objective so far, if one did.
    Interrupted(Option<f64>),
}

impl NoCapacity {
    /// The reason in a line.
    pub fn reason(&self, slo: &Slo) -> String {
        match self {
            Self::NoRateMeets => format!("no rate that was tried meets {slo}: relax the objective"),
            Self::NotConfirmed { near_per_s } => format!(
                "no rate near {near_per_s:.0}/s meets {slo} again: relax the objective, or repeat the run on a host without other load"
            ),
            Self::Interrupted(_) => "interrupted before the search was over".to_owned(),
        }
    }
}

/// The result of the procedure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CapacityResult {
    /// The highest rate that met the objective and was confirmed, operations a second.
    pub capacity_per_s: Result<f64, NoCapacity>,
    /// The client set the highest rate: the server's capacity is at least this.
    pub is_client_limited: bool,
    /// The user ended it, possibly while the curve was drawn.
    pub interrupted: bool,
}

/// Runs the procedure. `closed_loop_per_s` is the throughput of a closed loop with the same connections. `run_step` runs one
/// open loop at a rate; it returns `None` if the user interrupted it.
pub fn run_procedure<E>(
    closed_loop_per_s: f64,
    mut run_step: impl FnMut(StepPurpose, f64) -> Result<Option<StepOutcome>, E>,
) -> Result<CapacityResult, E> {
    let mut search = Search::new(FIRST_SHARE * closed_loop_per_s);
    let ended = |no_capacity, search: &Search| CapacityResult {
        capacity_per_s: Err(no_capacity),
        is_client_limited: search.is_client_limited(),
        interrupted: matches!(no_capacity, NoCapacity::Interrupted(_)),
    };
    let found = loop {
        match search.next() {
            NextRate::Found(Some(rate)) => break rate,
            NextRate::Found(None) => return Ok(ended(NoCapacity::NoRateMeets, &search)),
            NextRate::Try(rate) => match run_step(StepPurpose::Search, rate)? {
                Some(outcome) => search.record(rate, outcome),
                None => return Ok(ended(NoCapacity::Interrupted(search.best()), &search)),
            },
        }
    };

    let (mut rate, mut client_limited) = (found, 0);
    let mut confirmed = None;
    for _ in 0..MOST_CONFIRMATIONS {
        match run_step(StepPurpose::Confirm, rate)? {
            None => return Ok(ended(NoCapacity::Interrupted(Some(found)), &search)),
            Some(StepOutcome::Met) => {
                confirmed = Some(rate);
                break;
            }
            // This says nothing about the server: the same rate again.
            Some(StepOutcome::ClientLimited) => client_limited += 1,
            Some(StepOutcome::Missed) => rate *= RETREAT,
        }
    }
    let Some(capacity) = confirmed else {
        let ended = ended(NoCapacity::NotConfirmed { near_per_s: found }, &search);
        let is_client_limited = ended.is_client_limited || client_limited >= CLIENT_LIMITED_TRIES;
        return Ok(CapacityResult { is_client_limited, ..ended });
    };

    let mut interrupted = false;
    for share in CURVE_SHARES {
        if run_step(StepPurpose::Curve(share), capacity * share)?.is_none() {
            interrupted = true;
            break;
        }
    }
    Ok(CapacityResult {
        capacity_per_s: Ok(capacity),
        is_client_limited: search.is_client_limited(),
        interrupted,
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    type Steps = Vec<(StepPurpose, f64)>;

    /// Runs the procedure with scripted outcomes; returns the result and every step.
    fn run(
        closed_loop_per_s: f64,
        mut script: impl FnMut(StepPurpose, f64, usize) -> Option<StepOutcome>,
    ) -> (CapacityResult, Steps) {
        let mut steps = Steps::new();
        let Ok(result) = run_procedure(closed_loop_per_s, |purpose, rate| {
            let nth = steps.iter().filter(|(earlier, _)| *earlier == purpose).count();
            steps.push((purpose, rate));
            Ok::<_, Infallible>(script(purpose, rate, nth))
        });
        (result, steps)
    }

    /// A server that meets its objective up to 10,000 a second.
    fn server(rate: f64) -> StepOutcome {
        if rate <= 10_000.0 { StepOutcome::Met } else { StepOutcome::Missed }
    }

    fn rates_of(steps: &Steps, purpose: StepPurpose) -> Vec<f64> {
        steps.iter().filter(|(of, _)| *of == purpose).map(|(_, rate)| *rate).collect()
    }

    #[test]
    fn a_search_begins_below_the_closed_loop_and_is_confirmed_before_the_curve() {
        let (result, steps) = run(11_000.0, |_, rate, _| Some(server(rate)));
        let capacity = result.capacity_per_s.expect("a capacity");
        assert!(capacity <= 10_000.0 && capacity > 9_800.0, "{capacity}");
        assert_eq!(steps[0], (StepPurpose::Search, 0.8 * 11_000.0));
        assert_eq!(rates_of(&steps, StepPurpose::Confirm), [capacity]);
        let curve: Steps =
            CURVE_SHARES.iter().map(|&share| (StepPurpose::Curve(share), share * capacity)).collect();
        assert!(steps.ends_with(&curve), "{steps:?}");
        assert!(!result.is_client_limited && !result.interrupted);
    }

    #[test]
    fn a_confirmation_that_misses_is_repeated_at_a_lower_rate() {
        let (result, steps) = run(11_000.0, |purpose, rate, nth| {
            let is_slow = purpose == StepPurpose::Confirm && nth < 2;
            Some(if is_slow { StepOutcome::Missed } else { server(rate) })
        });
        let confirmations = rates_of(&steps, StepPurpose::Confirm);
        assert_eq!(confirmations.len(), 3);
        assert!(confirmations.windows(2).all(|pair| (pair[1] / pair[0] - RETREAT).abs() < 1e-9));
        assert_eq!(result.capacity_per_s, Ok(confirmations[2]));
    }

    #[test]
    fn a_confirmation_that_the_client_spoiled_is_repeated_at_the_same_rate() {
        let (result, steps) = run(11_000.0, |purpose, rate, nth| {
            let is_spoiled = purpose == StepPurpose::Confirm && nth < 3;
            Some(if is_spoiled { StepOutcome::ClientLimited } else { server(rate) })
        });
        let confirmations = rates_of(&steps, StepPurpose::Confirm);
        assert_eq!(confirmations, [confirmations[0]; 4]);
        assert_eq!(result.capacity_per_s, Ok(confirmations[0]));
        assert!(!result.is_client_limited, "the last one met the objective");
    }

    #[test]
    fn a_rate_that_is_never_confirmed_is_no_capacity() {
        let never = |outcome: StepOutcome| {
            run(11_000.0, move |purpose, rate, _| {
                Some(if purpose == StepPurpose::Confirm { outcome } else { server(rate) })
            })
        };
        let (result, steps) = never(StepOutcome::Missed);
        assert!(matches!(result.capacity_per_s, Err(NoCapacity::NotConfirmed { .. })), "{result:?}");
        assert_eq!(rates_of(&steps, StepPurpose::Confirm).len(), 6);
        assert!(matches!(steps.last(), Some((StepPurpose::Confirm, _))), "no capacity has no curve");
        assert!(!result.is_client_limited);
        assert!(never(StepOutcome::ClientLimited).0.is_client_limited);
    }

    #[test]
    fn an_objective_that_no_rate_meets_is_not_confirmed() {
        let (result, steps) = run(1_000.0, |_, _, _| Some(StepOutcome::Missed));
        assert_eq!(result.capacity_per_s, Err(NoCapacity::NoRateMeets));
        assert!(steps.iter().all(|(purpose, _)| *purpose == StepPurpose::Search));
    }

    #[test]
    fn a_client_that_sets_the_highest_rate_is_reported() {
        let (result, _) = run(1_000.0, |_, rate, _| {
            Some(if rate <= 5_000.0 { StepOutcome::Met } else { StepOutcome::ClientLimited })
        });
        assert!(result.capacity_per_s.is_ok() && result.is_client_limited);
    }

    #[test]
    fn an_interruption_keeps_what_is_known() {
        let interrupted_in = |at: fn(StepPurpose) -> bool, from: usize| {
            run(11_000.0, move |purpose, rate, nth| (!(at(purpose) && nth >= from)).then(|| server(rate))).0
        };
        let at_once = interrupted_in(|purpose| purpose == StepPurpose::Search, 0);
        assert_eq!(at_once.capacity_per_s, Err(NoCapacity::Interrupted(None)));
        let later = interrupted_in(|purpose| purpose == StepPurpose::Search, 1);
        assert_eq!(later.capacity_per_s, Err(NoCapacity::Interrupted(Some(8_800.0))));
        let in_confirmation = interrupted_in(|purpose| purpose == StepPurpose::Confirm, 0);
        assert!(matches!(in_confirmation.capacity_per_s, Err(NoCapacity::Interrupted(Some(_)))));
        let in_curve = interrupted_in(|purpose| matches!(purpose, StepPurpose::Curve(_)), 0);
        assert!(in_curve.capacity_per_s.is_ok());
        assert!([at_once, later, in_confirmation, in_curve].iter().all(|result| result.interrupted));
    }

    #[test]
    fn an_error_of_a_step_ends_the_procedure() {
        let result = run_procedure(1.0, |_, _| Err("no server"));
        assert_eq!(result, Err("no server"));
    }
}
