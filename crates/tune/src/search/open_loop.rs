//! What a stack that gains costs in response time. The gain is of a closed loop, which waits while the server pauses and sees little
//! of it; so the stack and the baseline are loaded once more, by an open loop at a rate that the baseline carries with ease.

use super::decide;
use super::guards::{failing, slower};
use super::outcome::OpenLoop;
use super::state::Search;
use crate::lab::{LabError, Settings, Stage, StageLoad, StageTrials};

/// The share of the baseline's throughput that is offered: high enough for queues, low enough that the baseline holds it.
const SHARE: f64 = 0.7;

/// The step's name.
const OPEN_LOOP: &str = "open loop";

impl OpenLoop {
    /// What has become worse with the stack. Trials that give no gain are no proof that the stack costs nothing, so they count as worse.
    pub(super) fn worse(&self) -> Vec<String> {
        let mut worse = failing(&self.trials);
        if worse.is_empty() && self.trials.gains(1, 0).is_empty() {
            let why = self.trials.stopped.as_deref().or_else(|| self.trials.why_some_invalid());
            worse.push(format!("its response times are not known: {}", why.unwrap_or(&self.trials.sentence)));
        }
        worse.extend(slower(&self.trials));
        let at = format!("at {:.0} operations/s", self.rate_per_s);
        worse.into_iter().map(|what| format!("{at}, {what}")).collect()
    }

    fn learnt(&self) -> String {
        let of = |name: &str, ratios: &[f64]| {
            decide::estimate(ratios).map(|found| format!("{name} {}", decide::in_words(&found)))
        };
        let p99 = of("p99", &self.trials.log_ratios(1, 0, |trial| trial.p99_us));
        let p99_9 = of("p99.9", &self.trials.log_ratios(1, 0, |trial| trial.p99_9_us));
        let known: Vec<String> = [p99, p99_9].into_iter().flatten().collect();
        let known =
            if known.is_empty() { "response times are not known".to_owned() } else { known.join(", ") };
        format!("at {:.0} operations/s: {known}", self.rate_per_s)
    }
}

impl Search<'_> {
    /// Loads the baseline and a stack in an open loop. None where the confirmation was no closed loop.
    pub(super) fn in_open_loop(
        &mut self,
        both: &[Settings; 2],
        confirmed: &StageTrials,
    ) -> Result<Option<OpenLoop>, LabError> {
        let Some(loop_per_s) = confirmed.mean(0, |trial| trial.loop_per_s) else { return Ok(None) };
        let rate_per_s = SHARE * loop_per_s;
        self.lab.say(&format!(
            "open loop: the stack and the baseline at {:.0} % of the baseline's throughput",
            SHARE * 100.0
        ));
        let stage = Stage { name: OPEN_LOOP, load: StageLoad::OpenLoop { rate_per_s } };
        let following = self.trials_of_weaker();
        let blocks = self.limits.open_loop;
        let trials = self.run_until_valid(stage, both, blocks, following, decide::is_any)?;
        let measured = OpenLoop { rate_per_s, trials };
        self.learnt(OPEN_LOOP, &measured.trials, measured.learnt());
        Ok(Some(measured))
    }
}
