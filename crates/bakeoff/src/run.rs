//! A run: its trials in order, each written to the run directory as soon as it has ended, and the verdict.
//!
//! [`Lab`] runs a single trial. Tests replace it, so order, stopping and recording are tested without a server.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use archive::model::{
    FORMAT, Facts, Gate, GateOutcome, Plan, QuantileCurve, Trial, TrialStatus, VariantFacts, Verdict,
};
use archive::{ArchiveError, RunWriter, TrialWriter};
use load::record::Micros;

use crate::event::{Event, Observer};
use crate::gates;
use crate::stopping::due;
use crate::trial::{FinishedTrial, curve};
use crate::trial_order::{ScheduledTrial, TrialOrder};
use crate::variant_point::{VariantPoint, variant_points};
use crate::verdict::verdict;
use crate::verdict_input::{FinishedTrials, VerdictInput};

/// A run stops when a variant has failed this many times in a row.
const FAILURES_IN_A_ROW: u32 = 3;

/// Longest time that a trial waits for the hypervisor to leave the CPUs.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// Runs single trials.
pub trait Lab {
    /// The facts of host and client.
    fn facts(&mut self) -> Facts;

    /// Runs one trial. A failure of the server is part of the trial; an error is one of the run directory.
    fn run_trial(
        &mut self,
        scheduled: &ScheduledTrial,
        variant_point: &VariantPoint,
        writer: &TrialWriter,
        observe: &mut Observer<'_>,
    ) -> Result<FinishedTrial, ArchiveError>;

    /// Waits until the hypervisor leaves the CPUs alone, at most this long.
    fn wait_for_cpus(&mut self, longest: Duration, observe: &mut Observer<'_>);
}

/// A run that has ended.
#[derive(Debug)]
pub struct FinishedRun {
    /// The run directory.
    pub dir: PathBuf,
    /// Its verdict.
    pub verdict: Verdict,
    /// Whether the user ended it early.
    pub interrupted: bool,
    /// Why it stopped before its last trial; none if it did not, or if the user stopped it.
    pub stopped: Option<String>,
    /// Kernel settings that do not have their old value after the run, one sentence each.
    pub unrestored: Vec<String>,
}

/// Runs the trials of a plan and computes the verdict.
pub fn run_blocks(
    plan: &Plan,
    lab: &mut dyn Lab,
    root: &Path,
    interrupted: &AtomicBool,
    observe: &mut Observer<'_>,
) -> Result<FinishedRun, ArchiveError> {
    let writer = RunWriter::create(root, plan, SystemTime::now())?;
    let variant_points = variant_points(plan);
    let planned = plan.blocks * variant_points.len() as u32;
    observe(Event::RunBegins {
        run: writer.id().as_str().to_owned(),
        dir: writer.dir().display().to_string(),
        trials: planned,
    });
    let facts = Facts { format: FORMAT, ..lab.facts() };
    writer.facts(&facts)?;
    let mut progress = RunProgress {
        plan,
        writer: &writer,
        facts,
        trials: FinishedTrials::default(),
        merged: vec![None; variant_points.len()],
        failures: vec![0; variant_points.len()],
        variant_points,
        begun: Instant::now(),
        waited: Duration::ZERO,
    };
    let stopped = progress.run(lab, interrupted, observe)?;
    let RunProgress { facts, variant_points, trials, merged, .. } = progress;
    let curves: Vec<QuantileCurve> =
        merged.iter().map(|histogram| histogram.as_ref().map(curve).unwrap_or_default()).collect();
    let verdict = verdict(&VerdictInput {
        plan,
        facts: &facts,
        variant_points: &variant_points,
        trials: &trials,
        curves: &curves,
    });
    writer.verdict(&verdict)?;
    observe(Event::Verdict { sentence: verdict.sentence.clone() });
    Ok(FinishedRun {
        dir: writer.dir().to_owned(),
        verdict,
        interrupted: interrupted.load(Ordering::Relaxed),
        stopped,
        unrestored: Vec::new(),
    })
}

/// A run under way.
struct RunProgress<'a> {
    plan: &'a Plan,
    writer: &'a RunWriter,
    variant_points: Vec<VariantPoint>,
    facts: Facts,
    trials: FinishedTrials,
    /// Merged response times of the valid trials of each variant at each point.
    merged: Vec<Option<Micros>>,
    /// Number of trials in a row that failed, of each variant at each point.
    failures: Vec<u32>,
    begun: Instant,
    /// Time spent waiting for CPUs.
    waited: Duration,
}

