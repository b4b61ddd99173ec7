//! What the drivers need from a database's protocol. One request is in flight at a time.

use std::ops::Range;

use wire::Parameter;

use super::dialect::SqlDialect;
use super::reply::{Failure, FailureKind, SqlReply};
use super::spec::table_name;
use crate::driver::Fault;
use crate::drivers::database_login::DatabaseCredentials;

/// The progress of a session after bytes have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More bytes are needed.
    Wait,
    /// The login is done, or the reply is complete: [`SqlSession::reply`] has it.
    Replied,
}

/// A statement to prepare. It has the same number and name on every connection.
#[derive(Clone, Debug)]
pub struct PreparedStatement {
    pub number: u16,
    pub name: String,
    pub sql: String,
}

/// Rows to insert into a table.
#[derive(Clone, Debug)]
pub struct RowBatch {
    pub table: u32,
    /// Numbers of its rows.
    pub ids: Range<u32>,
    /// Rows of the whole table.
    pub rows: u32,
    pub seed: u64,
}

impl RowBatch {
    pub fn table_name(&self) -> String {
        table_name(self.table)
    }
}

/// One connection to a database.
pub trait SqlSession {
    /// Its SQL.
    const DIALECT: SqlDialect;
    /// The environment variable in which its own clients look for a password.
    const PASSWORD_VARIABLE: &'static str;

    /// The session of a new connection.
    fn new() -> Self;

    /// Writes the first message of the login, where the client sends it.
    fn greet(&mut self, credentials: &DatabaseCredentials, out: &mut Vec<u8>);

    /// Prepares the first of these statements, or as many as the protocol can send together, and returns how many:
    /// none only if there are none. Each is prepared once, in the order of their numbers.
    fn prepare(&mut self, statements: &[PreparedStatement], out: &mut Vec<u8>) -> usize;

    /// Executes a prepared statement.
    fn execute(&mut self, statement: &PreparedStatement, parameters: &[Parameter<'_>], out: &mut Vec<u8>);

    /// Executes a statement without preparing it.
    fn query(&mut self, sql: &str, out: &mut Vec<u8>);

    /// Inserts rows in the fastest way that the database offers a client.
    fn load(&mut self, batch: &RowBatch, out: &mut Vec<u8>);

    /// Takes received bytes, and writes what the login needs.
    fn receive(
        &mut self,
        credentials: &DatabaseCredentials,
        input: &mut &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Progress, Fault>;

    /// The last reply.
    fn reply(&self) -> &SqlReply;

    /// The last reply, to choose what is kept of it.
    fn reply_mut(&mut self) -> &mut SqlReply;

    /// The error where the server closes the connection now.
    fn closed(&self) -> String;
}

/// Takes received bytes, which may contain no more than one reply: there is one request.
#[inline]
pub fn receive_one<S: SqlSession>(
    session: &mut S,
    credentials: &DatabaseCredentials,
    mut input: &[u8],
    out: &mut Vec<u8>,
) -> Result<Progress, Fault> {
    let progress = session.receive(credentials, &mut input, out)?;
    if input.is_empty() { Ok(progress) } else { Err(Fault::protocol("bytes after the end of the reply")) }
}

/// The fault of a login that cannot go on for this reason.
pub fn refused(credentials: &DatabaseCredentials, variable: &str, reason: &str) -> Fault {
    no_login(credentials, reason, &format!("check user, database and password (${variable})"))
}

/// The fault of a login that the server answers with an error.
pub fn failed_login(credentials: &DatabaseCredentials, variable: &str, failure: &Failure) -> Fault {
    let remedy = match failure.kind {
        FailureKind::TooManyConnections => {
            "use fewer connections, or let the server accept more (max_connections)"
        }
        FailureKind::NotReady => "wait until the server has started",
        _ => return refused(credentials, variable, &failure.text),
    };
    no_login(credentials, &failure.text, remedy)
}

fn no_login(credentials: &DatabaseCredentials, reason: &str, remedy: &str) -> Fault {
    let DatabaseCredentials { user, database, .. } = credentials;
    Fault::unexpected(format!("no login as {user} to {database}: {reason}: {remedy}"), false)
}
