//! The sentence of a comparison: what its ratio says of two servers, with the interval, or why there is none. How a measure is named is
//! left to [`measure_names`](crate::plan::measure_names).

use archive::model::{Measure, plural};
use stats::ratio::RatioEstimate;
use stats::verdict::{InconclusiveReason, RatioVerdict};

use crate::plan::measure_names::{at_rate, spaced, wording};

/// An interval that reaches further tells nothing: a factor of eleven.
pub const MOST_WITHIN: f64 = 10.0;

/// An interval around 1 whose ends are further apart says nothing: the scatter of so few blocks is not known. It is left out.
pub const MOST_APART: f64 = 1_000.0;

/// Whether an interval of a ratio contains 1 and is wider than any that says something.
pub fn tells_nothing(low: f64, high: f64) -> bool {
    low <= 1.0 && 1.0 <= high && high > low * MOST_APART
}

/// The sentence of a comparison; `a` is the numerator of the ratio.
pub fn sentence(
    measure: &Measure,
    (a, b): (&str, &str),
    estimate: Option<&RatioEstimate>,
    verdict: &RatioVerdict,
) -> String {
    match (verdict, estimate) {
        (RatioVerdict::Difference { .. }, Some(e)) => {
            format!("{} ({})", claim(measure, (a, b), &ratio(e.ratio)), interval(e))
        }
        (RatioVerdict::NoDifferenceShown { within }, Some(e)) => {
            format!(
                "no difference shown between {a} and {b}: within ±{:.1} % ({})",
                within * 100.0,
                interval(e)
            )
        }
        // An interval of an early look, or of a run that was interrupted, may have any width.
        (RatioVerdict::Inconclusive { why: InconclusiveReason::TooWide { within, .. } }, Some(e))
            if *within > MOST_WITHIN =>
        {
            format!("inconclusive: {} blocks tell nothing about {a} and {b} yet: run more blocks", e.blocks)
        }
        (RatioVerdict::Inconclusive { why: InconclusiveReason::TooWide { within, useful } }, Some(e)) => {
            format!(
                "inconclusive: {a} and {b} may differ by up to {:.0} %, and \"no difference\" must rule out {:.0} % ({}): run more blocks, or find out why the trials differ",
                within * 100.0,
                useful * 100.0,
                interval(e)
            )
        }
        (RatioVerdict::Inconclusive { why: InconclusiveReason::NoRatio(error) }, _) => {
            format!("inconclusive: {a} against {b}: {error}")
        }
        _ => format!("inconclusive: {a} against {b}: no ratio"),
    }
}

/// The sentence of a run that was interrupted before it may look at its verdict; `a` over `b` is the ratio so far.
pub fn no_verdict_yet((a, b): (&str, &str), blocks: u32, needed: u32, so_far: f64) -> String {
    let (blocks, so_far) = (plural(blocks.into(), "block"), ratio(so_far));
    format!(
        "no verdict yet on {a} against {b}: stopped after {blocks}, and the run decides after {needed}; so far {a} / {b} is {so_far}"
    )
}

/// The sentence where `who` took more of the CPUs from one side than from the other: 0.3 and 0.1 for `a` and `b`. `options` are those that
/// compare CPU time an operation, if that can be done.
pub fn unequal_disturbance(
    (a, b): (&str, &str),
    (a_share, b_share): (f64, f64),
    who: &str,
    options: Option<&str>,
) -> String {
    let [of_a, of_b] = [a_share, b_share].map(|share| share * 100.0);
    let instead =
        options.map_or_else(String::new, |options| format!(", or compare CPU time an operation ({options})"));
    let remedy = if who == "the hypervisor" { "run again when the machine is quieter" } else { "stop them" };
    format!(
        "inconclusive: {who} used {of_a:.0} % of the CPUs in trials of {a} and {of_b:.0} % in those of {b}: {remedy}{instead}"
    )
}

/// The sentence where one end of the interval is not known for the reason `why`: `a` has at least so many times the value of `b`, and
/// `sure` says how sure that is.
pub fn bound_sentence(measure: &Measure, names: (&str, &str), times: f64, sure: &str, why: &str) -> String {
    let claim = claim(measure, names, &format!("at least {}", ratio(times)));
    format!("{claim} ({sure}); how much more is not known, because {why}")
}

