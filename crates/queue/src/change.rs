//! Which state follows which: the whole table, in one function.

use crate::entry::EntryState;

/// What happens to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A person takes it out of the order for a while.
    Pause,
    /// A person puts it back.
    Release,
    /// A controller takes it, with all its hosts.
    Claim,
    /// Its controller gives it back: its rules refuse it.
    Refuse,
    /// Its controller was silent before anything had begun.
    Lapse,
    /// The same, once too often.
    GiveUp,
    /// Its controller is about to start the run.
    Begin,
    /// The run has ended, with an answer.
    Answer,
    /// The run is in the archive.
    Store,
    /// The run has ended without an answer, or could not be stored.
    Fail,
    /// A person has stopped it.
    Cancel,
    /// Its controller was silent after the run had begun.
    Lose,
    /// A person lets a lost run go on.
    Resume,
}

/// The state after a change; none where the change is not possible.
#[expect(clippy::match_same_arms, reason = "a table: each change has its line")]
pub fn next_state(state: EntryState, change: Change) -> Option<EntryState> {
    use EntryState::{Cancelled, Claimed, Done, Failed, Lost, Paused, Running, Storing, Waiting};
    Some(match (state, change) {
        (Waiting, Change::Pause) => Paused,
        (Paused, Change::Release) => Waiting,
        (Waiting, Change::Claim) => Claimed,
        (Claimed, Change::Refuse | Change::Lapse) => Waiting,
        (Claimed, Change::GiveUp) => Failed,
        (Claimed, Change::Begin) => Running,
        (Running, Change::Answer) => Storing,
        (Storing, Change::Store) => Done,
        (Claimed | Running | Storing, Change::Fail) => Failed,
        (Waiting | Paused | Claimed | Running, Change::Cancel) => Cancelled,
        (Running | Storing, Change::Lose) => Lost,
        (Lost, Change::Resume) => Waiting,
        (Waiting | Paused | Claimed | Running | Storing | Done | Failed | Cancelled | Lost, _) => {
            return None;
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGES: [Change; 13] = [
        Change::Pause,
        Change::Release,
        Change::Claim,
        Change::Refuse,
        Change::Lapse,
        Change::GiveUp,
        Change::Begin,
        Change::Answer,
        Change::Store,
        Change::Fail,
        Change::Cancel,
        Change::Lose,
        Change::Resume,
    ];

    #[test]
    fn what_has_ended_stays_and_a_run_that_has_begun_waits_again_only_by_a_person() {
        for change in CHANGES {
            for ended in [EntryState::Done, EntryState::Failed, EntryState::Cancelled] {
                assert_eq!(next_state(ended, change), None, "{change:?}");
            }
            for begun in [EntryState::Running, EntryState::Storing] {
                assert_ne!(next_state(begun, change), Some(EntryState::Waiting), "{change:?}");
            }
            let waits_again = next_state(EntryState::Lost, change) == Some(EntryState::Waiting);
            assert_eq!(waits_again, change == Change::Resume);
        }
    }
}
