//! `fail_if` of a plan: the answers of a comparison that end its command with an exit code of their own, for jobs that must fail. The plan
//! keeps it, so that a run that is resumed or repeated obeys it, too.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::model::{Comparison, ComparisonSide, ComparisonVerdict, Verdict};

/// A variant that is worse than the first one by more than this share, for certain. Its text is `worse` or `worse:3%`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Worse {
    margin_percent: f64,
}

/// A text that is no condition.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is no condition: write worse, or worse:3% for worse by more than 3 % for certain")]
pub struct WorseParseError(String);

impl FromStr for Worse {
    type Err = WorseParseError;

    fn from_str(text: &str) -> Result<Self, WorseParseError> {
        let margin = match text.split_once(':') {
            None if text == "worse" => Some(0.0),
            Some(("worse", margin)) => {
                margin.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok())
            }
            _ => None,
        };
        match margin {
            Some(margin_percent) if (0.0..=1_000.0).contains(&margin_percent) => Ok(Self { margin_percent }),
            _ => Err(WorseParseError(text.to_owned())),
        }
    }
}

impl TryFrom<String> for Worse {
    type Error = WorseParseError;

    fn try_from(text: String) -> Result<Self, WorseParseError> {
        text.parse()
    }
}

impl From<Worse> for String {
    fn from(worse: Worse) -> Self {
        worse.to_string()
    }
}

impl fmt::Display for Worse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.margin_percent > 0.0 {
            write!(f, "worse:{}%", self.margin_percent)
        } else {
            f.write_str("worse")
        }
    }
}

impl Worse {
    /// Which variants are worse than the first one by more than the margin, in one line; none if none is.
    pub fn why(self, verdict: &Verdict) -> Option<String> {
        let worse: Vec<String> = with_the_first(verdict)
            .filter_map(|(first, other, comparison)| {
                let percent = percent_worse(first, comparison, verdict.higher_is_better)?;
                (percent > self.margin_percent)
                    .then(|| format!("{other} is worse than {first} by {percent:.1} % or more"))
            })
            .collect();
        let allowed = format!("--fail-if allows {:.1} %", self.margin_percent);
        (!worse.is_empty()).then(|| format!("{}: {allowed}", worse.join("; ")))
    }

    /// Which variants cannot be compared with the first one, in one line; none if each can. A job must not pass for them because another
    /// variant has an answer.
    pub fn undecided(verdict: &Verdict) -> Option<String> {
        let open: Vec<&str> = with_the_first(verdict)
            .filter(|(_, _, comparison)| comparison.verdict.is_inconclusive())
            .map(|(_, other, _)| other)
            .collect();
        let first = &verdict.variants.first()?.name;
        (!open.is_empty()).then(|| {
            format!(
                "--fail-if has no answer for {}: inconclusive against {first}: run more blocks",
                open.join(", ")
            )
        })
    }
}

/// The comparisons with the first variant: the names of the first and of the other one, and the comparison.
fn with_the_first(verdict: &Verdict) -> impl Iterator<Item = (&str, &str, &Comparison)> {
    let first = verdict.variants.first().map(|variant| variant.name.as_str());
    verdict.comparisons.iter().filter_map(move |comparison| {
        match (comparison.a.as_str(), comparison.b.as_str()) {
            (a, b) if Some(a) == first => Some((a, b, comparison)),
            (a, b) if Some(b) == first => Some((b, a, comparison)),
            _ => None,
        }
    })
}

