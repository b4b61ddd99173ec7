//! A run: every trial in its turn, each written down as soon as it has ended, and the verdict.
//!
//! How a trial is held is behind [`Lab`], so that order, stopping and recording are tested without a server.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use archive::model::{
    FORMAT, Facts, Gate, GateOutcome, Plan, QuantileCurve, Trial, TrialStatus, VariantFacts, Verdict,
};
use archive::{ArchiveError, RunWriter, TrialWriter};
use load::record::Micros;

use crate::cell::{Cell, cells};
use crate::event::{Event, Observer};
use crate::gates;
use crate::order::{Order, Slot};
use crate::record::{Record, Trials};
use crate::stopping::due;
use crate::trial::{FinishedTrial, curve};
use crate::verdict::reach;

/// A variant that cannot be measured so many times in a row will not be measured at all.
const FAILURES_IN_A_ROW: u32 = 3;

/// At most so long a trial waits for CPUs that the hypervisor has.
const PATIENCE: Duration = Duration::from_mins(1);

/// Where trials are held.
pub trait Lab {
    /// Facts of host and client.
    fn facts(&mut self) -> Facts;

    /// Holds one trial. What goes wrong with the server is told in the trial; the files are the writer's.
    fn run_trial(
        &mut self,
        slot: &Slot,
        cell: &Cell,
        writer: &TrialWriter,
        observe: &mut Observer<'_>,
    ) -> Result<FinishedTrial, ArchiveError>;

    /// Waits until the hypervisor leaves the CPUs alone, if it has them; for no longer than this.
    fn wait_for_the_cpus(&mut self, patience: Duration, observe: &mut Observer<'_>);
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
pub fn run_blocks(
    plan: &Plan,
    lab: &mut dyn Lab,
    root: &Path,
    interrupted: &AtomicBool,
    observe: &mut Observer<'_>,
) -> Result<Finished, ArchiveError> {
    let writer = RunWriter::create(root, plan, SystemTime::now())?;
    let cells = cells(plan);
    let planned = plan.blocks * cells.len() as u32;
    observe(Event::RunBegins {
        run: writer.id().as_str().to_owned(),
        dir: writer.dir().display().to_string(),
        trials: planned,
    });
    let facts = Facts { format: FORMAT, ..lab.facts() };
    writer.facts(&facts)?;
    let mut series = Series {
        plan,
        writer: &writer,
        facts,
        trials: Trials::default(),
        merged: vec![None; cells.len()],
        failures: vec![0; cells.len()],
        cells,
        begun: Instant::now(),
        waited: Duration::ZERO,
    };
    let stopped = series.run(lab, interrupted, observe)?;
    let Series { facts, cells, trials, merged, .. } = series;
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

/// The trials of a run, as far as they have been held.
struct Series<'a> {
    plan: &'a Plan,
    writer: &'a RunWriter,
    cells: Vec<Cell>,
    facts: Facts,
    trials: Trials,
    /// Response times of the trials of each cell that count.
    merged: Vec<Option<Micros>>,
    /// Trials of each cell that failed in a row.
    failures: Vec<u32>,
    begun: Instant,
    /// Time that was spent in waiting for CPUs.
    waited: Duration,
}

impl Series<'_> {
    /// Holds blocks until the stopping rule says that they are enough. Says why it stopped early, if it did so because a
    /// variant cannot be measured.
    fn run(
        &mut self,
        lab: &mut dyn Lab,
        interrupted: &AtomicBool,
        observe: &mut Observer<'_>,
    ) -> Result<Option<String>, ArchiveError> {
        let plan = self.plan;
        let mut order = Order::new(plan.seed);
        for block in 1..=plan.blocks + plan.spare_blocks {
            let due = due(block, plan, &self.cells, &self.trials);
            if due.is_empty() {
                break;
            }
            if block > plan.blocks {
                observe(Event::BlockIsAdded { block, trials: (self.trials.all().len() + due.len()) as u32 });
            }
            for slot in order.block(&due) {
                if interrupted.load(Ordering::Relaxed) {
                    return Ok(None);
                }
                let why_hopeless = self.run_trial(&slot, lab, observe)?;
                if why_hopeless.is_some() {
                    return Ok(why_hopeless);
                }
            }
        }
        Ok(None)
    }

    /// Holds one trial and writes it down. If its variant cannot be measured at all, says why.
    fn run_trial(
        &mut self,
        slot: &Slot,
        lab: &mut dyn Lab,
        observe: &mut Observer<'_>,
    ) -> Result<Option<String>, ArchiveError> {
        self.wait_for_the_cpus(lab, observe);
        let cell = &self.cells[slot.cell];
        let name = cell.name(self.plan);
        observe(Event::TrialBegins { number: slot.number, block: slot.block, name: name.clone() });
        let writer = self.writer.begin_trial(slot.number, &name)?;
        let finished = lab.run_trial(slot, cell, &writer, observe)?;
        writer.finish(&finished.trial)?;
        observe(ended(&name, &finished.trial));
        if let Some(found) = finished.facts {
            remember(&mut self.facts, found, self.plan);
            self.writer.facts(&self.facts)?;
        }
        let counts = finished.trial.status == TrialStatus::Valid;
        if let Some(response) = finished.response_time.filter(|_| counts) {
            match &mut self.merged[slot.cell] {
                Some(all) => all.add(response).expect("histograms of one precision add"),
                none => *none = Some(response),
            }
        }
        let has_failed = finished.trial.status == TrialStatus::Failed;
        let failures = if has_failed { self.failures[slot.cell] + 1 } else { 0 };
        self.failures[slot.cell] = failures;
        let is_hopeless = failures > 0 && (slot.block == 1 || failures >= FAILURES_IN_A_ROW);
        let why = is_hopeless.then(|| format!("{name}: {}", finished.trial.reasons.join("; ")));
        self.trials.push(slot.cell, finished.trial);
        Ok(why)
    }

    /// After a trial from which the hypervisor took its CPUs the next waits for them, rather than to be lost, too. What is
    /// looked at are CPUs, not values. The waits together are never longer than the trials: a run takes twice its time
    /// at most.
    fn wait_for_the_cpus(&mut self, lab: &mut dyn Lab, observe: &mut Observer<'_>) {
        let lost = |gate: &Gate| gate.id == gates::STEAL && gate.outcome == GateOutcome::Failed;
        if !self.trials.all().next_back().is_some_and(|last| last.gates.iter().any(lost)) {
            return;
        }
        let finished = self.begun.elapsed().saturating_sub(self.waited);
        let begun = Instant::now();
        lab.wait_for_the_cpus(PATIENCE.min(finished.saturating_sub(self.waited)), observe);
        self.waited += begun.elapsed();
    }
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

#[cfg(test)]
mod tests;
