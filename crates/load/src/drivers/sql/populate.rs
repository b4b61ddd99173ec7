//! The driver that makes the tables: they are created, filled by many connections at once, indexed, and counted.

use serde::{Deserialize, Serialize};

use super::super::OperationError;
use super::dialect::Dialect;
use super::login::Credentials;
use super::reply::FailureKind;
use super::session::{Batch, Progress, Session, receive_one};
use super::{SqlSpec, Tables, table_name};
use crate::division::share;
use crate::driver::{Driver, Fault, OperationId, Step, Turn};

/// Rows that are put in at once: a fifth of a megabyte, which all servers take.
const BATCH_ROWS: u32 = 1_000;

/// Stages of making the tables. An operation of the second is a batch of rows, of the others a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// The tables are created.
    Create,
    /// Rows are put in.
    Load,
    /// What is done once they are full.
    Index,
    /// Their rows are counted.
    Count,
}

/// All stages in their order.
pub const POPULATE: [Stage; 4] = [Stage::Create, Stage::Load, Stage::Index, Stage::Count];

impl Stage {
    /// The name of its operations.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Load => "load",
            Self::Index => "index",
            Self::Count => "count",
        }
    }

    /// How many operations it has.
    pub(super) fn operations(self, tables: &Tables) -> u64 {
        let batches = if self == Self::Load { tables.rows.div_ceil(BATCH_ROWS) } else { 1 };
        u64::from(tables.tables) * u64::from(batches)
    }

    /// The statements for a table; none for the rows, which are more than a statement.
    fn statements(self, dialect: Dialect, table: u32, rows: u32) -> Vec<String> {
        let name = table_name(table);
        match self {
            Self::Create => vec![dialect.create(&name)],
            Self::Load => Vec::new(),
            Self::Index => dialect.finish(&name, rows),
            Self::Count => vec![format!("SELECT COUNT(*) FROM {name}")],
        }
    }
}

/// Makes tables for one worker. It holds a password, so it cannot be printed.
pub struct PopulateDriver<S> {
    tables: Tables,
    stage: Stage,
    credentials: Credentials,
    /// The next operation of this worker.
    next: u64,
    session: std::marker::PhantomData<fn() -> S>,
}

/// One connection.
#[derive(Debug)]
pub struct PopulateDialogue<S> {
    session: S,
    is_logged_in: bool,
    /// Which table.
    table: u32,
    /// What is still to be said of it, the next at the end.
    left: Vec<String>,
}

impl<S: Session> PopulateDriver<S> {
    /// A driver for worker `worker` of `workers`: each begins at its share. Reads the password.
    pub fn new(spec: &SqlSpec, stage: Stage, worker: u32, workers: u32) -> Result<Self, OperationError> {
        spec.check()?;
        let all = stage.operations(&spec.tables);
        Ok(Self {
            tables: spec.tables.clone(),
            stage,
            credentials: spec.login.credentials()?,
            next: (0..worker).map(|earlier| share(all, earlier, workers)).sum(),
            session: std::marker::PhantomData,
        })
    }

    fn batch(&self, number: u64) -> Batch {
        let Tables { rows, seed, .. } = self.tables;
        let of_a_table = u64::from(rows.div_ceil(BATCH_ROWS));
        let first = (number % of_a_table) as u32 * BATCH_ROWS + 1;
        let end = first.saturating_add(BATCH_ROWS).min(rows + 1);
        Batch { table: (number / of_a_table) as u32, ids: first..end, rows, seed }
    }

    fn check(&self, dialogue: &mut PopulateDialogue<S>) -> Result<(), String> {
        let table = table_name(dialogue.table);
        if let Some(failure) = dialogue.session.reply_mut().failure.take() {
            return Err(match failure.kind {
                FailureKind::TableExists => {
                    format!("table {table} exists already: drop it, or give a database without it")
                }
                _ => failure.text.into(),
            });
        }
        if self.stage == Stage::Count {
            let counted = String::from_utf8_lossy(&dialogue.session.reply().first);
            if counted.parse() != Ok(self.tables.rows) {
                return Err(format!("table {table} has {counted} rows and not {}", self.tables.rows));
            }
        }
        Ok(())
    }
}

impl<S: Session> Driver for PopulateDriver<S> {
    type Dialogue = PopulateDialogue<S>;

    fn operations(&self) -> Vec<String> {
        vec![self.stage.name().to_owned()]
    }

    fn dialogue(&mut self) -> Self::Dialogue {
        PopulateDialogue { session: S::new(), is_logged_in: false, table: 0, left: Vec::new() }
    }

    fn greet(&mut self, dialogue: &mut Self::Dialogue, turn: Turn<'_>) -> Step {
        dialogue.session.greet(&self.credentials, turn.out);
        Step::Wait
    }

    fn begin(&mut self, dialogue: &mut Self::Dialogue, turn: Turn<'_>) -> OperationId {
        let number = self.next % self.stage.operations(&self.tables);
        self.next += 1;
        if self.stage == Stage::Load {
            let batch = self.batch(number);
            dialogue.table = batch.table;
            dialogue.session.load(&batch, turn.out);
        } else {
            dialogue.table = number as u32;
            dialogue.left = self.stage.statements(S::DIALECT, dialogue.table, self.tables.rows);
            dialogue.left.reverse();
            let first = dialogue.left.pop().expect("a stage but that of the rows has statements");
            dialogue.session.query(&first, turn.out);
        }
        0
    }

    fn receive(&mut self, dialogue: &mut Self::Dialogue, input: &[u8], turn: Turn<'_>) -> Step {
        match receive_one(&mut dialogue.session, &self.credentials, input, turn.out) {
            Ok(Progress::Wait) => return Step::Wait,
            Ok(Progress::Replied) => {}
            Err(fault) => return Step::Failed(fault),
        }
        if !dialogue.is_logged_in {
            dialogue.is_logged_in = true;
            return Step::Done { reuse: true };
        }
        if let Err(what) = self.check(dialogue) {
            return Step::Failed(Fault::unexpected(what, true));
        }
        match dialogue.left.pop() {
            None => Step::Done { reuse: true },
            Some(next) => {
                dialogue.session.query(&next, turn.out);
                Step::Wait
            }
        }
    }

    fn closed(&mut self, dialogue: &mut Self::Dialogue) -> Step {
        Step::Failed(Fault::closed(dialogue.session.closed()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Work;
    use super::super::postgres::PostgresSession;
    use super::super::tests::sample;
    use super::*;

    #[test]
    fn batches_cover_every_row_of_every_table_once() {
        let mut spec = sample(Work::Populate(Stage::Load));
        (spec.tables.tables, spec.tables.rows) = (3, 2_500);
        let driver = PopulateDriver::<PostgresSession>::new(&spec, Stage::Load, 0, 1).expect("a driver");
        let batches: Vec<(u32, std::ops::Range<u32>)> = (0..Stage::Load.operations(&spec.tables))
            .map(|number| driver.batch(number))
            .map(|batch| (batch.table, batch.ids))
            .collect();
        assert_eq!(batches.len(), 9);
        assert_eq!(batches[2..5], [(0, 2_001..2_501), (1, 1..1_001), (1, 1_001..2_001)]);
    }
}
