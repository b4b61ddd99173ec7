//! A run under way: its trials in order, each written to the run directory as soon as it has ended, and the verdict. What it
//! tells about its length and precision is in [`events`], and what its first block decides in [`restart`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use archive::model::{
    Facts, Gate, GateOutcome, Plan, QuantileCurve, Trial, TrialStatus, TrialTurns, VariantFacts,
};
use archive::{ArchiveError, RunWriter, TrialWriter};
use load::record::Micros;

use crate::event::{Event, Observer};
use crate::gates;
use crate::machines::differences::unlike;
use crate::plan::trial_order::{ScheduledTrial, up_together};
use crate::plan::variant_point::VariantPoint;
use crate::run::changes;
use crate::run::error::RunPlanError;
use crate::run::interrupted::FactCheck;
use crate::run::interrupted::ResumeError;
use crate::run::lab::{FinishedRun, Lab, TrialSlot};
use crate::run::so_far::RunSoFar;
use crate::run::stopping::due;
use crate::search_start::SearchStart;
use crate::trial::{FinishedTrial, add_times, curve};
use crate::verdict::company;
use crate::verdict::compute::{comparisons_so_far, verdict};
use crate::verdict::input::VerdictInput;
use crate::verdict::interim_looks;
use crate::warm_up_loop::next_loop;

mod events;
mod restart;

/// Longest time that a trial waits for the hypervisor to leave the CPUs.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// How the trials of a run ended.
enum RunEnd {
    /// None is left to run.
    Complete,
    /// A look settled the question.
    Settled {
        /// Complete blocks at the look.
        look: u32,
    },
    /// The user interrupted between two trials.
    Interrupted,
    /// A variant cannot be measured, for this reason.
    Stopped(String),
}

/// A run under way.
pub struct RunProgress<'a> {
    /// With what the first block has decided.
    plan: Plan,
    writer: &'a RunWriter,
    variant_points: Vec<VariantPoint>,
    facts: Facts,
    /// In a resumed run.
    check: Option<FactCheck>,
    /// The trials that have ended, and the order of the others.
    so_far: RunSoFar,
    /// Merged response times of the valid trials of each variant at each point.
    merged: Vec<Option<Micros>>,
    begun: Instant,
    /// Time spent waiting for CPUs.
    waited: Duration,
}

impl<'a> RunProgress<'a> {
    /// A run with these facts. `so_far` has the trials that have ended, and `merged` their response times: as many entries as
    /// there are variants and points.
    pub fn new(
        plan: Plan,
        writer: &'a RunWriter,
        facts: Facts,
        check: Option<FactCheck>,
        variant_points: Vec<VariantPoint>,
        so_far: RunSoFar,
        merged: Vec<Option<Micros>>,
    ) -> Self {
        let (begun, waited) = (Instant::now(), Duration::ZERO);
        Self { plan, writer, variant_points, facts, check, so_far, merged, begun, waited }
    }

    /// Runs the trials and writes the verdict.
    pub fn complete(
        mut self,
        lab: &mut dyn Lab,
        interrupted: &AtomicBool,
        observe: &mut Observer<'_>,
    ) -> Result<FinishedRun, RunPlanError> {
        let dir = self.writer.dir().to_owned();
        let cut_off = |source| RunPlanError::CutOff { dir: dir.clone(), source };
        self.tell_beginning(observe);
        self.writer.facts(&self.facts).map_err(cut_off)?;
        let ended = self.run(lab, interrupted, observe)?;
        if matches!(ended, RunEnd::Complete) {
            self.tell_missed_aim(observe);
        }
        let is_cut = self.so_far.kept.all().any(|trial| trial.status == TrialStatus::Interrupted);
        let curves: Vec<QuantileCurve> =
            self.merged.iter().map(|histogram| histogram.as_ref().map(curve).unwrap_or_default()).collect();
        let look = match ended {
            RunEnd::Settled { look } => Some(look),
            RunEnd::Complete | RunEnd::Interrupted | RunEnd::Stopped(_) => None,
        };
        let is_interrupted = is_cut || matches!(ended, RunEnd::Interrupted | RunEnd::Stopped(_));
        if is_interrupted {
            self.record_look().map_err(cut_off)?;
        }
        let verdict =
            verdict(&VerdictInput { interrupted: is_interrupted, ..self.verdict_input(look, &curves) });
        self.writer.verdict(&verdict).map_err(cut_off)?;
        observe(Event::Verdict { sentence: verdict.sentence.clone() });
        let interrupted = interrupted.load(Ordering::Relaxed);
        let stopped = match ended {
            RunEnd::Stopped(why) => Some(why),
            RunEnd::Complete | RunEnd::Settled { .. } | RunEnd::Interrupted => None,
        };
        Ok(FinishedRun { dir, verdict, interrupted, stopped, unrestored: Vec::new() })
    }

