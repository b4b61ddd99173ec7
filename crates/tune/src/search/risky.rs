//! What weakens durability or security: tried on top of what is kept, in a table of its own, and never kept.

use super::decide::{self, Gains};
use super::outcome::Outcome;
use super::state::Search;
use crate::lab::{LabError, Settings};

impl Search<'_> {
    /// Tries them beside what is kept, after the confirmation.
    pub(super) fn try_weaker(&mut self, kept: &Settings) -> Result<(), LabError> {
        self.drop_what_conflicts();
        self.measure_weaker(kept, &self.open_weaker())?;
        let open = self.open_weaker();
        let gains: Vec<Gains> = open.iter().map(|at| self.found.weaker[*at].gains.clone()).collect();
        let adjusted = decide::claims(&gains, decide::threshold(self.found.equal.noise));
        for ((at, gains), p) in open.into_iter().zip(gains).zip(adjusted) {
            let tried = &mut self.found.weaker[at];
            tried.own = decide::estimate(&gains.0);
            let why = if decide::holds(p) {
                "it gains, and is not kept: it weakens what others rely on"
            } else {
                "a gain above 1 % and the noise is not shown"
            };
            tried.end(Outcome::Dropped, why);
        }
        Ok(())
    }

    fn drop_what_conflicts(&mut self) {
        let kept = self.found.tried.iter().filter(|tried| tried.outcome == Outcome::Kept);
        let kept: Vec<_> = kept.map(|tried| tried.candidate.tuning.clone()).collect();
        for tried in &mut self.found.weaker {
            let own = &tried.candidate.tuning;
            if let Some(other) = kept.iter().find(|other| own.conflicts_with(other)) {
                let why = format!("it cannot be combined with {}, which is kept", other.id);
                tried.end(Outcome::Dropped, why);
            }
        }
    }

    fn open_weaker(&self) -> Vec<usize> {
        (0..self.found.weaker.len()).filter(|at| self.found.weaker[*at].is_open()).collect()
    }
}
