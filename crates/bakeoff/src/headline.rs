//! The answer of a whole run in one sentence, short enough for a heading; what it leaves out stands below it.

use archive::model::{Comparison, Plan, VariantSummary};
use stats::verdict::RatioVerdict;

use crate::cell::at;
use crate::wording::{Wording, quantity};

/// More differences than these are counted, not told.
const MOST_TOLD: usize = 2;

/// The answer.
pub fn headline(
    plan: &Plan,
    summaries: &[VariantSummary],
    comparisons: &[Comparison],
    wording: &Wording,
) -> String {
    if !plan.sweep.is_empty() {
        return of_sweep(summaries, wording);
    }
    if !comparisons.is_empty() {
        return of_comparisons(comparisons) + &of_modes(summaries);
    }
    match summaries {
        [one] => match one.median {
            Some(median) => {
                format!("{}: {}, median of {} trials", one.name, quantity(median, wording.unit), one.valid)
            }
            None => format!("inconclusive: {} has no valid trial", one.name),
        },
        _ => "inconclusive: no valid trials to compare".to_owned(),
    }
}

/// Where on the axes each variant does best.
fn of_sweep(summaries: &[VariantSummary], wording: &Wording) -> String {
    let best: Vec<String> = summaries
        .chunk_by(|a, b| a.name == b.name)
        .filter_map(|variant| best_point(variant, wording))
        .collect();
    if best.is_empty() { "inconclusive: no trial is valid at any point".to_owned() } else { best.join("; ") }
}

fn best_point(variant: &[VariantSummary], wording: &Wording) -> Option<String> {
    let medians = variant.iter().filter_map(|summary| Some((&summary.point, summary.median?)));
    let (extreme, best) = if wording.higher_is_better {
        ("most", medians.max_by(|(_, a), (_, b)| a.total_cmp(b)))
    } else {
        ("least", medians.min_by(|(_, a), (_, b)| a.total_cmp(b)))
    };
    let (point, median) = best?;
    Some(format!("{}: {extreme} at {} ({})", variant[0].name, at(point), quantity(median, wording.unit)))
}

fn of_comparisons(comparisons: &[Comparison]) -> String {
    if let [only] = comparisons {
        return only.sentence.clone();
    }
    let all = comparisons.len();
    let differ: Vec<&str> = comparisons
        .iter()
        .filter(|comparison| matches!(comparison.verdict, RatioVerdict::Difference { .. }))
        .map(|comparison| comparison.sentence.as_str())
        .collect();
    let open = comparisons.iter().filter(|c| matches!(c.verdict, RatioVerdict::Inconclusive { .. })).count();
    if differ.is_empty() {
        return match open {
            0 => format!("no difference shown in any of {all} comparisons"),
            _ if open == all => {
                format!("inconclusive: none of {all} comparisons shows a difference, and none rules one out")
            }
            _ => format!(
                "inconclusive: none of {all} comparisons shows a difference, and {open} of them cannot rule one out"
            ),
        };
    }
    let mut told: Vec<String> = differ.iter().take(MOST_TOLD).map(|&sentence| sentence.to_owned()).collect();
    told.extend(more(
        differ.len().saturating_sub(MOST_TOLD),
        "shows a difference, too",
        "show differences, too",
    ));
    told.extend(more(all - differ.len() - open, "shows none", "show none"));
    told.extend(more(open, "is inconclusive", "are inconclusive"));
    told.join("; ")
}

/// `2 more are inconclusive`; nothing of none.
fn more(count: usize, does: &str, do_so: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("1 more {does}")),
        _ => Some(format!("{count} more {do_so}")),
    }
}

fn of_modes(summaries: &[VariantSummary]) -> String {
    let modal: Vec<&str> = summaries.iter().filter(|s| s.modes.len() > 1).map(|s| s.name.as_str()).collect();
    if modal.is_empty() {
        return String::new();
    }
    format!("; the trials of {} lie in two groups: look at the dots", modal.join(" and "))
}

#[cfg(test)]
mod tests {
    use archive::model::SweepPoint;
    use stats::verdict::{VerdictRule, compare};

    use super::*;

    /// A comparison of `a` with `b` whose blocks have about this ratio, and scatter so much.
    fn comparison(a: &str, ratio: f64, scatter: f64) -> Comparison {
        let blocks: Vec<(f64, f64)> =
            (0..10).map(|i| (100.0 * ratio * (1.0 + scatter * f64::from(i % 3 - 1)), 100.0)).collect();
        let found = compare(&blocks, &VerdictRule::default());
        Comparison {
            a: a.to_owned(),
            b: "b".to_owned(),
            point: SweepPoint::new(),
            sentence: format!("{a} and b"),
            verdict: found.verdict,
            estimate: found.estimate,
            smallest_difference: None,
        }
    }

    #[test]
    fn one_comparison_is_told_as_it_is() {
        assert_eq!(of_comparisons(&[comparison("a", 1.5, 0.01)]), "a and b");
    }

    #[test]
    fn of_several_the_first_differences_are_told_and_the_rest_counted() {
        let differ = |name| comparison(name, 1.5, 0.01);
        let (alike, open) = (comparison("x", 1.0, 0.001), comparison("y", 1.0, 0.6));
        assert_eq!(
            of_comparisons(&[differ("a"), alike.clone(), open.clone()]),
            "a and b; 1 more shows none; 1 more is inconclusive"
        );
        assert_eq!(
            of_comparisons(&[differ("a"), differ("c"), differ("d"), differ("e"), open.clone(), open.clone()]),
            "a and b; c and b; 2 more show differences, too; 2 more are inconclusive"
        );
        assert_eq!(
            of_comparisons(&[alike.clone(), alike.clone()]),
            "no difference shown in any of 2 comparisons"
        );
        assert_eq!(
            of_comparisons(&[open.clone(), open.clone(), open.clone()]),
            "inconclusive: none of 3 comparisons shows a difference, and none rules one out"
        );
        assert_eq!(
            of_comparisons(&[open, alike]),
            "inconclusive: none of 2 comparisons shows a difference, and 1 of them cannot rule one out"
        );
    }
}