impl RunProgress<'_> {
    /// Runs blocks until the stopping rule ends the run. Returns the reason if it stopped early because a variant cannot
    /// be measured.
    fn run(
        &mut self,
        lab: &mut dyn Lab,
        interrupted: &AtomicBool,
        observe: &mut Observer<'_>,
    ) -> Result<Option<String>, ArchiveError> {
        let plan = self.plan;
        let mut order = TrialOrder::new(plan.seed);
        for block in 1..=plan.blocks + plan.spare_blocks {
            let due = due(block, plan, &self.variant_points, &self.trials);
            if due.is_empty() {
                break;
            }
            if block > plan.blocks {
                observe(Event::BlockAdded { block, trials: (self.trials.all().len() + due.len()) as u32 });
            }
            for scheduled in order.next_block(&due) {
                if interrupted.load(Ordering::Relaxed) {
                    return Ok(None);
                }
                let why_stopped = self.run_trial(&scheduled, lab, observe)?;
                if why_stopped.is_some() {
                    return Ok(why_stopped);
                }
            }
        }
        Ok(None)
    }

    /// Runs one trial and writes it to the run directory. Returns the reason if its variant cannot be measured.
    fn run_trial(
        &mut self,
        scheduled: &ScheduledTrial,
        lab: &mut dyn Lab,
        observe: &mut Observer<'_>,
    ) -> Result<Option<String>, ArchiveError> {
        self.wait_for_cpus(lab, observe);
        let index = scheduled.variant_point;
        let variant_point = &self.variant_points[index];
        let name = variant_point.name(self.plan);
        observe(Event::TrialBegins { number: scheduled.number, block: scheduled.block, name: name.clone() });
        let writer = self.writer.begin_trial(scheduled.number, &name)?;
        let finished = lab.run_trial(scheduled, variant_point, &writer, observe)?;
        writer.finish(&finished.trial)?;
        observe(trial_ends(&name, &finished.trial));
        if let Some(facts) = finished.facts {
            add_variant_facts(&mut self.facts, facts, self.plan);
            self.writer.facts(&self.facts)?;
        }
        let is_valid = finished.trial.status == TrialStatus::Valid;
        if let Some(response) = finished.response_time.filter(|_| is_valid) {
            match &mut self.merged[index] {
                Some(all) => all.add(response).expect("histograms of one precision add"),
                none => *none = Some(response),
            }
        }
        let has_failed = finished.trial.status == TrialStatus::Failed;
        let failures = if has_failed { self.failures[index] + 1 } else { 0 };
        self.failures[index] = failures;
        let cannot_be_measured = failures > 0 && (scheduled.block == 1 || failures >= FAILURES_IN_A_ROW);
        let why = cannot_be_measured.then(|| format!("{name}: {}", finished.trial.reasons.join("; ")));
        self.trials.push(index, finished.trial);
        Ok(why)
    }

    /// After a trial that failed the gate `steal`, waits for the hypervisor to leave the CPUs. The wait depends on the
    /// CPUs and not on measured values. All waits together are no longer than the trials, so a run takes at most twice
    /// its time.
    fn wait_for_cpus(&mut self, lab: &mut dyn Lab, observe: &mut Observer<'_>) {
        let failed_steal = |gate: &Gate| gate.id == gates::STEAL && gate.outcome == GateOutcome::Failed;
        if !self.trials.all().next_back().is_some_and(|last| last.gates.iter().any(failed_steal)) {
            return;
        }
        let finished = self.begun.elapsed().saturating_sub(self.waited);
        let begun = Instant::now();
        lab.wait_for_cpus(LONGEST_WAIT.min(finished.saturating_sub(self.waited)), observe);
        self.waited += begun.elapsed();
    }
}

/// Adds a variant's facts from its first trial, in the plan's order.
fn add_variant_facts(facts: &mut Facts, of_variant: VariantFacts, plan: &Plan) {
    if facts.variants.iter().any(|known| known.name == of_variant.name) {
        return;
    }
    facts.variants.push(of_variant);
    let place = |name: &str| plan.variants.iter().position(|variant| variant.name == name);
    facts.variants.sort_by_key(|variant| place(&variant.name));
}

fn trial_ends(name: &str, trial: &Trial) -> Event {
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
