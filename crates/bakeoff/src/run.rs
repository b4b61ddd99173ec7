//! A run: every trial in its turn, each written down as soon as it has ended, and the verdict.
//!
//! How a trial is held is behind [`Ring`], so that order, stopping and recording are tested without a server.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use archive::model::{
    FORMAT, Facts, GateOutcome, Plan, QuantileCurve, Trial, TrialStatus, VariantFacts, Verdict,
};
use archive::{ArchiveError, RunWriter, TrialWriter};
use load::record::Micros;

use crate::cell::{Cell, cells};
use crate::event::{Event, Observer};
use crate::order::{Slot, order};
use crate::trial::{Held, curve};
use crate::verdict::{Record, reach};

/// A variant that cannot be measured so many times in a row will not be measured at all.
const FAILURES_IN_A_ROW: u32 = 3;

/// Where trials are held.
pub trait Ring {
    /// Facts of host and client.
    fn facts(&mut self) -> Facts;

    /// Holds one trial. What goes wrong with the server is told in the trial; the files are the writer's.
    fn hold(
        &mut self,
        slot: &Slot,
        cell: &Cell,
        writer: &TrialWriter,
        observe: &mut Observer<'_>,
    ) -> Result<Held, ArchiveError>;
}

/// A run that has ended.
#[derive(Debug)]
pub struct Finished {
    /// Its directory.
    pub dir: PathBuf,
    /// What may be said.
    pub verdict: Verdict,
    /// Ended early by the user.
    pub interrupted: bool,
    /// Why it stopped before its last trial, other than by the user.
    pub stopped: Option<String>,
}

/// Holds all trials of a plan and reaches the verdict.
pub fn run(
    plan: &Plan,
    ring: &mut dyn Ring,
    root: &Path,
    interrupted: &AtomicBool,
    observe: &mut Observer<'_>,
) -> Result<Finished, ArchiveError> {
    let writer = RunWriter::create(root, plan, SystemTime::now())?;
    let cells = cells(plan);
    let slots = order(cells.len(), plan.blocks, plan.seed);
    observe(Event::RunBegins {
        run: writer.id().as_str().to_owned(),
        dir: writer.dir().display().to_string(),
        trials: slots.len() as u32,
    });
    let mut facts = Facts { format: FORMAT, ..ring.facts() };
    writer.facts(&facts)?;
    let mut trials: Vec<(usize, Trial)> = Vec::new();
    let mut merged: Vec<Option<Micros>> = vec![None; cells.len()];
    let mut failures = vec![0; cells.len()];
    let mut stopped = None;
    for slot in &slots {
        if interrupted.load(Ordering::Relaxed) {
            break;
        }
        let cell = &cells[slot.cell];
        let name = cell.name(plan);
        observe(Event::TrialBegins { number: slot.number, block: slot.block, name: name.clone() });
        let trial_writer = writer.begin_trial(slot.number, &name)?;
        let held = ring.hold(slot, cell, &trial_writer, observe)?;
        trial_writer.finish(&held.trial)?;
        observe(ended(&name, &held.trial));
        if let Some(found) = held.facts {
            remember(&mut facts, found, plan);
            writer.facts(&facts)?;
        }
        let counts = held.trial.status == TrialStatus::Valid;
        if let Some(response) = held.response.filter(|_| counts) {
            match &mut merged[slot.cell] {
                Some(all) => all.add(response).expect("histograms of one precision add"),
                none => *none = Some(response),
            }
        }
        failures[slot.cell] =
            if held.trial.status == TrialStatus::Failed { failures[slot.cell] + 1 } else { 0 };
        let hopeless =
            failures[slot.cell] > 0 && (slot.block == 1 || failures[slot.cell] >= FAILURES_IN_A_ROW);
        if hopeless {
            stopped = Some(format!("{name}: {}", held.trial.reasons.join("; ")));
        }
        trials.push((slot.cell, held.trial));
        if hopeless {
            break;
        }
    }
    let curves: Vec<QuantileCurve> =
        merged.iter().map(|histogram| histogram.as_ref().map(curve).unwrap_or_default()).collect();
    let verdict = reach(&Record { plan, facts: &facts, cells: &cells, trials: &trials, curves: &curves });
    writer.verdict(&verdict)?;
    observe(Event::Verdict { sentence: verdict.sentence.clone() });
    Ok(Finished {
        dir: writer.dir().to_owned(),
        verdict,
        interrupted: interrupted.load(Ordering::Relaxed),
        stopped,
    })
}

/// Keeps a variant's facts, in the plan's order; the first trial's are those of all.
fn remember(facts: &mut Facts, found: VariantFacts, plan: &Plan) {
    if facts.variants.iter().any(|known| known.name == found.name) {
        return;
    }
    facts.variants.push(found);
    let place = |name: &str| plan.variants.iter().position(|variant| variant.name == name);
    facts.variants.sort_by_key(|variant| place(&variant.name));
}

fn ended(name: &str, trial: &Trial) -> Event {
    let failed = trial.gates.iter().filter(|gate| gate.outcome == GateOutcome::Failed).cloned();
    Event::TrialEnds {
        number: trial.number,
        name: name.to_owned(),
        status: trial.status,
        value: trial.measured.as_ref().map(|m| m.value),
        unit: trial.measured.as_ref().map(|m| m.unit.clone()).unwrap_or_default(),
        reasons: trial.reasons.clone(),
        failed_gates: failed.collect(),
    }
}
