//! Lines below an answer, as the terminal and Markdown print them: both ratios, what the method may be wrong by, other sessions.

use super::{Comparison, Sessions, Verdict};

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
