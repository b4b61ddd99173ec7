//! Which number of transfers comes next: by a factor until the server breaks, then finer near the break.

use archive::model::{ConcurrencyStep, PlannedConcurrency};

use crate::client::is_of_client;

/// Two numbers closer than this are one: the noise of a step is larger.
const CLOSE: f64 = 1.1;

/// What comes after the steps so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextStep {
    /// More transfers, on top of those in progress.
    Rise(u32),
    /// The server has broken: all clients leave, and the run looks how it recovers. Then this many, from none.
    Finer(u32),
    /// The server does not break with all that were asked for.
    Reached,
    /// The break is known well enough.
    Found,
}

/// Whether a step broke the server: the client was not the limit.
pub(crate) fn is_broken(plan: &PlannedConcurrency, step: &ConcurrencyStep) -> bool {
    step.availability < plan.until_availability && !is_of_client(step)
}

/// Whether the clients of a step are comfortable.
pub(crate) fn is_comfortable(plan: &PlannedConcurrency, step: &ConcurrencyStep) -> bool {
    is_served_well(plan, step) && !is_of_client(step)
}

/// Whether the clients of a step are served as the comfortable are, whoever is the limit.
pub(crate) fn is_served_well(plan: &PlannedConcurrency, step: &ConcurrencyStep) -> bool {
    // A client that is not answered has no time to first byte, and would be missing in its percentile.
    let few_unanswered = step.probes_failed * 100 <= step.probes;
    step.availability >= plan.comfort_availability
        && few_unanswered
        && u128::from(step.first_byte.p99_us) <= plan.comfort_first_byte.as_micros()
}

/// The fewest transfers that broke the server.
pub(crate) fn breaking_point(plan: &PlannedConcurrency, steps: &[ConcurrencyStep]) -> Option<u32> {
    steps.iter().filter(|step| is_broken(plan, step)).map(|step| step.transfers).min()
}

/// Where availability crosses the limit: between the most transfers that it carried and the fewest that broke, on a line from one to the
/// other over the logarithm of their number. Steps are coarser than what they can tell.
pub(crate) fn crossing(plan: &PlannedConcurrency, steps: &[ConcurrencyStep]) -> Option<f64> {
    let broken = steps.iter().filter(|step| is_broken(plan, step)).min_by_key(|step| step.transfers)?;
    let whole =
        steps.iter().filter(|step| step.transfers < broken.transfers).max_by_key(|step| step.transfers);
    let Some(whole) = whole else { return Some(f64::from(broken.transfers)) };
    let (low, high) = (f64::from(whole.transfers).ln(), f64::from(broken.transfers).ln());
    let share = (whole.availability - plan.until_availability) / (whole.availability - broken.availability);
    Some((low + share * (high - low)).exp())
}

/// The most transfers at which clients were comfortable, as at all fewer ones.
pub(crate) fn comfortable_point(plan: &PlannedConcurrency, steps: &[ConcurrencyStep]) -> Option<u32> {
    let uncomfortable =
        steps.iter().filter(|step| !is_comfortable(plan, step)).map(|step| step.transfers).min();
    let comfortable = steps.iter().filter(|step| is_comfortable(plan, step)).map(|step| step.transfers);
    comfortable.filter(|transfers| uncomfortable.is_none_or(|limit| *transfers < limit)).max()
}

