//! The rules of users: whether the walk, the delays, the limits and the ratios of a load are those of its plan.
//!
//! A rule is broken where a figure is beyond its limit by more than chance explains ([`CHANCE`] standard errors), so that a short
//! load does not fail by chance. Faban, where these rules come from, tests successes only, and the delays against the drawn mean
//! alone; here an operation counts whether it succeeded or not, by the time at which it was due.

use super::limits::MAX_ERROR_SHARE;
use super::rule::BrokenRule;
use crate::outcome::LoadOutcome;
use crate::outcome::user_summary::{
    OutsideOperation, has_visits, is_met, measured, response_times, users_by_littles_law,
};
use crate::record::UserStats;
use crate::users::delay::DelayKind;
use crate::users::{RatioRule, UserPlan};

/// Standard errors that chance explains: beyond them are 0.05 % of all figures.
pub const CHANCE: f64 = 3.5;
/// Largest share of visits that may find no slot.
pub const MAX_REFUSED: f64 = 0.001;
/// How far the number of users may be from throughput times (response + delay), a share.
pub const MAX_LITTLE: f64 = 0.025;

/// The rules that the users of a load break.
pub(super) fn broken_rules(outcome: &LoadOutcome) -> Vec<BrokenRule> {
    let Some((plan, stats)) = measured(outcome) else { return Vec::new() };
    let begun: u64 = stats.delays.iter().map(|delay| delay.begun).sum();
    if begun == 0 {
        return Vec::new();
    }
    let mut broken = Vec::new();
    for ((name, share), delay) in outcome.operations.iter().zip(plan.shares()).zip(&stats.delays) {
        let percent = 100.0 * delay.begun as f64 / begun as f64;
        let by_chance = 100.0 * CHANCE * (share * (1.0 - share) / begun as f64).sqrt();
        let allowed_points = plan.pass.mix.max(by_chance);
        if (percent - share * 100.0).abs() > allowed_points {
            broken.push(BrokenRule::Mix {
                operation: name.clone(),
                percent,
                declared_percent: share * 100.0,
                allowed_points,
            });
        }
    }
    broken.extend(broken_delays(plan, stats));
    if stats.refused as f64 > MAX_REFUSED * stats.arrived as f64 {
        broken.push(BrokenRule::RefusedVisits { refused: stats.refused, arrived: stats.arrived });
    }
    for (at, limit) in plan.limits.iter().enumerate() {
        let operation = &outcome.total.operations[at];
        let Some(limit) = limit.as_ref().filter(|_| stats.delays[at].begun > 0) else { continue };
        if !is_met(limit, operation) {
            let response = response_times(operation);
            broken.push(BrokenRule::OperationLimit {
                operation: outcome.operations[at].clone(),
                limit: limit.to_string(),
                p50_us: response.value_at_quantile(0.5),
                p90_us: response.value_at_quantile(0.9),
                p99_us: response.value_at_quantile(0.99),
            });
        }
    }
    broken.extend(broken_ratios(plan, outcome));
    let users = outcome.spec.connections;
    let allowed = MAX_LITTLE.max(CHANCE / (begun as f64).sqrt());
    if let Some(found) = users_by_littles_law(outcome, stats)
        && (found / f64::from(users) - 1.0).abs() > allowed
        && !(outcome.interrupted || has_visits(outcome))
    {
        broken.push(BrokenRule::LittlesLaw { users, found });
    }
    broken
}

fn broken_ratios(plan: &UserPlan, outcome: &LoadOutcome) -> Vec<BrokenRule> {
    let count = |name: &str| {
        let counter = outcome.counters.iter().position(|known| known == name);
        let operation = outcome.operations.iter().position(|known| known == name);
        match (counter, operation) {
            (Some(at), _) => outcome.total.counters[at],
            (None, Some(at)) => outcome.total.operations[at].succeeded(),
            (None, None) => 0,
        }
    };
    let broken = |rule: &RatioRule| {
        let (part, of) = (count(&rule.part), count(&rule.of));
        rule.is_broken(part, of, CHANCE)
            .then(|| BrokenRule::Ratio { ratio: rule.text().to_owned(), found: part as f64 / of as f64 })
    };
    plan.pass.ratios.iter().filter_map(broken).collect()
}