    /// Runs blocks until the stopping rule ends the run.
    fn run(
        &mut self,
        lab: &mut dyn Lab,
        interrupted: &AtomicBool,
        observe: &mut Observer<'_>,
    ) -> Result<RunEnd, RunPlanError> {
        let mut block = self.so_far.next_block;
        loop {
            if block > 1 && self.begins_again(observe)? {
                block = 1;
            }
            let due = due(block, &self.plan, &self.variant_points, &self.so_far.kept);
            if due.is_empty() || block > self.plan.blocks + self.plan.spare_blocks {
                break;
            }
            if let Some(look) =
                interim_looks::due(&self.plan, block - 1, &self.variant_points, &self.so_far.kept)
            {
                if self.is_settled(look) {
                    return Ok(RunEnd::Settled { look });
                }
                let dir = self.writer.dir().to_owned();
                self.prolong_if_disturbed().map_err(|source| RunPlanError::CutOff { dir, source })?;
                self.tell_going_on(look, observe);
            }
            if block > self.expected_blocks() {
                let trials = (self.so_far.kept.all().len() + due.len()) as u32;
                observe(Event::BlockAdded { block, trials });
            }
            let scheduled = self.so_far.order.next_block(&due);
            for together in up_together(&self.plan, &self.variant_points, &scheduled) {
                if interrupted.load(Ordering::Relaxed) {
                    return Ok(RunEnd::Interrupted);
                }
                if let Some(why) = self.run_trials(&together, lab, observe)? {
                    return Ok(RunEnd::Stopped(why));
                }
                // The other groups would be run twice.
                if self.mixes_turns() {
                    break;
                }
            }
            self.tell_precision(observe);
            block += 1;
        }
        Ok(RunEnd::Complete)
    }

    fn verdict_input<'s>(&'s self, look: Option<u32>, curves: &'s [QuantileCurve]) -> VerdictInput<'s> {
        VerdictInput {
            plan: &self.plan,
            facts: &self.facts,
            variant_points: &self.variant_points,
            trials: &self.so_far.kept,
            look,
            interrupted: false,
            curves,
        }
    }

    /// Records that the verdict of an interrupted run is a look, before anyone sees it: what it spends is missing when the run is
    /// resumed.
    fn record_look(&mut self) -> Result<(), ArchiveError> {
        let looks = interim_looks::of_interrupted(&self.plan, &self.variant_points, &self.so_far.kept);
        if looks.is_empty() {
            return Ok(());
        }
        self.plan.interrupted_looks.extend(looks);
        self.writer.plan(&self.plan)
    }

    /// Whether a look settles the question.
    fn is_settled(&self, look: u32) -> bool {
        let comparisons = comparisons_so_far(&self.verdict_input(Some(look), &[]));
        interim_looks::is_settled(&self.plan, &comparisons)
    }

    /// Runs trials whose servers are up together, or one trial, and writes them to the run directory. Returns the reason if a
    /// variant cannot be measured.
    fn run_trials(
        &mut self,
        together: &[ScheduledTrial],
        lab: &mut dyn Lab,
        observe: &mut Observer<'_>,
    ) -> Result<Option<String>, RunPlanError> {
        let cut_off = |source| RunPlanError::CutOff { dir: self.writer.dir().to_owned(), source };
        self.wait_for_cpus(lab, observe);
        let name = |scheduled: &ScheduledTrial| self.variant_points[scheduled.variant_point].name(&self.plan);
        let mut writers = Vec::new();
        for scheduled in together {
            let (number, block, name) = (scheduled.number, scheduled.block, name(scheduled));
            writers.push(self.writer.begin_trial(number, &name).map_err(cut_off)?);
            observe(Event::TrialBegins { number, block, name });
        }
        let slots = together.iter().zip(&writers).map(|(scheduled, writer)| {
            let variant_point = &self.variant_points[scheduled.variant_point];
            let kept = &self.so_far.kept;
            let search_start = SearchStart::of(scheduled.variant_point, kept);
            let warm_up_loop = next_loop(&self.plan, kept.of(scheduled.variant_point));
            TrialSlot { scheduled, variant_point, writer, search_start, warm_up_loop }
        });
        let finished = lab.run_trials(&self.plan_of_trials(), &slots.collect::<Vec<_>>(), observe);
        let mut cannot_be_measured = None;
        for ((scheduled, writer), finished) in together.iter().zip(&writers).zip(finished) {
            // Trials before one that cannot be written have their records.
            let why = self.keep(scheduled, writer, finished.map_err(cut_off)?, observe)?;
            cannot_be_measured = cannot_be_measured.or(why);
        }
        Ok(cannot_be_measured)
    }

