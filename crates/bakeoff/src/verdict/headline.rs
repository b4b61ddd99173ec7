//! The answer of a run in one sentence, short enough for a heading. The report has the rest below it.

use archive::model::{Comparison, ComparisonVerdict, Measure, Plan, VariantSummary, plural};

use crate::plan::measure_names::{MeasureWording, quantity};
use crate::plan::variant_point::point_text;
use crate::verdict::estimand::beside_no_difference;

/// The sentence states at most this many differences, and counts the others.
const MOST_STATED: usize = 2;

/// The answer.
pub fn headline(
    plan: &Plan,
    summaries: &[VariantSummary],
    comparisons: &[Comparison],
    wording: &MeasureWording,
) -> String {
    if !plan.sweep.is_empty() {
        return of_sweep(summaries, wording);
    }
    if !comparisons.is_empty() {
        return of_comparisons(&plan.measure, comparisons) + &of_modes(summaries);
    }
    match summaries {
        [one] => match one.median {
            Some(median) => {
                format!(
                    "{}: {}, median of {}",
                    one.name,
                    quantity(median, wording.unit),
                    plural(one.valid.into(), "trial")
                )
            }
            None => format!("inconclusive: {} has no valid trial", one.name),
        },
        _ => "inconclusive: no valid trials to compare".to_owned(),
    }
}

/// The point at which each variant is best.
fn of_sweep(summaries: &[VariantSummary], wording: &MeasureWording) -> String {
    if summaries.iter().all(|summary| summary.median.is_none()) {
        return "inconclusive: no point has a valid trial".to_owned();
    }
    let without = |variant: &[VariantSummary]| format!("{}: no point has a valid trial", variant[0].name);
    let best = summaries
        .chunk_by(|a, b| a.name == b.name)
        .map(|variant| best_point(variant, wording).unwrap_or_else(|| without(variant)));
    best.collect::<Vec<_>>().join("; ")
}

fn best_point(variant: &[VariantSummary], wording: &MeasureWording) -> Option<String> {
    let medians = variant.iter().filter_map(|summary| Some((&summary.point, summary.median?)));
    let (point, median) = if wording.higher_is_better {
        medians.max_by(|(_, a), (_, b)| a.total_cmp(b))?
    } else {
        medians.min_by(|(_, a), (_, b)| a.total_cmp(b))?
    };
    let best = quantity(median, wording.unit);
    Some(format!("{}: best at {} ({best})", variant[0].name, point_text(point)))
}

fn of_comparisons(measure: &Measure, comparisons: &[Comparison]) -> String {
    if let [only] = comparisons {
        return only.sentence.clone();
    }
    let all = comparisons.len();
    let beside = beside_no_difference(measure, comparisons);
    let differ: Vec<&str> = comparisons
        .iter()
        .filter(|comparison| matches!(comparison.verdict, ComparisonVerdict::Difference { .. }))
        .map(|comparison| comparison.sentence.as_str())
        .collect();
    let open = comparisons.iter().filter(|c| c.verdict.is_inconclusive()).count();
    if differ.is_empty() {
        return match open {
            0 if !beside.is_empty() => format!("alike in most starts in all {all} comparisons{beside}"),
            0 => format!("no difference shown in any of {all} comparisons"),
            _ if open == all => format!("inconclusive: all {all} comparisons are inconclusive"),
            1 => format!(
                "inconclusive: no difference shown in {} of {all} comparisons, 1 is inconclusive{beside}",
                all - 1
            ),
            _ => format!(
                "inconclusive: no difference shown in {} of {all} comparisons, {open} are inconclusive{beside}",
                all - open
            ),
        };
    }
    let mut parts: Vec<String> =
        differ.iter().take(MOST_STATED).map(|&sentence| sentence.to_owned()).collect();
    parts.extend(more(differ.len().saturating_sub(MOST_STATED), "shows a difference", "show a difference"));
    parts.extend(more(all - differ.len() - open, "shows no difference", "show no difference"));
    parts.extend(more(open, "is inconclusive", "are inconclusive"));
    parts.join("; ") + &beside
}

/// `2 more are inconclusive`, with the verb for one and for several; none for a count of 0.
fn more(count: usize, one: &str, several: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("1 more {one}")),
        _ => Some(format!("{count} more {several}")),
    }
}

fn of_modes(summaries: &[VariantSummary]) -> String {
    let modal: Vec<&str> = summaries.iter().filter(|s| s.modes.len() > 1).map(|s| s.name.as_str()).collect();
    if modal.is_empty() {
        return String::new();
    }
    format!("; the trials of {} fall into two groups: see the chart of trials", modal.join(" and "))
}

#[cfg(test)]
mod tests {
    use archive::model::SweepPoint;
    use stats::verdict::{VerdictRule, compare};

    use super::*;

    /// A comparison of `a` with `b` whose blocks have about this ratio, with this relative scatter.
    fn comparison(a: &str, ratio: f64, scatter: f64) -> Comparison {
        let blocks: Vec<(f64, f64)> =
            (0..10).map(|i| (100.0 * ratio * (1.0 + scatter * f64::from(i % 3 - 1)), 100.0)).collect();
        let found = compare(&blocks, &VerdictRule::default());
        Comparison {
            a: a.to_owned(),
            b: "b".to_owned(),
            point: SweepPoint::new(),
            sentence: format!("{a} and b"),
            verdict: found.verdict.into(),
            estimate: found.estimate.map(Into::into),
            means: None,
            odd_starts: Vec::new(),
            drift: None,
            smallest_difference: None,
        }
    }

    #[test]
    fn one_comparison_is_stated_in_its_own_sentence() {
        assert_eq!(of_comparisons(&Measure::MaxThroughput, &[comparison("a", 1.5, 0.01)]), "a and b");
    }

    #[test]
    fn several_comparisons_state_the_first_differences_and_count_the_rest() {
        let differ = |name| comparison(name, 1.5, 0.01);
        let (alike, open) = (comparison("x", 1.0, 0.001), comparison("y", 1.0, 0.6));
        assert_eq!(
            of_comparisons(&Measure::MaxThroughput, &[differ("a"), alike.clone(), open.clone()]),
            "a and b; 1 more shows no difference; 1 more is inconclusive"
        );
        assert_eq!(
            of_comparisons(
                &Measure::MaxThroughput,
                &[differ("a"), differ("c"), differ("d"), differ("e"), open.clone(), open.clone()]
            ),
            "a and b; c and b; 2 more show a difference; 2 more are inconclusive"
        );
        assert_eq!(
            of_comparisons(&Measure::MaxThroughput, &[alike.clone(), alike.clone()]),
            "no difference shown in any of 2 comparisons"
        );
        assert_eq!(
            of_comparisons(&Measure::MaxThroughput, &[open.clone(), open.clone(), open.clone()]),
            "inconclusive: all 3 comparisons are inconclusive"
        );
        assert_eq!(
            of_comparisons(&Measure::MaxThroughput, &[open, alike]),
            "inconclusive: no difference shown in 1 of 2 comparisons, 1 is inconclusive"
        );
    }
}
