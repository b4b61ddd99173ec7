//! The driver of transactions: logs in, prepares the statements, and sends one after the other until the transaction is
//! committed. A transaction that the server aborts in favour of others begins again and is counted.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::reply::{Failure, FailureKind};
use super::session::{PreparedStatement, Progress, SqlSession, receive_one};
use super::spec::{SqlSpec, SqlWork, table_name};
use super::statement::{SentStatement, Statement, StatementResult};
use super::transaction::Transaction;
use crate::driver::{Driver, Fault, OperationId, Step, Turn};
use crate::drivers::choice::WeightedChoice;
use crate::drivers::database_login::DatabaseCredentials;
use crate::drivers::error::OperationError;
use crate::drivers::protocol::WorkerShare;
use crate::inputs::keys::KeySampler;

/// Names of the counters.
pub(super) const COUNTERS: &[&str] = &[
    "statements",
    "found",
    "missed",
    "retries",
    "deadlocks",
    "lock_timeouts",
    "serialization_failures",
    "duplicates",
];
/// Prepared statements with a reply, those that failed included.
const STATEMENTS: usize = 0;
const FOUND: usize = 1;
const MISSED: usize = 2;
/// Transactions that began again.
const RETRIES: usize = 3;
const DEADLOCKS: usize = 4;
const LOCK_TIMEOUTS: usize = 5;
const SERIALIZATION_FAILURES: usize = 6;
const DUPLICATES: usize = 7;

/// Drives transactions for one worker. It contains a password, so it is not `Debug`.
pub struct TransactionDriver<S> {
    spec: SqlSpec,
    mix: Vec<(Transaction, f64)>,
    choice: WeightedChoice,
    rows: KeySampler,
    /// The statements of the mix; each is prepared for every table.
    kinds: Vec<Statement>,
    /// By table, and within a table in the order of `kinds`.
    prepared: Vec<PreparedStatement>,
    credentials: DatabaseCredentials,
    /// Whether transactions of the mix delete rows and insert them again.
    moving: bool,
    session: std::marker::PhantomData<fn() -> S>,
}

/// The state of one connection.
#[derive(Debug)]
pub struct TransactionDialogue<S> {
    session: S,
    state: TransactionState,
    operation: OperationId,
    sent: SentStatement,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TransactionState {
    LoggingIn,
    /// The statements in this range are being prepared.
    Preparing(u16, u16),
    Beginning,
    /// This statement of the transaction is in flight.
    Statement(u8),
    Committing,
    /// The transaction will begin again.
    RollingBack,
}

impl<S: SqlSession> TransactionDriver<S> {
    /// A driver for one worker. Reads the password.
    pub fn new(spec: &SqlSpec, share: WorkerShare) -> Result<Self, OperationError> {
        spec.check()?;
        let SqlWork::Transactions(mix) = &spec.work else {
            return Err(OperationError("a stage of a populate run is no transaction".to_owned()));
        };
        let weights: Vec<f64> = mix.iter().map(|(_, weight)| *weight).collect();
        // A transaction without a weight is never drawn, so its statements are not prepared.
        let live = |kind: &Statement| {
            mix.iter().any(|(transaction, weight)| *weight > 0.0 && transaction.statements().contains(kind))
        };
        let kinds: Vec<Statement> = Statement::ALL.into_iter().filter(live).collect();
        let tables = &spec.tables;
        let count = u64::from(tables.tables) * kinds.len() as u64;
        if u16::try_from(count).is_err() {
            let what =
                format!("{count} prepared statements: a connection has at most 65,535: use fewer tables");
            return Err(OperationError(what));
        }
        let texts = (0..tables.tables).flat_map(|table| {
            let name = table_name(table);
            kinds.iter().map(move |kind| S::DIALECT.render(kind.template(), &name))
        });
        let prepared = texts
            .zip(0_u16..)
            .map(|(sql, number)| PreparedStatement { number, name: format!("s{number}"), sql })
            .collect();
        let first = u64::from(tables.rows) * u64::from(share.worker) / u64::from(share.workers);
        Ok(Self {
            choice: WeightedChoice::new(&weights)?,
            rows: KeySampler::new(tables.popularity, u64::from(tables.rows), first),
            moving: kinds.contains(&Statement::PutBack),
            kinds,
            prepared,
            credentials: spec.login.credentials(share.is_local)?,
            mix: mix.clone(),
            spec: spec.clone(),
            session: std::marker::PhantomData,
        })
    }