    /// Writes a trial to the run directory. Returns the reason if its variant cannot be measured.
    fn keep(
        &mut self,
        scheduled: &ScheduledTrial,
        writer: &TrialWriter,
        finished: FinishedTrial,
        observe: &mut Observer<'_>,
    ) -> Result<Option<String>, RunPlanError> {
        let cut_off = |source| RunPlanError::CutOff { dir: self.writer.dir().to_owned(), source };
        let index = scheduled.variant_point;
        let name = self.variant_points[index].name(&self.plan);
        if let Some(facts) = finished.facts {
            self.add_variant_facts(facts)?;
            self.writer.facts(&self.facts).map_err(cut_off)?;
        }
        writer.finish(&finished.trial).map_err(cut_off)?;
        observe(Event::trial_ends(&name, &finished.trial));
        let is_valid = finished.trial.status == TrialStatus::Valid;
        if is_valid && let Some(response) = finished.response_time {
            add_times(&mut self.merged[index], response);
        }
        let cannot_be_measured = self.so_far.failures.count(scheduled, finished.trial.status);
        let unlike = if self.plan.like_with_like { unlike(&self.plan, &self.facts) } else { None };
        let why =
            cannot_be_measured.then(|| format!("{name}: {}", finished.trial.reasons.join("; "))).or(unlike);
        self.so_far.kept.push(index, finished.trial);
        Ok(why)
    }

    /// Adds a variant's facts from its first trial, in the plan's order. In a resumed run, its server must be the one of
    /// the first trials.
    fn add_variant_facts(&mut self, of_variant: VariantFacts) -> Result<(), ResumeError> {
        let known = self.facts.variants.iter().find(|known| known.name == of_variant.name);
        match (known, &self.check) {
            (Some(known), Some(check)) => {
                let mut changes = changes::variant_changes(known, &of_variant, check.is_sweep);
                check.accept(&changes, &self.facts.resumed)?;
                if let Some(resumption) = self.facts.resumed.last_mut() {
                    changes.retain(|change| !resumption.changes.contains(change));
                    resumption.changes.extend(changes);
                }
            }
            (Some(_), None) => {}
            (None, _) => add_variant_facts(&mut self.facts, of_variant, &self.plan),
        }
        Ok(())
    }

    /// Whether the last trial, or one that was up together with it, failed the gate `steal`.
    fn was_disturbed(&self) -> bool {
        let failed_steal = |gate: &Gate| gate.id == gates::STEAL && gate.outcome == GateOutcome::Failed;
        let kept = &self.so_far.kept;
        let Some(last) = kept.all().next_back() else { return false };
        let is_beside = |trial: &&Trial| match &last.turns {
            Some(TrialTurns::InTurns { trials, .. }) => trials.contains(&trial.number),
            Some(TrialTurns::OneAtATime { .. }) | None => trial.number == last.number,
        };
        kept.all().filter(is_beside).any(|trial| trial.gates.iter().any(failed_steal))
    }

    /// After a trial that failed the gate `steal`, waits for the hypervisor to leave the CPUs. The wait depends on the
    /// CPUs and not on measured values. All waits together are no longer than the trials, so a run takes at most twice
    /// its time.
    fn wait_for_cpus(&mut self, lab: &mut dyn Lab, observe: &mut Observer<'_>) {
        if !self.was_disturbed() {
            return;
        }
        let finished = self.begun.elapsed().saturating_sub(self.waited);
        let begun = Instant::now();
        lab.wait_for_cpus(LONGEST_WAIT.min(finished.saturating_sub(self.waited)), observe);
        self.waited += begun.elapsed();
    }

    /// Lets a quick run whose first look settled nothing go on for longer, if other programs or the hypervisor disturb it. That follows
    /// from what was taken from its CPUs, and never from what was measured. A run that is resumed has it in its plan.
    fn prolong_if_disturbed(&mut self) -> Result<(), ArchiveError> {
        if self.company().is_none() {
            return Ok(());
        }
        let Some(plan) = interim_looks::prolonged(&self.plan) else { return Ok(()) };
        self.plan = plan;
        self.writer.plan(&self.plan)
    }

    /// What was taken from the trials so far, in words; none where the limits were kept.
    fn company(&self) -> Option<String> {
        company::of_valid(self.so_far.kept.all())
    }
}

/// Adds a variant's facts, in the plan's order.
fn add_variant_facts(facts: &mut Facts, of_variant: VariantFacts, plan: &Plan) {
    facts.variants.push(of_variant);
    let place = |name: &str| plan.variants.iter().position(|variant| variant.name == name);
    facts.variants.sort_by_key(|variant| place(&variant.name));
}
