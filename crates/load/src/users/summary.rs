//! The users of a load as numbers: the walk and the pacing as measured beside the declared, and the rules that they break.
//!
//! A rule is broken where a figure is beyond its limit by more than chance explains ([`CHANCE`] standard errors), so that a short
//! load does not fail by chance. Faban, where these rules come from, tests successes only, and the delays against the drawn mean
//! alone; here an operation counts whether it succeeded or not, by the time at which it was due.

use serde::Serialize;
use stats::times::{Times, times_or_null};

use super::delay::DelayKind;
use super::plan::{NextOperation, UserPlan};
use super::ratio::RatioRule;
use crate::inputs::slo::{Quantity, Slo};
use crate::record::{DelayStats, Micros, OperationStats, UserStats, times};
use crate::session::engine::LoadOutcome;
use crate::spec::Shape;
use crate::validity::BrokenRule;

/// Standard errors that chance explains: beyond them are 0.05 % of all figures.
pub const CHANCE: f64 = 3.5;
/// Largest share of visits that may find no slot.
pub const MAX_REFUSED: f64 = 0.001;
/// How far the number of users may be from throughput times (response + delay), a share.
pub const MAX_LITTLE: f64 = 0.025;

/// The users of a load. Part of the JSON object that [`crate::output`] describes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UserSummary {
    /// How many there were; of visits, how many there may be at once.
    pub count: u32,
    /// Visits that arrived in the measured time; none where users stay.
    pub arrived: Option<u64>,
    /// Of these, those that found no slot and were refused.
    pub refused: Option<u64>,
    /// Visits that ended, and users who left and were followed by others.
    pub left: u64,
    /// Operations that fell due in the measured time.
    pub begun: u64,
    /// The users by Little's law: operations a second times the mean of response and delay until the next.
    pub count_by_littles_law: Option<f64>,
    /// The mean delay that the plan declares for its mix, seconds.
    pub declared_delay_s: f64,
    /// The mean delay that was drawn, seconds.
    pub drawn_delay_s: Option<f64>,
    /// The mean delay as it was, seconds: longer where operations took longer than their cycles.
    pub actual_delay_s: Option<f64>,
    /// By how much operations fell due later than their cycles, because the one before took longer; only of those that did.
    #[serde(serialize_with = "times_or_null")]
    pub late_us: Times,
    /// Each operation.
    pub operations: Vec<UserOperation>,
}

/// An operation in the walk of users. Part of the JSON object that [`crate::output`] describes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UserOperation {
    /// Its name.
    pub name: String,
    /// How often it fell due in the measured time.
    pub begun: u64,
    /// Its share of all, per cent.
    pub percent: Option<f64>,
    /// The declared share.
    pub declared_percent: f64,
    /// What came after it, per cent, in the order of the operations; empty where that does not depend on it.
    pub next_percent: Vec<f64>,
    /// The declared row.
    pub declared_next_percent: Vec<f64>,
    /// The delay after it as it is written.
    pub delay: String,
    /// The mean of its delays as declared, seconds.
    pub declared_delay_s: f64,
    /// As drawn.
    pub drawn_delay_s: Option<f64>,
    /// As they were.
    pub actual_delay_s: Option<f64>,
    /// Its limit, if it has one.
    pub limit: Option<String>,
    /// Whether the limit is met.
    pub meets_limit: Option<bool>,
}

fn mean_s(sum_ns: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum_ns as f64 / count as f64 / 1e9)
}

fn percent_of(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| 100.0 * part as f64 / all as f64)
}

