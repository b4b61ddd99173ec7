//! What one load says of an objective: what it spent of the budget, and whether the client was the limit.

use super::budget::BudgetUse;
use crate::inputs::slo::Slo;
use crate::outcome::LoadOutcome;
use crate::outcome::summary::Summary;
use crate::outcome::validity::BrokenRule;

/// Sends that are later than this share of the time limit, in one of a hundred, change when the server has its work: what is
/// late then is not the server's.
const MAX_LAG_SHARE: f64 = 0.5;

/// One load compared with an objective.
#[derive(Clone, Debug, PartialEq)]
pub struct StepEvaluation {
    /// What it spent of the budget.
    pub spent: BudgetUse,
    /// Why the client may be the reason, one line each. They depend on what the client did, and not on what the server did:
    /// leaving out such a slice does not favour a server.
    pub client_reasons: Vec<String>,
}

impl StepEvaluation {
    /// Whether the load met the objective: something fell due, and no more than the budget was spent.
    pub fn meets_slo(&self) -> bool {
        self.spent.burn_rate().is_some_and(|burn| burn <= 1.0)
    }

    /// Whether the client was the limit.
    pub fn is_client_limited(&self) -> bool {
        !self.client_reasons.is_empty()
    }
}

/// Compares a load with an objective. `summary` is the summary of `outcome`.
pub fn evaluate(slo: &Slo, outcome: &LoadOutcome, summary: &Summary) -> StepEvaluation {
    let of_cpu = |rule: &&BrokenRule| {
        matches!(
            rule.kind(),
            BrokenRule::ClientCpu { .. }
                | BrokenRule::Starved { .. }
                | BrokenRule::Achieved { .. }
                | BrokenRule::ClientLost { .. }
        )
    };
    let mut client_reasons: Vec<String> =
        summary.rules_broken.iter().filter(of_cpu).map(ToString::to_string).collect();
    let lag_us = summary.client.lag_us.p99;
    if slo.latency_limit_us().is_some_and(|limit| lag_us as f64 > MAX_LAG_SHARE * limit) {
        client_reasons.push(format!("the client sent late: lag p99 {lag_us} µs, for an objective of {slo}"));
    }
    StepEvaluation { spent: BudgetUse::of(slo, outcome), client_reasons }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::example;

    /// Evaluates ten thousand operations of 1 ms and 200 of 8 ms, of which the server took this long.
    fn with_tail(server_us: u64, lag_us: u64) -> StepEvaluation {
        let mut outcome = example::outcome();
        let operation = &mut outcome.total.operations[0];
        operation.response_time.record_n(8_000, 200).expect("a time");
        operation.server_time.record_n(server_us, 200).expect("a time");
        outcome.total.client.lag.record_n(lag_us, 200).expect("a time");
        let slo = "p99<5ms".parse().expect("an objective");
        evaluate(&slo, &outcome, &Summary::of(&outcome))
    }

    #[test]
    fn late_sends_of_the_client_are_not_charged_to_the_server() {
        assert!(with_tail(1_000, 5).meets_slo());
        assert!(!with_tail(8_000, 5).meets_slo());
    }

    #[test]
    fn a_client_that_sends_late_is_the_limit_whatever_the_server_does() {
        for server_us in [1_000, 8_000] {
            assert!(with_tail(server_us, 7_000).is_client_limited());
            assert!(!with_tail(server_us, 5).is_client_limited());
        }
    }
}
