//! The search: from equal servers to a confirmation. It decides which trials come next; the trials are a [`TuningLab`]'s, and what
//! gains mean is [`decide`]'s.
//!
//! | step | what is tried | what is decided |
//! |---|---|---|
//! | equal servers | the baseline twice | the noise of this host; the figures that call for tunings |
//! | watching | the baseline under load | what it says of itself, which calls for tunings, too |
//! | screening | all candidates beside the baseline, three blocks | candidates that cannot gain 1 % are dropped |
//! | screening goes on | candidates that wait, in the time that losers leave | the same |
//! | race | the best six, three blocks more at a time | the same, with more blocks |
//! | stack | the best, then the best two, … | who adds to those before |
//! | drop one | the stack, and the stack without each | single claims, by Holm's correction |
//! | join | the stack, and the stack with each candidate whose servers run one at a time | the same |
//! | confirmation | the stack and the baseline, fresh blocks | the headline, from these blocks alone |
//! | open loop | the stack and the baseline at 70 % of the baseline's throughput | whether pauses pay for the gain |
//! | weaker | the stack with each tuning that weakens something | a table of its own |

pub mod decide;
mod groups;
mod guards;
mod limits;
mod open_loop;
mod outcome;
mod risky;
#[cfg(test)]
mod scripted_lab;
mod stack;
mod state;
mod steps;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use self::guards::too_few;
pub use self::limits::{SearchError, SearchLimits};
pub use self::outcome::{
    Confirmation, EqualServers, Found, Headline, MechanismMove, OpenLoop, Outcome, StageRecord, Tried,
};
use self::state::Search;
use crate::candidate::{Candidate, NotTried};
use crate::lab::{LabError, StageTrials, TuningLab};

/// Gives the candidates, the most promising first, and the tunings that are not tried, from the trials of equal servers and the
/// figures of the baseline by name.
pub type Choose<'a> = dyn FnMut(&StageTrials, BTreeMap<String, f64>) -> (Vec<Candidate>, Vec<NotTried>) + 'a;

/// Searches. `choose` gives the candidates.
pub fn search(
    lab: &mut dyn TuningLab,
    limits: &SearchLimits,
    choose: &mut Choose<'_>,
) -> Result<Found, SearchError> {
    let mut search = Search::new(lab, limits);
    let equal = search.equal_servers()?;
    let mut figures = match search.watch() {
        Ok(figures) => figures,
        Err(LabError::Interrupted) => {
            search.found.is_interrupted = true;
            return Ok(search.finish());
        }
        Err(error) => return Err(error.into()),
    };
    search.check_time()?;
    // What trials record is of the load that decides.
    figures.extend(equal.figures(0));
    let (candidates, not_tried) = choose(&equal, figures);
    search.found.not_tried = not_tried;
    search.take(candidates);
    match search.try_all() {
        // What was learnt until then is kept.
        Ok(()) => {}
        Err(LabError::Interrupted) => search.found.is_interrupted = true,
        Err(error) => search.found.ended = Some(error.to_string()),
    }
    Ok(search.finish())
}
