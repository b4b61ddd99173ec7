//! What a comparison says beside its typical ratio: the ratio of means, starts that were far from the others, and whether the ratio
//! still moved while it was measured.

use super::{Comparison, Sessions, Verdict};
use serde::{Deserialize, Serialize};

/// The ratio of the means of both variants, with its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RatioOfMeans {
    /// The mean of `a` over the mean of `b`.
    pub ratio: f64,
    /// Lower bound of its interval, by Student's t of the linearised ratio.
    pub low: f64,
    /// Upper bound of its interval.
    pub high: f64,
    /// Confidence level as a probability, such as 0.95.
    pub confidence: f64,
}

impl From<stats::means::RatioOfMeans> for RatioOfMeans {
    fn from(found: stats::means::RatioOfMeans) -> Self {
        let stats::means::RatioOfMeans { ratio, interval, confidence } = found;
        Self { ratio, low: interval.low, high: interval.high, confidence: confidence.level() }
    }
}

/// Starts of a variant that were far from its other starts, all in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OddStarts {
    /// The variant.
    pub variant: String,
    /// The numbers of their trials.
    pub trials: Vec<u32>,
    /// Starts of the variant that the comparison uses.
    pub of: u32,
    /// Their median as a share of the median of all: 0.5 for half of it.
    pub factor: f64,
}

/// How a ratio changes within blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RatioDrift {
    /// Relative change of the ratio from the first round of a block to its last: 0.02 for a ratio that grows by 2 %.
    pub per_block: f64,
    /// Lower bound of its interval.
    pub low: f64,
    /// Upper bound of its interval.
    pub high: f64,
    /// Blocks whose rounds are recorded.
    pub blocks: u32,
    /// Whether the ratio still moves for certain: the interval excludes 0, and the change is at least 1 %.
    pub is_shown: bool,
}

/// A way in which the method itself may be wrong about a ratio, and by how much at most, as `docs/BIAS.md` lists it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MethodError {
    /// Its name in the budget of `docs/BIAS.md`.
    pub source: String,
    /// The largest relative error of a ratio that was measured, such as 0.04.
    pub within: f64,
}

impl Comparison {
    /// Both ratios with their intervals; none where there is no ratio of means, as in runs of earlier versions.
    pub fn ratios(&self) -> Option<String> {
        let (typical, means) = (self.estimate.as_ref()?, self.means?);
        let level = typical.confidence * 100.0;
        Some(format!(
            "typical ratio {:.3} ({:.3}–{:.3}), ratio of means {:.3} ({:.3}–{:.3}), {level:.0} % CI",
            typical.ratio, typical.low, typical.high, means.ratio, means.low, means.high
        ))
    }
}

impl Verdict {
    /// How far the method itself may be from the truth, at most: the sum of its errors. `None` where none has a measured bound.
    pub fn method_within(&self) -> Option<f64> {
        (!self.method.is_empty()).then(|| self.method.iter().map(|error| error.within).sum())
    }

    /// That in words: `method: up to 4 %, which is in no interval (in turns or alone 4 %)`.
    pub fn method_text(&self) -> Option<String> {
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let within = percent(self.method_within()?);
        let each = self.method.iter().map(|error| format!("{} {}", error.source, percent(error.within)));
        let each = each.collect::<Vec<_>>().join(", ");
        Some(format!("method: up to {within}, which is in no interval ({each})"))
    }
}

impl Sessions {
    /// The answer over all sessions, one line each: the pairs, then the runs, then those that are left out.
    pub fn lines(&self) -> Vec<String> {
        let pairs = self.pairs.iter().map(|pair| {
            let point: Vec<String> =
                pair.point.iter().map(|(axis, value)| format!("{axis} {value}")).collect();
            let at = if point.is_empty() { String::new() } else { format!("{}: ", point.join(", ")) };
            format!("{at}{}", pair.sentence)
        });
        let runs = self.runs.iter().map(|run| match &run.machine {
            Some(machine) => format!("session {} {machine}", run.run),
            None => format!("session {}", run.run),
        });
        let left_out =
            self.left_out.iter().map(|run| format!("session {} is left out: {}", run.run, run.why));
        pairs.chain(runs).chain(left_out).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::model::{LeftOutRun, SessionRun, Sessions};

    #[test]
    fn sessions_are_listed_with_their_machines_and_the_reasons_of_those_left_out() {
        let run = |run: &str, machine: Option<&str>| SessionRun {
            run: run.to_owned(),
            reached_unix_ms: 1,
            machine: machine.map(str::to_owned),
        };
        let sessions = Sessions {
            first: "a".to_owned(),
            runs: vec![run("a", Some("on 1 CPU of a Xeon, 1 May")), run("b", None)],
            left_out: vec![LeftOutRun { run: "c".to_owned(), why: "it has no verdict".to_owned() }],
            pairs: Vec::new(),
        };
        assert_eq!(
            sessions.lines(),
            ["session a on 1 CPU of a Xeon, 1 May", "session b", "session c is left out: it has no verdict"]
        );
    }
}