    #[inline]
    fn statements(&self, dialogue: &TransactionDialogue<S>) -> &'static [Statement] {
        self.mix[usize::from(dialogue.operation)].0.statements()
    }

    /// Writes the beginning of the dialogue's transaction.
    #[inline]
    fn begin_transaction(
        &mut self,
        dialogue: &mut TransactionDialogue<S>,
        rng: &mut Pcg64Mcg,
        out: &mut Vec<u8>,
    ) {
        if self.statements(dialogue).len() == 1 {
            self.send(dialogue, 0, rng, out);
        } else {
            dialogue.session.query("BEGIN", out);
            dialogue.state = TransactionState::Beginning;
        }
    }

    /// Writes a statement of the transaction.
    #[inline]
    fn send(&mut self, dialogue: &mut TransactionDialogue<S>, at: u8, rng: &mut Pcg64Mcg, out: &mut Vec<u8>) {
        let statement = self.statements(dialogue)[usize::from(at)];
        // PutBack inserts the row that was deleted.
        if statement != Statement::PutBack {
            let tables = self.spec.tables.tables;
            let table = if tables > 1 { rng.random_range(0..tables) } else { 0 };
            let row = u32::try_from(self.rows.sample(rng)).expect("the number of rows has 32 bits");
            dialogue.sent = SentStatement { table, id: row + 1 };
        }
        let sent = dialogue.sent;
        let kind = self
            .kinds
            .iter()
            .position(|kind| *kind == statement)
            .expect("all statements of the mix are prepared");
        let prepared = &self.prepared[sent.table as usize * self.kinds.len() + kind];
        statement.with_parameters(sent.id, self.spec.tables.rows, rng, |parameters| {
            dialogue.session.execute(prepared, parameters, out);
        });
        dialogue.state = TransactionState::Statement(at);
    }

    /// Prepares the next statements, or ends the greeting.
    fn prepare(&self, dialogue: &mut TransactionDialogue<S>, done: u16, out: &mut Vec<u8>) -> Step {
        let left = &self.prepared[usize::from(done)..];
        if left.is_empty() {
            return Step::Done { reuse: true };
        }
        let count = u16::try_from(dialogue.session.prepare(left, out)).expect("at most 65,535 are prepared");
        dialogue.state = TransactionState::Preparing(done, done + count);
        Step::Wait
    }

    /// Continues after a complete reply.
    #[inline]
    fn advance(&mut self, dialogue: &mut TransactionDialogue<S>, turn: Turn<'_>) -> Step {
        let Turn { out, rng, counters } = turn;
        if let TransactionState::Statement(_) = dialogue.state {
            counters[STATEMENTS] += 1;
        }
        if let Some(failure) = dialogue.session.reply_mut().failure.take() {
            return self.fail(dialogue, &failure, Turn { out, rng, counters });
        }
        let statements = match dialogue.state {
            TransactionState::LoggingIn => return self.prepare(dialogue, 0, out),
            TransactionState::Preparing(_, done) => return self.prepare(dialogue, done, out),
            TransactionState::Committing => return Step::Done { reuse: true },
            TransactionState::RollingBack => {
                self.begin_transaction(dialogue, rng, out);
                return Step::Wait;
            }
            TransactionState::Beginning | TransactionState::Statement(_) => self.statements(dialogue),
        };
        let next = match dialogue.state {
            TransactionState::Statement(at) => {
                let statement = statements[usize::from(at)];
                let tables = &self.spec.tables;
                let reply = dialogue.session.reply();
                match statement.check(reply, dialogue.sent, tables.rows, tables.gaps, self.moving) {
                    StatementResult::Found => counters[FOUND] += 1,
                    StatementResult::Missed => counters[MISSED] += 1,
                    StatementResult::Wrong(what) => {
                        let id = dialogue.sent.id;
                        let text = format!(
                            "{what}: {} with id {id}: are the tables populated?",
                            statement.template()
                        );
                        return Step::Failed(Fault::unexpected(text, statements.len() == 1));
                    }
                }
                at + 1
            }
            _ => 0,
        };
        if usize::from(next) < statements.len() {
            self.send(dialogue, next, rng, out);
        } else if statements.len() == 1 {
            return Step::Done { reuse: true };
        } else {
            dialogue.session.query("COMMIT", out);
            dialogue.state = TransactionState::Committing;
        }
        Step::Wait
    }