fn broken_delays(plan: &UserPlan, stats: &UserStats) -> Vec<BrokenRule> {
    let mut broken = Vec::new();
    let (mut drawn, mut actual, mut declared, mut variance) = (0.0, 0.0, 0.0, 0.0);
    for (delay, stats) in plan.delays.iter().zip(&stats.delays) {
        drawn += stats.drawn_ns as f64 / 1e9;
        actual += stats.actual_ns as f64 / 1e9;
        declared += stats.followed as f64 * delay.mean();
        variance += stats.followed as f64 * delay.deviation().powi(2);
    }
    let followed: u64 = stats.delays.iter().map(|delay| delay.followed).sum();
    if followed == 0 || declared <= 0.0 {
        return broken;
    }
    let mean = |sum: f64| sum / followed as f64;
    let limit = plan.pass.delay / 100.0;
    let has_cycles = plan.delays.iter().any(|delay| delay.kind == DelayKind::Cycle);
    if has_cycles && actual > drawn * (1.0 + limit) {
        broken.push(BrokenRule::Delay {
            actual_s: mean(actual),
            drawn_s: mean(drawn),
            allowed_percent: plan.pass.delay,
        });
    }
    if (drawn - declared).abs() > (limit * declared).max(CHANCE * variance.sqrt()) {
        broken.push(BrokenRule::DrawnDelay {
            drawn_s: mean(drawn),
            declared_s: mean(declared),
            allowed_percent: plan.pass.delay,
        });
    }
    broken
}

