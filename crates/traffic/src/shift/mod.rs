//! A whole run on live traffic, from second to second: it connects the part that decides with the part that acts, writes the record, and
//! makes the page.

mod before;
mod decider;
mod page;
mod programs;
mod record;
mod run;
mod states;
mod stored;

pub use before::{BeforeBreach, ServerBefore, ThreadsBefore, WaitBefore};
pub use decider::{Decider, Ending, EvidenceLogs, Found, Question, Stake};
pub use programs::{ProgramComparison, ProgramDifference};
pub use record::{
    AnswerRecord, MailRecord, MailSums, Record, RecordError, ServerRecord, SessionsLeft, StepRecord,
    WindowRecord,
};
pub use run::{Acting, RunError, Second, run};
pub use states::{BalancerState, OpenRun, open_runs, state_directory, states};
pub use stored::{StoredError, StoredShift, StoredState, folders, is_record, remove_all};