    /// Takes a failed statement: begins the transaction again, or fails the operation.
    #[cold]
    fn fail(&mut self, dialogue: &mut TransactionDialogue<S>, failure: &Failure, turn: Turn<'_>) -> Step {
        let Failure { kind, text } = failure;
        let Turn { out, rng, counters } = turn;
        let counter = match (dialogue.state, kind) {
            (
                TransactionState::LoggingIn | TransactionState::Preparing(..) | TransactionState::RollingBack,
                _,
            )
            | (
                _,
                FailureKind::TableExists
                | FailureKind::TooManyConnections
                | FailureKind::NotReady
                | FailureKind::Other,
            ) => {
                let what = match dialogue.state {
                    TransactionState::Statement(at) => self.statements(dialogue)[usize::from(at)].template(),
                    TransactionState::Preparing(first, _) => self.prepared[usize::from(first)].sql.as_str(),
                    _ => "the transaction",
                };
                // The connection may be in a transaction that is never ended.
                return Step::Failed(Fault::unexpected(format!("{text}: {what}"), false));
            }
            (_, FailureKind::Deadlock) => DEADLOCKS,
            (_, FailureKind::LockTimeout) => LOCK_TIMEOUTS,
            (_, FailureKind::Serialization) => SERIALIZATION_FAILURES,
            (_, FailureKind::Duplicate) => DUPLICATES,
        };
        counters[counter] += 1;
        counters[RETRIES] += 1;
        if self.statements(dialogue).len() == 1 {
            self.begin_transaction(dialogue, rng, out);
        } else {
            dialogue.session.query("ROLLBACK", out);
            dialogue.state = TransactionState::RollingBack;
        }
        Step::Wait
    }
}

impl<S: SqlSession> Driver for TransactionDriver<S> {
    type Dialogue = TransactionDialogue<S>;

    fn operations(&self) -> Vec<String> {
        self.spec.operations()
    }

    fn counters(&self) -> &'static [&'static str] {
        COUNTERS
    }

    fn dialogue(&mut self, _slot: u32) -> Self::Dialogue {
        TransactionDialogue {
            session: S::new(),
            state: TransactionState::LoggingIn,
            operation: 0,
            sent: SentStatement::default(),
        }
    }

    fn greet(&mut self, dialogue: &mut Self::Dialogue, turn: Turn<'_>) -> Step {
        dialogue.session.greet(&self.credentials, turn.out);
        Step::Wait
    }

    #[inline]
    fn choose(&mut self, rng: &mut Pcg64Mcg) -> OperationId {
        self.choice.draw(rng)
    }

    #[inline]
    fn begin(&mut self, dialogue: &mut Self::Dialogue, operation: OperationId, turn: Turn<'_>) {
        dialogue.operation = operation;
        self.begin_transaction(dialogue, turn.rng, turn.out);
    }

    #[inline]
    fn receive(&mut self, dialogue: &mut Self::Dialogue, input: &[u8], turn: Turn<'_>) -> Step {
        match receive_one(&mut dialogue.session, &self.credentials, input, turn.out) {
            Ok(Progress::Wait) => Step::Wait,
            Ok(Progress::Replied) => self.advance(dialogue, turn),
            Err(fault) => Step::Failed(fault),
        }
    }

    fn closed(&mut self, dialogue: &mut Self::Dialogue, _turn: Turn<'_>) -> Step {
        Step::Failed(Fault::closed(dialogue.session.closed()))
    }
}
