//! Whether one run meets an objective, and whether the client decided that it does not.

use crate::engine::LoadOutcome;
use crate::inputs::slo::{Quantity, Slo};
use crate::record::Micros;
use crate::summary::Summary;
use crate::validity::BrokenRule;

/// What a slice says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    /// The objective was met.
    Met,
    /// The objective was missed.
    Missed,
    /// The client was the limit: nothing is known about the server.
    ClientLimited,
}

/// One run compared with an objective.
#[derive(Clone, Debug, PartialEq)]
pub struct StepEvaluation {
    /// Did it meet the objective?
    pub meets_slo: bool,
    /// Why the client may be the reason that it did not, one line each. Late sends are part of the response times, so they
    /// can only make a server look worse: an objective that was met was met.
    pub client_reasons: Vec<String>,
}

impl StepEvaluation {
    /// What the search learns from it.
    pub fn outcome(&self) -> StepOutcome {
        match (self.meets_slo, self.client_reasons.is_empty()) {
            (true, _) => StepOutcome::Met,
            (false, true) => StepOutcome::Missed,
            (false, false) => StepOutcome::ClientLimited,
        }
    }
}

/// Compares a run with an objective. Percentiles are read from its merged histogram; `summary` is the summary of
/// `outcome`.
pub fn evaluate(slo: &Slo, outcome: &LoadOutcome, summary: &Summary) -> StepEvaluation {
    let is_met = |times: &Micros| {
        slo.is_met(|quantity| match quantity {
            Quantity::Percentile(percent) => times.value_at_quantile(percent / 100.0) as f64,
            Quantity::Mean => times.mean(),
            Quantity::Max => times.max() as f64,
            Quantity::Errors => summary.error_share(),
        })
    };
    let meets_slo = summary.requests > 0 && is_met(&outcome.total.merged(|op| &op.response_time));
    let mut client_reasons = Vec::new();
    if !meets_slo {
        let of_cpu = |rule: &&BrokenRule| {
            matches!(
                rule.kind(),
                BrokenRule::ClientCpu { .. }
                    | BrokenRule::Starved { .. }
                    | BrokenRule::Achieved { .. }
                    | BrokenRule::ClientLost { .. }
            )
        };
        client_reasons.extend(summary.rules_broken.iter().filter(of_cpu).map(ToString::to_string));
        if summary.requests > 0 && is_met(&outcome.total.merged(|op| &op.server_time)) {
            client_reasons.push("without the client's late sends the objective is met".to_owned());
        }
    }
    StepEvaluation { meets_slo, client_reasons }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    /// Evaluates ten thousand operations of 1 ms and 200 of 8 ms, of which the server took this long.
    fn with_tail(server_us: u64) -> StepEvaluation {
        let mut outcome = example::outcome();
        let operation = &mut outcome.total.operations[0];
        operation.response_time.record_n(8_000, 200).expect("a time");
        operation.server_time.record_n(server_us, 200).expect("a time");
        let slo = "p99<5ms".parse().expect("an objective");
        evaluate(&slo, &outcome, &Summary::of(&outcome))
    }

    #[test]
    fn a_miss_that_late_sends_made_is_the_clients() {
        assert_eq!(with_tail(1_000).outcome(), StepOutcome::ClientLimited);
        assert_eq!(with_tail(8_000).outcome(), StepOutcome::Missed);
    }

    #[test]
    fn an_objective_that_is_met_with_late_sends_is_met() {
        let (outcome, slo) = (example::outcome(), "p99<5ms".parse().expect("an objective"));
        assert_eq!(evaluate(&slo, &outcome, &Summary::of(&outcome)).outcome(), StepOutcome::Met);
    }
}
