//! Whether one run meets an objective, and whether the client decided that it does not.

use super::search::StepOutcome;
use crate::engine::LoadOutcome;
use crate::inputs::slo::{Quantity, Slo};
use crate::record::Micros;
use crate::summary::Summary;
use crate::validity::BrokenRule;

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
                rule,
                BrokenRule::ClientCpu { .. } | BrokenRule::Starved { .. } | BrokenRule::Achieved { .. }
            )
        };
        client_reasons.extend(summary.rules_broken.iter().filter(of_cpu).map(ToString::to_string));
        if summary.requests > 0 && is_met(&outcome.total.merged(|op| &op.server_time)) {
            client_reasons.push("without the client's late sends the objective is met".to_owned());
        }
    }
    StepEvaluation { meets_slo, client_reasons }
}
