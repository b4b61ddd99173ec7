//! What a search reads of a trial's record and of a server's configuration.

use std::fs;

use archive::Run;
use archive::model::{KnobValue, Measure, PhaseKind, Plan, Trial, TrialStatus};
use bakeoff::is_broken;
use explain::trial_figures;
use workload::TemplateVariables;

use crate::lab::TrialReading;

/// A trial of a run with this plan; none where the plan does not have its variant.
pub fn reading(run: &Run, plan: &Plan, trial: &Trial) -> Option<TrialReading> {
    let of = plan.variants.iter().position(|variant| variant.name == trial.variant)?;
    let kind = match plan.measure {
        Measure::LatencyCurve { .. } => PhaseKind::CurveStep,
        _ => PhaseKind::Measure,
    };
    let measured = trial.phases.iter().rev().find(|phase| phase.kind == kind);
    // A capacity is a rate at which the objective holds, so its latency is no price.
    let has_objective = plan.measure.is_capacity();
    let errors = measured.map(|phase| {
        let failed: u64 = phase.errors.values().sum();
        failed as f64 / ((phase.requests + failed).max(1)) as f64
    });
    let why = || {
        let reasons = trial.reasons.join("; ");
        if reasons.is_empty() { "see its log".to_owned() } else { reasons }
    };
    Some(TrialReading {
        block: trial.block,
        of,
        value: trial.valid_value(),
        failed: (trial.status == TrialStatus::Failed).then(why),
        invalid: (trial.status == TrialStatus::Invalid).then(why),
        is_broken: is_broken(trial),
        loop_per_s: measured.filter(|_| plan.measure.is_closed_loop()).map(|phase| phase.throughput_per_s),
        p99_us: measured.filter(|_| !has_objective).map(|phase| phase.response_time_us.p99 as f64),
        p99_9_us: measured.filter(|_| !has_objective).map(|phase| phase.response_time_us.p99_9 as f64),
        errors,
        memory_bytes: trial.server.as_ref().map(|used| used.peak_rss_bytes as f64),
        figures: trial_figures(run, trial),
    })
}

/// Whether a server had a text in its effective configuration, which has its command, too. The text is a template with its knobs.
/// True where that is not known.
pub fn has_text(run: &Run, of: usize, text: &str) -> bool {
    let variant = run.plan.as_ref().and_then(|plan| plan.variants.get(of));
    let facts = run
        .facts
        .as_ref()
        .zip(variant)
        .and_then(|(facts, variant)| facts.variants.iter().find(|known| known.name == variant.name));
    let Some(facts) = facts.filter(|facts| !facts.config.is_empty()) else { return true };
    let mut variables = TemplateVariables::default();
    for (name, value) in &facts.knobs {
        match value {
            KnobValue::Flag(on) => variables.set(name, *on),
            KnobValue::Integer(number) => variables.set(name, *number),
            KnobValue::Number(number) => variables.set(name, *number),
            KnobValue::Text(text) => variables.set(name, text.as_str()),
        }
    }
    let Ok(text) = variables.render(text) else { return true };
    let files = facts.config.iter().filter_map(|file| fs::read_to_string(run.dir.join(&file.file)).ok());
    let files: Vec<String> = files.collect();
    files.len() < facts.config.len() || files.iter().any(|file| file.contains(&text))
}
