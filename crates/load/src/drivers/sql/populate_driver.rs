//! The driver of a populate run: creates the tables, fills them over many connections, indexes and counts them.

use rand_pcg::Pcg64Mcg;

use super::dialect::SqlDialect;
use super::reply::FailureKind;
use super::session::{Progress, RowBatch, SqlSession, receive_one};
use super::spec::{BATCH_ROWS, PopulateStage, SqlSpec, Tables, table_name};
use crate::driver::{Driver, Fault, OperationId, Step, Turn};
use crate::drivers::database_login::DatabaseCredentials;
use crate::drivers::error::OperationError;
use crate::drivers::protocol::WorkerShare;
use crate::inputs::worker_share::share;

/// The statements for a table; none for the rows, which the session loads in its own way.
fn statements(stage: PopulateStage, dialect: SqlDialect, table: u32, rows: u32) -> Vec<String> {
    let name = table_name(table);
    match stage {
        PopulateStage::Create => vec![dialect.create(&name)],
        PopulateStage::Load => Vec::new(),
        PopulateStage::Index => dialect.finish(&name, rows),
        PopulateStage::Count => vec![format!("SELECT COUNT(*) FROM {name}")],
    }
}

/// Fills tables for one worker. It contains a password, so it is not `Debug`.
pub struct PopulateDriver<S> {
    tables: Tables,
    stage: PopulateStage,
    credentials: DatabaseCredentials,
    /// The next operation of this worker.
    next: u64,
    session: std::marker::PhantomData<fn() -> S>,
}

/// The state of one connection.
#[derive(Debug)]
pub struct PopulateDialogue<S> {
    session: S,
    is_logged_in: bool,
    /// The table of the operation in flight.
    table: u32,
    /// The statements of the operation that are left, the next one last.
    left: Vec<String>,
}

impl<S: SqlSession> PopulateDriver<S> {
    /// A driver for one worker, which begins at its share. Reads the password.
    pub fn new(spec: &SqlSpec, stage: PopulateStage, part: WorkerShare) -> Result<Self, OperationError> {
        spec.check()?;
        let all = stage.operations(&spec.tables);
        Ok(Self {
            tables: spec.tables.clone(),
            stage,
            credentials: spec.login.credentials(part.is_local)?,
            next: (0..part.worker).map(|earlier| share(all, earlier, part.workers)).sum(),
            session: std::marker::PhantomData,
        })
    }

    fn batch(&self, number: u64) -> RowBatch {
        let Tables { rows, seed, .. } = self.tables;
        let of_a_table = u64::from(rows.div_ceil(BATCH_ROWS));
        // Both are below numbers of 32 bits: the batches of a table, and the tables.
        let small = |number: u64| u32::try_from(number).expect("a batch of one of the tables");
        let first = small(number % of_a_table) * BATCH_ROWS + 1;
        let end = first.saturating_add(BATCH_ROWS).min(rows + 1);
        RowBatch { table: small(number / of_a_table), ids: first..end, rows, seed }
    }

    fn check(&self, dialogue: &mut PopulateDialogue<S>) -> Result<(), PopulateError> {
        let table = table_name(dialogue.table);
        if let Some(failure) = dialogue.session.reply_mut().failure.take() {
            return Err(match failure.kind {
                FailureKind::TableExists => PopulateError::TableExists(table),
                _ => PopulateError::Server(failure.text.into()),
            });
        }
        if self.stage == PopulateStage::Count {
            let counted = String::from_utf8_lossy(&dialogue.session.reply().first);
            if counted.parse() != Ok(self.tables.rows) {
                let (rows, wanted) = (counted.into_owned(), self.tables.rows);
                return Err(PopulateError::RowCount { table, rows, wanted });
            }
        }
        Ok(())
    }
}

/// Why the tables cannot be made.
#[derive(Debug, thiserror::Error)]
enum PopulateError {
    /// A table of this name is there.
    #[error("table {0} exists already: drop it, or use a database without it")]
    TableExists(String),
    /// The server's message.
    #[error("{0}")]
    Server(String),
    /// Not every row was stored.
    #[error("table {table} has {rows} rows, expected {wanted}")]
    RowCount {
        /// Its name.
        table: String,
        /// As the server counts them.
        rows: String,
        /// As many as were sent.
        wanted: u32,
    },
}

impl<S: SqlSession> Driver for PopulateDriver<S> {
    type Dialogue = PopulateDialogue<S>;

    fn operations(&self) -> Vec<String> {
        vec![self.stage.name().to_owned()]
    }

    fn dialogue(&mut self, _slot: u32) -> Self::Dialogue {
        PopulateDialogue { session: S::new(), is_logged_in: false, table: 0, left: Vec::new() }
    }

    fn greet(&mut self, dialogue: &mut Self::Dialogue, turn: Turn<'_>) -> Step {
        dialogue.session.greet(&self.credentials, turn.out);
        Step::Wait
    }

    fn choose(&mut self, _rng: &mut Pcg64Mcg) -> OperationId {
        0
    }

    fn begin(&mut self, dialogue: &mut Self::Dialogue, _operation: OperationId, turn: Turn<'_>) {
        let number = self.next % self.stage.operations(&self.tables);
        self.next += 1;
        if self.stage == PopulateStage::Load {
            let batch = self.batch(number);
            dialogue.table = batch.table;
            dialogue.session.load(&batch, turn.out);
        } else {
            dialogue.table = u32::try_from(number).expect("the number of a table");
            dialogue.left = statements(self.stage, S::DIALECT, dialogue.table, self.tables.rows);
            dialogue.left.reverse();
            let first = dialogue.left.pop().expect("every stage but Load has statements");
            dialogue.session.query(&first, turn.out);
        }
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
            return Step::Failed(Fault::unexpected(what.to_string(), true));
        }
        match dialogue.left.pop() {
            None => Step::Done { reuse: true },
            Some(next) => {
                dialogue.session.query(&next, turn.out);
                Step::Wait
            }
        }
    }

    fn closed(&mut self, dialogue: &mut Self::Dialogue, _turn: Turn<'_>) -> Step {
        Step::Failed(Fault::closed(dialogue.session.closed()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::postgres::PostgresSession;
    use super::super::spec::SqlWork;
    use super::super::spec::tests::sample;
    use super::*;
    use crate::drivers::protocol::ALONE;

    #[test]
    fn batches_cover_every_row_of_every_table_once() {
        let mut spec = sample(SqlWork::Populate(PopulateStage::Load));
        (spec.tables.tables, spec.tables.rows) = (3, 2_500);
        let driver =
            PopulateDriver::<PostgresSession>::new(&spec, PopulateStage::Load, ALONE).expect("a driver");
        let batches: Vec<(u32, std::ops::Range<u32>)> = (0..PopulateStage::Load.operations(&spec.tables))
            .map(|number| driver.batch(number))
            .map(|batch| (batch.table, batch.ids))
            .collect();
        assert_eq!(batches.len(), 9);
        assert_eq!(batches[2..5], [(0, 2_001..2_501), (1, 1..1_001), (1, 1_001..2_001)]);
    }
}
