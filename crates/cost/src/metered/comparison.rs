//! Operations a joule of two variants, by meters of one boundary.

use ::power::Boundary;
use archive::model::{Comparison, SweepPoint, VariantSummary};
use serde::Serialize;

use super::pairs::{TrialValue, paired_ratio};
use super::trials::{MeteredTrial, MeteredTrials};
use crate::figure::Figure;
use crate::measured::{MeasuredRun, label};

/// The ratio of the operations a joule of two variants, within blocks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeteredComparison {
    /// The numerator.
    pub a: String,
    /// The denominator.
    pub b: String,
    /// What the watts include.
    pub boundary: Boundary,
    /// Whether it is over all levels and active idle. Otherwise at the full load.
    pub is_overall: bool,
    /// The ratio.
    pub ratio: Figure,
    /// In words.
    pub sentence: String,
}

/// The comparisons of a pair that the verdict has, and why there is none.
pub(super) fn compare(run: &MeasuredRun<'_>, pair: &Comparison) -> (Vec<MeteredComparison>, Option<String>) {
    let of = |name: &str| run.verdict.variants.iter().find(|found| is_it(found, name, &pair.point));
    let (Some(a), Some(b)) = (of(&pair.a), of(&pair.b)) else { return (Vec::new(), None) };
    let [of_a, of_b] = [a, b].map(|summary| MeteredTrials::all(run.run, summary));
    let mut found = Vec::new();
    for one in of_a.iter().filter(|one| one.meter.boundary != Boundary::Unknown) {
        // Two meters of one boundary may measure different parts of it: components are compared by their name only.
        let is_alike = |other: &&MeteredTrials<'_>| {
            other.meter.boundary == one.meter.boundary
                && (one.meter.boundary != Boundary::Component || other.meter.name == one.meter.name)
        };
        let Some(other) = of_b.iter().find(is_alike) else { continue };
        let is_indicative = one.meter.is_indicative || other.meter.is_indicative;
        for is_overall in [false, true] {
            let Some(ratio) = paired(one, other, is_overall) else { continue };
            let names = [a, b].map(|summary| label(&summary.name, &summary.point));
            let sentence = sentence(&names, ratio, one.meter.boundary, is_indicative, is_overall);
            let [a, b] = names;
            found.push(MeteredComparison { a, b, boundary: one.meter.boundary, is_overall, ratio, sentence });
        }
    }
    let boundaries = |found: &[MeteredTrials<'_>]| {
        let names: Vec<&str> = found.iter().map(|of_meter| of_meter.meter.boundary.name()).collect();
        names.join(", ")
    };
    let has_both = !of_a.is_empty() && !of_b.is_empty();
    let shares_boundary = of_a.iter().any(|one| {
        one.meter.boundary != Boundary::Unknown
            && of_b.iter().any(|other| other.meter.boundary == one.meter.boundary)
    });
    let why = (has_both && !shares_boundary).then(|| {
        format!(
            "Operations a joule of {} and {} are not compared: their watts have the boundaries {} and {}",
            a.name,
            b.name,
            boundaries(&of_a),
            boundaries(&of_b)
        )
    });
    (found, why)
}

fn is_it(summary: &VariantSummary, name: &str, point: &SweepPoint) -> bool {
    summary.name == name && summary.point == *point
}

/// The ratio over the blocks in which both have watts.
fn paired(a: &MeteredTrials<'_>, b: &MeteredTrials<'_>, is_overall: bool) -> Option<Figure> {
    let values = |of: &MeteredTrials<'_>| {
        let value = |trial: &MeteredTrial<'_>| {
            if is_overall { trial.watts.overall() } else { Some(trial.watts.per_joule()) }
        };
        of.trials
            .iter()
            .filter_map(|trial| Some(TrialValue { place: trial.place.clone(), value: value(trial)? }))
            .collect::<Vec<_>>()
    };
    paired_ratio(&values(a), &values(b))
}

fn sentence(
    [a, b]: &[String; 2],
    ratio: Figure,
    boundary: Boundary,
    is_indicative: bool,
    is_overall: bool,
) -> String {
    let (low, high) = (ratio.low.unwrap_or(0.0), ratio.high.unwrap_or(f64::INFINITY));
    let decimals = if high - low < 0.05 { 3 } else { 2 };
    let indicative = if is_indicative { ", indicative" } else { "" };
    let basis = format!("95 % CI {low:.decimals$}–{high:.decimals$}; {}{indicative}", boundary.name());
    let (value, at) = (ratio.value, if is_overall { " over all levels of load" } else { "" });
    if low > 1.0 || high < 1.0 {
        format!("{a} does {value:.decimals$} × the operations of {b} for each joule{at} ({basis})")
    } else {
        format!(
            "no difference in operations a joule shown between {a} and {b}{at}: {value:.decimals$} × ({basis})"
        )
    }
}
