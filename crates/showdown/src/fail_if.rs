//! `--fail-if` of a load: an objective whose miss ends the command with an exit code of its own, for jobs that must fail. That of a
//! comparison is in its plan.

use std::str::FromStr;

use load::capacity::evaluate;
use load::engine::LoadOutcome;
use load::inputs::slo::Slo;
use load::summary::Summary;

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
        let spent = times
            .map_or_else(String::new, |times| format!(": {times:.1} × as many late operations as it allows"));
        let failed = summary.error_share();
        let failures = if failed > 0.0 {
            format!("; {:.2} % of the operations failed, and count as late", failed * 100.0)
        } else {
            String::new()
        };
        (!evaluation.meets_slo()).then(|| format!("this load fails --fail-if {}{spent}{failures}", self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_and_others_named() {
        assert!("p99>5ms,errors>0.1%".parse::<Missed>().is_ok());
        for wrong in ["p99<5ms", "p99", "p99>5", ""] {
            let error = wrong.parse::<Missed>().expect_err(wrong);
            assert!(error.contains("write one such as 'p99>5ms'"), "{error}");
        }
    }
}
