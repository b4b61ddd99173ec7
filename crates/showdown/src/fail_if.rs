//! `--fail-if`: the answers that end a command with an exit code of their own, for jobs that must fail. What an answer is, is left to
//! the verdict of a comparison and to the summary of a load.

use std::str::FromStr;

use archive::model::{Comparison, ComparisonSide, ComparisonVerdict, Verdict};
use load::capacity::evaluate;
use load::engine::LoadOutcome;
use load::inputs::slo::Slo;
use load::summary::Summary;

/// A variant that is worse than the first one by more than this share, for certain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worse {
    margin: f64,
}

impl FromStr for Worse {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text:?} is no condition: write worse, or worse:3% for worse by more than 3 % for certain"
            )
        };
        let margin = match text.split_once(':') {
            None if text == "worse" => 0.0,
            Some(("worse", margin)) => {
                let number = margin.trim().strip_suffix('%').map(str::trim);
                number.and_then(|number| number.parse::<f64>().ok()).ok_or_else(wrong)? / 100.0
            }
            _ => return Err(wrong()),
        };
        if (0.0..=10.0).contains(&margin) { Ok(Self { margin }) } else { Err(wrong()) }
    }
}

impl Worse {
    /// Which variants are worse than the first one by more than the margin, in one line; none if none is.
    pub fn why(self, verdict: &Verdict) -> Option<String> {
        let first = &verdict.variants.first()?.name;
        let worse = |comparison: &Comparison| {
            let ComparisonVerdict::Difference { higher, at_least } = comparison.verdict else { return None };
            let (other, other_is_higher) = match (&comparison.a, &comparison.b) {
                (a, b) if a == first => (b, higher == ComparisonSide::B),
                (a, b) if b == first => (a, higher == ComparisonSide::A),
                _ => return None,
            };
            let is_worse = other_is_higher != verdict.higher_is_better && at_least > self.margin;
            is_worse.then(|| format!("{other} is worse than {first} by {:.1} % or more", at_least * 100.0))
        };
        let worse: Vec<String> = verdict.comparisons.iter().filter_map(worse).collect();
        let allowed = format!("--fail-if allows {:.1} %", self.margin * 100.0);
        (!worse.is_empty()).then(|| format!("{}: {allowed}", worse.join("; ")))
    }
}

/// An objective that a load misses: `p99>5ms,errors>0.1%`.
#[derive(Clone, Debug)]
pub struct Missed {
    text: String,
    objective: Slo,
}

impl FromStr for Missed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: String| {
            format!("{text:?} is no condition ({why}): write one such as 'p99>5ms' or 'p99>5ms,errors>0.1%'")
        };
        if text.contains('<') {
            return Err(wrong("it says when the load fails, with >".to_owned()));
        }
        let objective = text.replace('>', "<").parse::<Slo>();
        let objective = objective.map_err(|error| wrong(error.to_string().replace('<', ">")))?;
        Ok(Self { text: text.to_owned(), objective })
    }
}

impl Missed {
    /// Why the load fails, in one line; none if it does not.
    pub fn why(&self, outcome: &LoadOutcome, summary: &Summary) -> Option<String> {
        let evaluation = evaluate(&self.objective, outcome, summary);
        let times = evaluation.spent.burn_rate();
        let spent = times.map_or_else(String::new, |times| format!(": {times:.1} × what it allows"));
        let failed = summary.error_share();
        let failures = if failed > 0.0 {
            format!("; {:.2} % of the operations failed, and count as late", failed * 100.0)
        } else {
            String::new()
        };
        (!evaluation.meets_slo()).then(|| format!("--fail-if {}: it is so{spent}{failures}", self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A verdict of two variants, the first one `old`.
    fn verdict(higher_is_better: bool, higher: ComparisonSide, at_least: f64) -> Verdict {
        let root = tempfile::tempdir().expect("a folder");
        let id = archive::example::comparison(root.path(), 7).expect("a run");
        let run = archive::Run::open(&root.path().join(id.as_str())).expect("a run");
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
        ] {
            let why = worse.why(&verdict(higher_is_better, higher, at_least));
            assert_eq!(why.is_some(), fails, "{higher_is_better} {higher:?} {at_least}: {why:?}");
        }
        let why = worse.why(&verdict(true, A, 0.2));
        assert_eq!(why.as_deref(), Some("new is worse than old by 20.0 % or more: --fail-if allows 3.0 %"));
    }

    #[test]
    fn conditions_are_read_and_others_named() {
        assert_eq!("worse".parse(), Ok(Worse { margin: 0.0 }));
        for wrong in ["", "slower", "worse:", "worse:3", "worse:-1%", "worse:NaN%", "better:3%"] {
            let error = wrong.parse::<Worse>().expect_err(wrong);
            assert!(error.contains("write worse, or worse:3%"), "{error}");
        }
        assert!("p99>5ms,errors>0.1%".parse::<Missed>().is_ok());
        for wrong in ["p99<5ms", "p99", "p99>5", ""] {
            let error = wrong.parse::<Missed>().expect_err(wrong);
            assert!(error.contains("write one such as 'p99>5ms'"), "{error}");
        }
    }
}
