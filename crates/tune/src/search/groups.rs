//! Groups of candidates beside a reference, in the same blocks: their gains, and what becomes of those that the server refuses, dies
//! with, or does not take. When there is time, and what gains mean, is left to the steps.

use super::decide;
use super::outcome::{Outcome, Tried};
use super::state::{MOST_BESIDE, Search};
use crate::lab::{LabError, Settings, StageTrials, TrialReading};

const NO_TIME: &str = "there was no time to try it: pass a longer --for";

/// Which candidates are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Table {
    /// Those that weaken nothing, beside the baseline.
    Free,
    /// Those that weaken something, beside what is kept.
    Weaker,
}

/// A stage that measures groups.
struct GroupStage<'s> {
    step: &'s str,
    table: Table,
    reference: &'s Settings,
    blocks: u32,
}

impl Search<'_> {
    /// Measures open candidates beside the baseline and adds their gains.
    pub(super) fn measure(&mut self, step: &str, of: &[usize], blocks: u32) -> Result<(), LabError> {
        self.measure_all(&GroupStage { step, table: Table::Free, reference: &Settings::new(), blocks }, of)
    }

    /// Measures the candidates that weaken something beside the settings that are kept. Candidates for which there is no time are dropped.
    pub(super) fn measure_weaker(&mut self, kept: &Settings, of: &[usize]) -> Result<(), LabError> {
        let blocks = self.limits.drop.0;
        self.measure_all(&GroupStage { step: "weaker", table: Table::Weaker, reference: kept, blocks }, of)
    }

    /// Candidates with which servers run one at a time are in groups of their own.
    fn measure_all(&mut self, stage: &GroupStage<'_>, of: &[usize]) -> Result<(), LabError> {
        let runs_alone = |at: &&usize| self.table(stage.table)[**at].candidate.runs_alone();
        let (alone, others): (Vec<usize>, Vec<usize>) = of.iter().partition(runs_alone);
        for group in others.chunks(MOST_BESIDE).chain(alone.chunks(MOST_BESIDE)) {
            // For free candidates the steps decide, because they know what else needs time.
            let fits = |of: &usize| self.has_time_at_all(stage.blocks * (*of as u32 + 1));
            let most = match stage.table {
                Table::Free => group.len(),
                Table::Weaker => (1..=group.len()).rev().find(fits).unwrap_or(0),
            };
            let (group, late) = group.split_at(most);
            for at in late {
                self.table_mut(stage.table)[*at].end(Outcome::Dropped, NO_TIME);
            }
            if !group.is_empty() {
                self.measure_group(stage, group)?;
            }
        }
        Ok(())
    }

    fn measure_group(&mut self, stage: &GroupStage<'_>, group: &[usize]) -> Result<(), LabError> {
        let table = self.table(stage.table);
        let names: Vec<String> = group.iter().map(|at| table[*at].candidate.name()).collect();
        let with = |at: &usize| -> Settings {
            let own = table[*at].candidate.settings.clone();
            stage.reference.clone().into_iter().chain(own).collect()
        };
        let of: Vec<Settings> =
            std::iter::once(stage.reference.clone()).chain(group.iter().map(with)).collect();
        self.lab.say(&format!("{}: {}", stage.step, names.join(" | ")));
        let following = match stage.table {
            Table::Free => self.trials_after_stack(),
            Table::Weaker => 0,
        };
        let trials = match self.run_until_valid(stage.step, &of, stage.blocks, following, decide::is_any) {
            Ok(trials) => trials,
            Err(LabError::Refused(why)) => {
                if let [only] = group {
                    self.table_mut(stage.table)[*only].end(Outcome::Refused, why);
                    return Ok(());
                }
                let (one, two) = group.split_at(group.len() / 2);
                self.measure_group(stage, one)?;
                return self.measure_group(stage, two);
            }
            Err(error) => return Err(error),
        };
        if let Some(why) = trials.why_failed(0) {
            return Err(LabError::Failed(format!(
                "the server does not run any more without a change: {why}"
            )));
        }
        let short = self.take_gains(stage, group, &trials);
        // A server that does not run ends the blocks of all. The others are measured again without it.
        let is_cut = trials.stopped.is_some() && (1..group.len()).contains(&short.len());
        let again = stage.blocks * (short.len() as u32 + 1);
        let has_time = match stage.table {
            Table::Free => self.has_time_for(again),
            Table::Weaker => self.has_time_at_all(again),
        };
        if is_cut && has_time {
            return self.measure_group(stage, &short);
        }
        for entry in short {
            let place = group.iter().position(|at| *at == entry).map_or(0, |at| at + 1);
            let tried = &mut self.table_mut(stage.table)[entry];
            if tried.gains.0.is_empty() {
                tried.end(Outcome::Dropped, why_no_gain(&trials, place));
            }
        }
        Ok(())
    }

    /// Takes the gains of a group. Returns the candidates that have fewer gains than blocks and are still open.
    fn take_gains(&mut self, stage: &GroupStage<'_>, group: &[usize], trials: &StageTrials) -> Vec<usize> {
        let (mut short, mut learnt) = (Vec::new(), Vec::new());
        for (of, entry) in (1..).zip(group) {
            let verify = self.table(stage.table)[*entry].candidate.verify.clone();
            let missing = verify.filter(|text| !self.lab.is_configured(of, text));
            let tried = &mut self.table_mut(stage.table)[*entry];
            stage.step.clone_into(&mut tried.step);
            if let Some(why) = trials.why_failed(of) {
                tried.end(Outcome::Refused, format!("the server does not run with it: {why}"));
                learnt.push(format!("{} is refused", tried.candidate.tuning.id));
                continue;
            }
            if let Some(text) = missing {
                let why = format!("it did not take effect: the server's configuration has no `{text}`");
                tried.end(Outcome::Refused, why);
                learnt.push(format!("{} did not take effect", tried.candidate.tuning.id));
                continue;
            }
            let gains = trials.gains(of, 0);
            if gains.len() < stage.blocks as usize {
                short.push(*entry);
            }
            if !gains.is_empty() {
                tried.gains.0.extend(gains);
                learnt.push(format!("{} {}", tried.candidate.name(), tried.gains));
            }
        }
        self.learnt(stage.step, trials, learnt.join(", "));
        short
    }

    fn table(&self, table: Table) -> &[Tried] {
        match table {
            Table::Free => &self.found.tried,
            Table::Weaker => &self.found.weaker,
        }
    }

    fn table_mut(&mut self, table: Table) -> &mut [Tried] {
        match table {
            Table::Free => &mut self.found.tried,
            Table::Weaker => &mut self.found.weaker,
        }
    }
}

