//! What a run does with what its first blocks have decided: it goes on, or begins again with its first block. The decisions
//! themselves are left to [`first_block`].

use std::borrow::Cow;

use archive::ArchiveError;
use archive::model::{Measure, Plan, ReplacedMeasure, Trial, TrialStatus};

use super::RunProgress;
use crate::event::{Event, Observer};
use crate::plan::measure_names;
use crate::run::error::RunPlanError;
use crate::run::first_block;
use crate::run::so_far::RunSoFar;

impl RunProgress<'_> {
    /// Between two blocks: whether those so far have decided that the run begins again with the first one.
    pub(super) fn begins_again(&mut self, observe: &mut Observer<'_>) -> Result<bool, RunPlanError> {
        // A block that the user cut short decides nothing.
        if self.so_far.kept.all().any(|trial| trial.status == TrialStatus::Interrupted) {
            return Ok(false);
        }
        let decided = self
            .begin_one_at_a_time(observe)
            .and_then(|again| Ok(again || self.replace_measure(observe)? || self.keep_rate(observe)?));
        decided.map_err(|source| RunPlanError::CutOff { dir: self.writer.dir().to_owned(), source })
    }

    pub(super) fn mixes_turns(&self) -> bool {
        first_block::mixes_turns(&self.so_far.kept.all().collect::<Vec<_>>())
    }

    /// The plan for the next trials. In the first block, all of them have the rate of the first one.
    pub(super) fn plan_of_trials(&self) -> Cow<'_, Plan> {
        let mut plan = Cow::Borrowed(&self.plan);
        if let Some(rate) = self.rate_of_first_block() {
            plan.to_mut().measure = Measure::CpuTime { rate_per_s: Some(rate) };
        }
        plan
    }

    /// The rate of the first trial of CPU time, where the plan leaves it open; none before that trial.
    fn rate_of_first_block(&self) -> Option<f64> {
        let measured = || first_block::measured_rate(self.so_far.kept.all());
        first_block::leaves_rate(&self.plan).then(measured).flatten()
    }

    /// Begins again if only some servers of the first block ran in turns: the two ways to measure do not give the same values, so
    /// that no sweep may have both. By now the lab runs them one at a time.
    fn begin_one_at_a_time(&mut self, observe: &mut Observer<'_>) -> Result<bool, ArchiveError> {
        if !self.mixes_turns() {
            return Ok(false);
        }
        self.discard_trials()?;
        self.tell_beginning(observe);
        Ok(true)
    }

    /// Begins again with the plan's fallback if the planned measure has no answer here: by the first block, or by two blocks in a row before
    /// the first look. After that the plan has no fallback any more.
    fn replace_measure(&mut self, observe: &mut Observer<'_>) -> Result<bool, ArchiveError> {
        if self.plan.fallback.is_none() {
            return Ok(false);
        }
        let trials: Vec<&Trial> = self.so_far.kept.all().collect();
        let first: Vec<&Trial> = trials.iter().copied().filter(|trial| trial.block == 1).collect();
        let replacement = first_block::replacement(&self.plan, &self.facts, &first)
            .or_else(|| first_block::replacement_after_later_block(&self.plan, &self.facts, &trials));
        let is_final = first_block::keeps_measure(&self.plan, &trials);
        if let Some((measure, replaced)) = replacement {
            self.plan.fallback = None;
            return self.begin_with(measure, replaced, observe).map(|()| true);
        }
        if is_final {
            self.plan.fallback = None;
            self.writer.plan(&self.plan)?;
        }
        Ok(false)
    }

    /// Keeps the rate of the first trials of CPU time for all others, or begins again at a lower one.
    fn keep_rate(&mut self, observe: &mut Observer<'_>) -> Result<bool, ArchiveError> {
        let Some(rate) = self.rate_of_first_block() else { return Ok(false) };
        let trials: Vec<&Trial> = self.so_far.kept.all().collect();
        if let Some((measure, replaced)) = first_block::at_lower_rate(rate, &trials) {
            return self.begin_with(measure, replaced, observe).map(|()| true);
        }
        self.plan.measure = Measure::CpuTime { rate_per_s: Some(rate) };
        self.writer.plan(&self.plan).map(|()| false)
    }

    /// Begins again with another measure.
    fn begin_with(
        &mut self,
        measure: Measure,
        replaced: ReplacedMeasure,
        observe: &mut Observer<'_>,
    ) -> Result<(), ArchiveError> {
        observe(Event::MeasureReplaced { sentence: measure_names::replaced(&measure, &replaced) });
        // The trials go before the plan changes: a run that is killed in between begins with its first block.
        self.discard_trials()?;
        (self.plan.measure, self.plan.replaced) = (measure, Some(replaced));
        self.writer.plan(&self.plan)
    }

    /// Removes all trials, so that the run begins again with its first block. The newest goes first: what a run that is killed
    /// in between has left can be resumed.
    fn discard_trials(&mut self) -> Result<(), ArchiveError> {
        let folders = self.so_far.kept.indexed().map(|(index, trial)| {
            archive::layout::trial_folder(trial.number, &self.variant_points[index].name(&self.plan))
        });
        self.writer.discard(&folders.rev().collect::<Vec<_>>())?;
        self.so_far = RunSoFar::of_new_run(&self.plan, &self.variant_points);
        self.merged.fill(None);
        Ok(())
    }
}