/// The step after these.
pub(crate) fn next(plan: &PlannedConcurrency, steps: &[ConcurrencyStep]) -> NextStep {
    let Some(last) = steps.last() else { return NextStep::Rise(plan.from) };
    let Some(broken) = breaking_point(plan, steps) else {
        if last.transfers >= plan.to {
            return NextStep::Reached;
        }
        let next = (f64::from(last.transfers) * plan.step).ceil().min(f64::from(plan.to));
        return NextStep::Rise(next as u32);
    };
    let first_break = steps.iter().position(|step| is_broken(plan, step)).unwrap_or_default();
    let finer = (steps.len() - first_break - 1) as u32;
    let whole = steps.iter().filter(|step| step.transfers < broken).map(|step| step.transfers).max();
    let Some(whole) = whole.filter(|_| finer < plan.finer) else { return NextStep::Found };
    let between = (f64::from(whole) * f64::from(broken)).sqrt().round();
    if between < f64::from(whole) * CLOSE || between * CLOSE > f64::from(broken) {
        return NextStep::Found;
    }
    NextStep::Finer(between as u32)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use archive::model::StepTimes;
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn plan(from: u32, to: u32, step: f64, finer: u32) -> PlannedConcurrency {
        PlannedConcurrency {
            from,
            to,
            step,
            finer,
            until_availability: 0.5,
            pace_bytes_per_s: 100.0,
            step_length: Duration::from_secs(5),
            last_step_length: Duration::from_secs(5),
            begin_per_s: 1e4,
            comfort_availability: 0.999,
            comfort_first_byte: Duration::from_secs(1),
            keep_settings: false,
            url: None,
        }
    }

    #[test]
    fn the_crossing_lies_between_the_steps_around_it() {
        let plan = plan(100, 1_600, 2.0, 0);
        let at = |crossing: Option<f64>| crossing.map(|value| value.round() as u32);
        // A server of 500 workers: with 1,000 clients half of them are served.
        let steps: Vec<_> = [200, 400, 800, 1_600].map(|transfers| step(transfers, 500)).into();
        assert_eq!(at(crossing(&plan, &steps)), Some(1_056));
        assert_eq!(crossing(&plan, &steps[..3]), None);
        assert_eq!(at(crossing(&plan, &steps[3..])), Some(1_600));
    }

    /// A server that serves `most` at once.
    fn step(transfers: u32, most: u32) -> ConcurrencyStep {
        let availability = f64::from(most.min(transfers)) / f64::from(transfers);
        ConcurrencyStep { transfers, availability, ..ConcurrencyStep::default() }
    }

    /// All steps with a server that serves `most` at once.
    fn climb(plan: &PlannedConcurrency, most: u32) -> Vec<ConcurrencyStep> {
        let mut steps = Vec::new();
        loop {
            assert!(steps.len() < 300, "{steps:?}");
            match next(plan, &steps) {
                NextStep::Rise(transfers) | NextStep::Finer(transfers) => steps.push(step(transfers, most)),
                NextStep::Reached | NextStep::Found => return steps,
            }
        }
    }

    #[test]
    fn steps_double_to_the_number_asked_for() {
        let numbers: Vec<u32> =
            climb(&plan(1_000, 5_000, 2.0, 3), 1 << 30).iter().map(|step| step.transfers).collect();
        assert_eq!(numbers, [1_000, 2_000, 4_000, 5_000]);
    }

    #[test]
    fn steps_are_finer_near_the_break() {
        let plan = plan(100, 100_000, 2.0, 3);
        let steps = climb(&plan, 256);
        let numbers: Vec<u32> = steps.iter().map(|step| step.transfers).collect();
        assert_eq!(numbers, [100, 200, 400, 800, 566, 476]);
        assert_eq!(breaking_point(&plan, &steps), Some(566));
        assert_eq!(comfortable_point(&plan, &steps), Some(200));
    }

    #[test]
    fn unanswered_clients_and_slow_answers_are_not_comfortable() {
        let plan = plan(1, 2, 2.0, 0);
        let good = ConcurrencyStep { availability: 1.0, probes: 100, probes_failed: 1, ..step(10, 10) };
        assert!(is_comfortable(&plan, &good));
        assert!(!is_comfortable(&plan, &ConcurrencyStep { probes_failed: 2, ..good.clone() }));
        let late = ConcurrencyStep { client_late_p99_us: 11, client_late_limit_us: 10, ..good.clone() };
        assert!(!is_comfortable(&plan, &late));
        let first_byte = StepTimes { p99_us: 1_000_001, ..StepTimes::default() };
        assert!(!is_comfortable(&plan, &ConcurrencyStep { first_byte, ..good.clone() }));
        let slow = ConcurrencyStep { first_byte, ..good.clone() };
        // A number that is comfortable above one that is not is luck.
        let more = ConcurrencyStep { transfers: 20, ..good };
        assert_eq!(comfortable_point(&plan, &[slow, more]), None);
    }

    proptest! {
        #[test]
        fn every_climb_ends_and_brackets_the_break(
            from in 1_u32..5_000, factor in 1.05_f64..4.0, times in 1.0_f64..500.0, most in 1_u32..1_000_000, finer in 0_u32..6
        ) {
            let to = (f64::from(from) * times) as u32;
            let plan = plan(from, to, factor, finer);
            let steps = climb(&plan, most);
            if let Some(broken) = breaking_point(&plan, &steps) {
                prop_assert!(broken > most * 2 - 2 || broken == from, "{broken} {most}");
            } else {
                prop_assert_eq!(steps.last().map(|step| step.transfers), Some(to));
            }
        }
    }
}
