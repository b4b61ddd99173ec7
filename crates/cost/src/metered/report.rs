//! What the meters of a run say of its variants.

use std::collections::BTreeMap;

use ::power::notes_on;
use archive::Run;
use archive::model::Trial;
use serde::Serialize;

use super::comparison::{MeteredComparison, compare};
use super::trials::MeteredTrials;
use super::variant::MeteredVariant;
use crate::measured::MeasuredRun;

/// Watts and operations a joule of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeteredReport {
    /// The variants with their meters, in the order of the plan; the watts of the whole machine first.
    pub variants: Vec<MeteredVariant>,
    /// Pairs of variants, by meters of one boundary.
    pub comparisons: Vec<MeteredComparison>,
    /// Watts that are missing, one sentence a meter.
    pub lost: Vec<String>,
    /// What limits these figures.
    pub notes: Vec<String>,
}

/// What the meters of a run say; none where it has no meter, or no verdict.
pub fn metered(run: &Run) -> Option<MeteredReport> {
    let has_meter = |trial: &Trial| trial.power.as_ref().is_some_and(|power| !power.meters.is_empty());
    if !run.trials.iter().any(|record| has_meter(&record.trial)) {
        return None;
    }
    let measured = MeasuredRun::all(std::slice::from_ref(run)).ok()?.into_iter().next()?;
    let variants = measured.verdict.variants.iter().flat_map(|summary| {
        let found = MeteredTrials::all(run, summary);
        found.iter().filter_map(|of_meter| MeteredVariant::of(summary, of_meter)).collect::<Vec<_>>()
    });
    let variants: Vec<MeteredVariant> = variants.collect();
    let mut comparisons = Vec::new();
    let mut notes = notes(&measured, &variants);
    if variants.is_empty() {
        notes.push("No valid trial has watts at its full load".to_owned());
    }
    for pair in &measured.verdict.comparisons {
        let (found, why) = compare(&measured, pair);
        comparisons.extend(found);
        notes.extend(why);
    }
    Some(MeteredReport { variants, comparisons, lost: lost(run), notes })
}

fn notes(run: &MeasuredRun<'_>, variants: &[MeteredVariant]) -> Vec<String> {
    let meters = || variants.iter().map(|variant| &variant.meter);
    let mut notes = notes_on(meters().any(|meter| meter.is_indicative), meters().map(|meter| meter.boundary));
    if run.is_on_one_machine() && !variants.is_empty() {
        notes.push("The client ran on the machine of the servers: the watts include its own".to_owned());
    }
    notes
}

/// For each meter and reason, the trials in which a level has no watts of it.
fn lost(run: &Run) -> Vec<String> {
    let mut found: BTreeMap<(String, String), Vec<u32>> = BTreeMap::new();
    for trial in run.trials.iter().map(|record| &record.trial) {
        let Some(power) = &trial.power else { continue };
        for meter in &power.meters {
            let is_missing = power.levels.iter().any(|level| level.watts_of(&meter.name).is_none());
            if is_missing {
                let why = meter.failure.clone();
                let why = why.unwrap_or_else(|| "no reading fell into a level: use a longer run".to_owned());
                found.entry((meter.name.clone(), why)).or_default().push(trial.number);
            }
        }
    }
    let sentence = |((name, why), trials): ((String, String), Vec<u32>)| {
        let numbers: Vec<String> = trials.iter().map(u32::to_string).collect();
        let word = if numbers.len() == 1 { "trial" } else { "trials" };
        format!("{name} gave no watts at a level of {word} {}: {why}", numbers.join(", "))
    };
    found.into_iter().map(sentence).collect()
}

#[cfg(test)]
mod tests;