/// That `a` has `times` the value of `b`.
pub fn claim(measure: &Measure, (a, b): (&str, &str), times: &str) -> String {
    match measure {
        Measure::MaxThroughput => format!("{a} has {times} × {b}'s throughput in a closed loop"),
        Measure::MaxBytes => format!("{a} moves {times} × {b}'s bytes a second in a closed loop"),
        Measure::OneByOne { .. } => {
            format!("{a} completes {times} × {b}'s operations an hour, one at a time")
        }
        Measure::Capacity { slo } => format!("{a} carries {times} × {b}'s load at {}", spaced(slo)),
        Measure::CpuTime { rate_per_s } => {
            format!("{a} needs {times} × {b}'s CPU time an operation{}", at_rate(*rate_per_s))
        }
        Measure::UserCpuTime => {
            format!("{a} needs {times} × {b}'s CPU time an operation with the same users")
        }
        Measure::BreakingPoint => format!("{a} has {times} × {b}'s downloads in progress when it breaks"),
        Measure::LatencyCurve { .. } | Measure::UserLatency => {
            format!("{a}'s {} is {times} × {b}'s", wording(measure).what)
        }
    }
}

/// Level, interval and number of blocks.
pub fn interval(estimate: &RatioEstimate) -> String {
    format!(
        "{} CI {}–{}, {}",
        estimate.confidence,
        ratio(estimate.low),
        ratio(estimate.high),
        plural(estimate.blocks as u64, "block")
    )
}

/// A ratio with three decimals near 1, and two elsewhere.
pub fn ratio(value: f64) -> String {
    if (0.9..1.1).contains(&value) { format!("{value:.3}") } else { format!("{value:.2}") }
}

#[cfg(test)]
mod tests {
    use stats::verdict::{VerdictRule, compare};

    use super::*;

    fn sentence_of(measure: &Measure, blocks: &[(f64, f64)]) -> String {
        let found = compare(blocks, &VerdictRule::default());
        sentence(measure, ("nginx", "apache"), found.estimate.as_ref(), &found.verdict)
    }

    #[test]
    fn a_verdict_is_one_sentence_with_its_confidence_interval() {
        let capacity = Measure::Capacity { slo: "p99<5ms".to_owned() };
        let blocks: Vec<(f64, f64)> =
            (0..10).map(|i| (162.0 + f64::from(i % 3), 100.0 + f64::from(i % 2))).collect();
        let carries = sentence_of(&capacity, &blocks);
        assert!(
            carries.starts_with("nginx carries 1.62 × apache's load at p99 < 5 ms (95 % CI 1.6"),
            "{carries}"
        );
        let alike: Vec<(f64, f64)> =
            (0..10).map(|i| (100.0 + f64::from(i % 3), 100.0 + f64::from((i + 1) % 3))).collect();
        assert!(
            sentence_of(&Measure::MaxThroughput, &alike)
                .starts_with("no difference shown between nginx and apache: within ±")
        );
        assert_eq!(
            sentence_of(&Measure::MaxThroughput, &[(1.0, 9.0), (9.0, 1.0), (4.0, 4.0)]),
            "inconclusive: 3 blocks tell nothing about nginx and apache yet: run more blocks"
        );
        assert!(
            sentence_of(&Measure::MaxThroughput, &[(1.0, 1.0)])
                .starts_with("inconclusive: nginx against apache: ")
        );
    }

    #[test]
    fn a_server_that_needs_more_cpu_time_is_named_first() {
        let measure = Measure::CpuTime { rate_per_s: Some(17_000.0) };
        let blocks: Vec<(f64, f64)> = (0..10).map(|i| (30.0 + f64::from(i % 2), 20.0)).collect();
        let needs = sentence_of(&measure, &blocks);
        assert!(needs.starts_with("nginx needs 1.5"), "{needs}");
        assert!(needs.contains(" × apache's CPU time an operation at 17,000/s (95 % CI "), "{needs}");
    }

    #[test]
    fn a_disturbance_of_one_side_names_who_it_was_and_only_options_that_work() {
        let names = ("nginx", "apache");
        assert_eq!(
            unequal_disturbance(names, (0.3, 0.1), "other programs", Some("--measure cpu")),
            "inconclusive: other programs used 30 % of the CPUs in trials of nginx and 10 % in those of apache: stop them, or \
             compare CPU time an operation (--measure cpu)"
        );
        let of_runner = unequal_disturbance(names, (0.3, 0.1), "the hypervisor", None);
        assert!(of_runner.starts_with("inconclusive: the hypervisor used"), "{of_runner}");
        assert!(
            of_runner.ends_with("in those of apache: run again when the machine is quieter"),
            "{of_runner}"
        );
    }

    #[test]
    fn a_bound_says_how_sure_it_is_and_why_it_is_none_but_a_bound() {
        let (sure, why) = ("95 % confidence, 4 blocks", "the client was the limit for nginx");
        assert_eq!(
            bound_sentence(&Measure::MaxThroughput, ("nginx", "apache"), 1.973, sure, why),
            "nginx has at least 1.97 × apache's throughput in a closed loop (95 % confidence, 4 blocks); how much more is \
             not known, because the client was the limit for nginx"
        );
    }
}