impl UserSummary {
    /// The users of an outcome, where its load had some.
    pub fn of(outcome: &LoadOutcome) -> Option<Self> {
        let (plan, stats) = measured(outcome)?;
        let sum = |part: fn(&DelayStats) -> u64| stats.delays.iter().map(part).sum::<u64>();
        let (begun, followed) = (sum(|delay| delay.begun), sum(|delay| delay.followed));
        let shares = plan.shares();
        let operation = |(at, name): (usize, &String)| {
            let delays = &stats.delays[at];
            let row = stats.transitions.get(at * shares.len()..(at + 1) * shares.len()).unwrap_or_default();
            let declared_row = match &plan.next {
                NextOperation::Matrix(rows) => rows[at].iter().map(|share| share * 100.0).collect(),
                _ => Vec::new(),
            };
            let limit = plan.limits[at].as_ref();
            UserOperation {
                name: name.clone(),
                begun: delays.begun,
                percent: percent_of(delays.begun, begun),
                declared_percent: shares[at] * 100.0,
                next_percent: row.iter().filter_map(|count| percent_of(*count, row.iter().sum())).collect(),
                declared_next_percent: declared_row,
                delay: plan.delays[at].to_string(),
                declared_delay_s: plan.delays[at].mean(),
                drawn_delay_s: mean_s(delays.drawn_ns, delays.followed),
                actual_delay_s: mean_s(delays.actual_ns, delays.followed),
                limit: limit.map(ToString::to_string),
                meets_limit: limit.map(|limit| is_met(limit, &outcome.total.operations[at])),
            }
        };
        Some(Self {
            count: outcome.spec.connections,
            arrived: has_visits(outcome).then_some(stats.arrived),
            refused: has_visits(outcome).then_some(stats.refused),
            left: stats.left,
            begun,
            count_by_littles_law: users_by_littles_law(outcome, stats),
            declared_delay_s: plan.mean_delay(),
            drawn_delay_s: mean_s(sum(|delay| delay.drawn_ns), followed),
            actual_delay_s: mean_s(sum(|delay| delay.actual_ns), followed),
            late_us: times(&stats.late),
            operations: outcome.operations.iter().enumerate().map(operation).collect(),
        })
    }
}

/// Whether users arrive from outside and leave.
fn has_visits(outcome: &LoadOutcome) -> bool {
    matches!(outcome.spec.part.shape, Shape::Open { .. })
}

/// The plan, and what was recorded of its users.
fn measured(outcome: &LoadOutcome) -> Option<(&UserPlan, &UserStats)> {
    let plan = outcome.spec.users.as_ref()?;
    let stats = outcome.total.users.as_deref()?;
    (plan.operations() == outcome.operations.len() && stats.delays.len() == plan.operations())
        .then_some((plan, stats))
}

/// The response times of an operation; of those without an answer, until the client gave up.
fn response_times(operation: &OperationStats) -> Micros {
    let mut response = operation.response_time.clone();
    response.add(&operation.unanswered).expect("histograms of the same precision add");
    response
}

fn is_met(limit: &Slo, operation: &OperationStats) -> bool {
    let (response, failed) = (response_times(operation), operation.errors.total());
    let attempts = operation.response_time.len() + failed;
    limit.is_met(|quantity| match quantity {
        Quantity::Percentile(percent) => response.value_at_quantile(percent / 100.0) as f64,
        Quantity::Mean => response.mean(),
        Quantity::Max => response.max() as f64,
        Quantity::Errors => failed as f64 / attempts.max(1) as f64,
    })
}

/// The users by Little's law. None where nothing was measured.
fn users_by_littles_law(outcome: &LoadOutcome, stats: &UserStats) -> Option<f64> {
    let seconds = outcome.due_for().as_secs_f64();
    let of_operation = |(operation, delay): (&OperationStats, &DelayStats)| {
        let response_s = response_times(operation).mean() / 1e6;
        let idle_s = mean_s(delay.idle_ns, delay.followed).unwrap_or(0.0);
        delay.begun as f64 * (response_s + idle_s)
    };
    let user_seconds: f64 = outcome.total.operations.iter().zip(&stats.delays).map(of_operation).sum();
    (seconds > 0.0 && user_seconds > 0.0).then(|| user_seconds / seconds)
}

/// The rules that the users of a load break.
pub(crate) fn broken_rules(outcome: &LoadOutcome) -> Vec<BrokenRule> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::example;
    use crate::record::record;
    use crate::users::PassCriteria;
    use crate::users::delay::Delay;

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
