//! What the drivers ask of a database's protocol. One request is in flight at a time.

use std::ops::Range;

use wire::Parameter;

use super::dialect::Dialect;
use super::login::Credentials;
use super::reply::Reply;
use super::table_name;
use crate::driver::Fault;

/// How far a session has come after bytes have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More bytes are needed.
    Wait,
    /// The login is done, or the reply is whole: [`Session::reply`] holds it.
    Replied,
}

/// A statement to prepare, known by the same number and name on every connection.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub number: u16,
    pub name: String,
    pub sql: String,
}

/// Rows to put into a table.
#[derive(Clone, Debug)]
pub struct Batch {
    pub table: u32,
    /// Numbers of its rows.
    pub ids: Range<u32>,
    /// Rows of the whole table.
    pub rows: u32,
    pub seed: u64,
}

impl Batch {
    pub fn table_name(&self) -> String {
        table_name(self.table)
    }
}

/// One connection to a database.
pub trait Session {
    /// Its SQL.
    const DIALECT: Dialect;
    /// Where its own clients find a password, for messages.
    const PASSWORD_VARIABLE: &'static str;

    /// A connection that has just opened.
    fn new() -> Self;

    /// Says the first word of the login, if the client has it.
    fn greet(&mut self, credentials: &Credentials, out: &mut Vec<u8>);

    /// Prepares the first of these, or as many as the protocol takes at once; gives how many, which is none only
    /// if there are none. Each is prepared once, in the order of their numbers.
    fn prepare(&mut self, statements: &[Prepared], out: &mut Vec<u8>) -> usize;

    /// Executes a prepared statement.
    fn execute(&mut self, statement: &Prepared, parameters: &[Parameter<'_>], out: &mut Vec<u8>);

    /// Executes a statement as it is.
    fn query(&mut self, sql: &str, out: &mut Vec<u8>);

    /// Puts rows into a table, by the fastest way that the database has for a client.
    fn load(&mut self, batch: &Batch, out: &mut Vec<u8>);

    /// Takes what has arrived; writes what the login asks for.
    fn receive(
        &mut self,
        credentials: &Credentials,
        input: &mut &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Progress, Fault>;

    /// The last reply.
    fn reply(&self) -> &Reply;

    /// The same, to say what is to be kept of it.
    fn reply_mut(&mut self) -> &mut Reply;

    /// What is cut off by the peer's closing.
    fn closed(&self) -> String;
}

/// Takes what has arrived, which must be no more than one reply: nothing else has been asked for.
#[inline]
pub fn receive_one<S: Session>(
    session: &mut S,
    credentials: &Credentials,
    mut input: &[u8],
    out: &mut Vec<u8>,
) -> Result<Progress, Fault> {
    let progress = session.receive(credentials, &mut input, out)?;
    if input.is_empty() { Ok(progress) } else { Err(Fault::protocol("bytes after the end of the reply")) }
}

/// The fault of a login that the server refuses.
pub fn refused(credentials: &Credentials, variable: &str, words: &str) -> Fault {
    let Credentials { user, database, .. } = credentials;
    let mend = format!("check user, database and password (${variable})");
    Fault::unexpected(format!("no login as {user} to {database}: {words}: {mend}"), false)
}