/// By how many per cent of the first variant's value the other one is worse at least; none if it is not worse for certain.
fn percent_worse(first: &str, comparison: &Comparison, higher_is_better: bool) -> Option<f64> {
    let ComparisonVerdict::Difference { higher, at_least } = comparison.verdict else { return None };
    let other_is_higher = (higher == ComparisonSide::A) == (comparison.b == first);
    if other_is_higher == higher_is_better {
        return None;
    }
    // `at_least` is a share of the lower value. Of throughput, that is the other variant's: half of the first one's is 50 % worse.
    Some(100.0 * if higher_is_better { at_least / (1.0 + at_least) } else { at_least })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A verdict of two variants, the first one `old`.
    fn verdict(higher_is_better: bool, higher: ComparisonSide, at_least: f64) -> Verdict {
        let root = tempfile::tempdir().expect("a folder");
        let id = crate::example::comparison(root.path(), 7).expect("a run");
        let run = crate::Run::open(&root.path().join(id.as_str())).expect("a run");
        let mut verdict = run.verdict.expect("a verdict");
        let [first, second] = ["old", "new"];
        verdict.higher_is_better = higher_is_better;
        (verdict.variants[0].name, verdict.variants[1].name) = (first.to_owned(), second.to_owned());
        verdict.comparisons.truncate(1);
        let comparison = &mut verdict.comparisons[0];
        (comparison.a, comparison.b) = (first.to_owned(), second.to_owned());
        comparison.verdict = ComparisonVerdict::Difference { higher, at_least };
        verdict
    }

    #[test]
    fn the_new_build_fails_the_job_where_it_is_worse_by_more_than_the_margin() {
        use ComparisonSide::{A, B};
        let worse: Worse = "worse:3%".parse().expect("a condition");
        for (higher_is_better, higher, at_least, fails) in [
            (true, A, 0.2, true),
            (true, B, 0.2, false),
            (false, A, 0.2, false),
            (false, B, 0.2, true),
            (true, A, 0.02, false),
            // 97.09 and 97 per cent of the old throughput: 3 % is a share of the old value.
            (true, A, 1.0 / 0.9709 - 1.0, false),
            (true, A, 1.0 / 0.969 - 1.0, true),
            (false, B, 0.0299, false),
        ] {
            let why = worse.why(&verdict(higher_is_better, higher, at_least));
            assert_eq!(why.is_some(), fails, "{higher_is_better} {higher:?} {at_least}: {why:?}");
        }
        let why = worse.why(&verdict(false, B, 0.2));
        assert_eq!(why.as_deref(), Some("new is worse than old by 20.0 % or more: --fail-if allows 3.0 %"));
    }

    #[test]
    fn half_the_throughput_is_worse_by_50_percent_and_twice_the_cpu_time_by_100() {
        let worse: Worse = "worse".parse().expect("a condition");
        for (higher_is_better, higher, percent) in
            [(true, ComparisonSide::A, "50.0 %"), (false, ComparisonSide::B, "100.0 %")]
        {
            let why = worse.why(&verdict(higher_is_better, higher, 1.0)).expect("a failure");
            assert!(why.contains(percent), "{why}");
        }
    }

    #[test]
    fn a_variant_without_an_answer_is_named_although_another_one_has_an_answer() {
        let mut verdict = verdict(true, ComparisonSide::B, 0.2);
        assert_eq!(Worse::undecided(&verdict), None);
        let mut third = verdict.comparisons[0].clone();
        third.b = "third".to_owned();
        third.verdict = ComparisonVerdict::Inconclusive {
            reason: crate::model::InconclusiveReason::TooFewBlocks { blocks: 1, needed: 3 },
        };
        // How two other variants compare does not count: the first one is the reference.
        let mut others = third.clone();
        others.a = "new".to_owned();
        verdict.comparisons.push(others);
        assert_eq!(Worse::undecided(&verdict), None);
        verdict.comparisons.push(third);
        let open = Worse::undecided(&verdict).expect("an open comparison");
        assert!(open.contains("no answer for third: inconclusive against old"), "{open}");
    }

    #[test]
    fn a_condition_is_written_as_it_is_read() {
        for text in ["worse", "worse:3%", "worse:0.5%"] {
            assert_eq!(text.parse::<Worse>().expect(text).to_string(), text);
        }
        for wrong in ["", "slower", "worse:", "worse:3", "worse:-1%", "worse:NaN%", "better:3%"] {
            let error = wrong.parse::<Worse>().expect_err(wrong).to_string();
            assert!(error.contains("write worse, or worse:3%"), "{error}");
        }
    }
}