/// The operations that failed more often than those of a mix may.
pub fn broken_outside(operations: &[OutsideOperation]) -> Vec<BrokenRule> {
    let mut broken = Vec::new();
    for OutsideOperation { name, requests, failed, .. } in operations {
        let of = requests + failed;
        if *failed as f64 > MAX_ERROR_SHARE * of as f64 {
            broken.push(BrokenRule::OutsideOperation { operation: name.clone(), failed: *failed, of });
        }
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::example;
    use crate::outcome::user_summary::UserSummary;
    use crate::record::{DelayStats, record};
    use crate::spec::Shape;
    use crate::users::delay::Delay;
    use crate::users::{NextOperation, PassCriteria};

    const SECOND: u64 = 1_000_000_000;

    /// A load of ten users for 100 s with two operations, each with a cycle of 1 s and a response time of 10 ms.
    fn outcome(begun: [u64; 2]) -> LoadOutcome {
        let mut outcome = example::outcome();
        let cycle = Delay::parse(DelayKind::Cycle, "1s", None).expect("a delay");
        (outcome.spec.connections, outcome.spec.part.shape) = (10, Shape::closed());
        outcome.spec.users = Some(UserPlan {
            start: None,
            next: NextOperation::Weights(vec![0.8, 0.2]),
            leave: vec![0.0; 2],
            delays: vec![cycle; 2],
            limits: vec![Some("p90<20ms".parse().expect("a limit")), None],
            pass: PassCriteria::default(),
        });
        outcome.operations = ["home", "buy"].map(str::to_owned).to_vec();
        let seconds = (begun[0] + begun[1]) / 10;
        outcome.measured = std::time::Duration::from_secs(seconds);
        let empty = crate::record::Interval::new(2, 0);
        outcome.total = empty.clone();
        outcome.drain = empty;
        let mut stats = UserStats::new(2, false);
        for (at, count) in begun.into_iter().enumerate() {
            stats.delays[at] = DelayStats {
                begun: count,
                followed: count,
                drawn_ns: count * SECOND,
                actual_ns: count * SECOND,
                idle_ns: count * (SECOND - 10_000_000),
            };
            for _ in 0..count {
                record(&mut outcome.total.operations[at].response_time, 10_000);
            }
        }
        outcome.total.users = Some(Box::new(stats));
        outcome
    }

    fn broken(outcome: &LoadOutcome) -> Vec<String> {
        broken_rules(outcome).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_walk_as_declared_breaks_no_rule() {
        let outcome = outcome([800, 200]);
        assert_eq!(broken(&outcome), Vec::<String>::new());
        let summary = UserSummary::of(&outcome).expect("users");
        assert!((summary.count_by_littles_law.expect("a number") - 10.0).abs() < 0.01);
        assert_eq!(
            (summary.operations[0].percent, summary.operations[0].meets_limit),
            (Some(80.0), Some(true))
        );
        assert_eq!((summary.drawn_delay_s, summary.actual_delay_s), (Some(1.0), Some(1.0)));
    }

    #[test]
    fn another_mix_is_named_unless_chance_explains_it() {
        let messages = broken(&outcome([7_000, 3_000]));
        assert!(
            messages[0].starts_with("operation home was 70.0 % of the mix, and 80.0 % is declared"),
            "{messages:?}"
        );
        assert_eq!(broken(&outcome([14, 6])), Vec::<String>::new(), "twenty operations say little");
    }

    #[test]
    fn late_cycles_and_missing_users_are_named() {
        let mut late = outcome([800, 200]);
        let stats = late.total.users.as_mut().expect("users");
        stats.delays[0].actual_ns = 900 * SECOND;
        let messages = broken(&late);
        assert!(
            messages[0].starts_with("the mean delay was 1.100 s where 1.000 s was drawn"),
            "{messages:?}"
        );
        let mut few = outcome([8_000, 2_000]);
        few.spec.connections = 12;
        assert!(broken(&few)[0].starts_with("12 users, and 10.0 by Little's law"), "{:?}", broken(&few));
        let mut other = outcome([8_000, 2_000]);
        let stats = other.total.users.as_mut().expect("users");
        stats.delays[0].drawn_ns -= 500 * SECOND;
        assert!(
            broken(&other).iter().any(|message| message.contains("was drawn where")),
            "{:?}",
            broken(&other)
        );
    }

    #[test]
    fn a_figure_below_its_bound_is_named() {
        let mut shop = outcome([8_000, 2_000]);
        shop.counters = vec!["sold".to_owned()];
        shop.total.counters = vec![50];
        let pass = &mut shop.spec.users.as_mut().expect("users").pass;
        pass.ratios =
            vec!["sold / buy >= 6%".parse().expect("a ratio"), "buy / home <= 1".parse().expect("a ratio")];
        assert!(
            broken(&shop)[0].starts_with("sold / buy >= 6% is not met: it was 0.025"),
            "{:?}",
            broken(&shop)
        );
        shop.total.counters = vec![120];
        assert_eq!(broken(&shop), Vec::<String>::new());
    }

    #[test]
    fn refused_visits_are_named() {
        let mut visits = outcome([800, 200]);
        visits.spec.part.shape = Shape::open(5.0, crate::spec::Arrivals::Poisson);
        let stats = visits.total.users.as_mut().expect("users");
        (stats.arrived, stats.refused) = (10_000, 10);
        assert_eq!(broken(&visits), Vec::<String>::new(), "one of a thousand");
        visits.total.users.as_mut().expect("users").refused = 11;
        assert!(broken(&visits)[0].starts_with("11 of 10000 visits found no slot"), "{:?}", broken(&visits));
    }

    #[test]
    fn a_limit_of_an_operation_is_a_rule() {
        let mut slow = outcome([800, 200]);
        for _ in 0..200 {
            record(&mut slow.total.operations[0].response_time, 30_000);
        }
        let messages = broken(&slow);
        let limit = messages.iter().find(|message| message.starts_with("operation home misses p90<20ms"));
        assert!(limit.is_some(), "{messages:?}");
    }
}