/// Why no block has a gain of one of the settings over the reference, which is number 0.
fn why_no_gain(trials: &StageTrials, of: usize) -> String {
    if let Some(why) = trials.why_invalid(of) {
        return format!("none of its trials is valid: {why}");
    }
    let mut both = trials.trials.iter().filter(|trial| trial.of == 0 || trial.of == of);
    match both.find_map(TrialReading::why_none) {
        Some(why) => format!("no block has a valid trial of it and of the baseline: {why}"),
        None => NO_TIME.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_without_a_gain_says_whose_trials_are_not_valid() {
        let trial = |of: usize, is_valid: bool| TrialReading {
            of,
            value: is_valid.then_some(1.0),
            invalid: (!is_valid).then(|| format!("trial of {of}")),
            ..TrialReading::default()
        };
        let why =
            |trials: Vec<TrialReading>| why_no_gain(&StageTrials { trials, ..StageTrials::default() }, 1);
        assert_eq!(why(vec![trial(0, true), trial(1, false)]), "none of its trials is valid: trial of 1");
        assert_eq!(
            why(vec![trial(0, false), trial(1, true)]),
            "no block has a valid trial of it and of the baseline: trial of 0"
        );
        assert_eq!(why(vec![trial(0, true), trial(2, false)]), NO_TIME);
    }
}
