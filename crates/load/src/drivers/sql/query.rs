//! One statement outside a load, and its answer as text: is the server ready, what has it counted. It blocks.

use std::io::Write;
use std::time::{Duration, Instant};

use rustix::io::{read, retry_on_intr};
use socket2::Socket;

use super::session::{Progress, SqlSession, receive_one};
use crate::connecting::Endpoint;
use crate::drivers::database_login::{DatabaseCredentials, DatabaseLogin, QueryError};

/// Sends a statement. The answer has a line for each row, with a blank between the fields. All of it takes `timeout` at
/// most.
pub fn query<S: SqlSession>(
    to: &Endpoint,
    login: &DatabaseLogin,
    statement: &str,
    timeout: Duration,
) -> Result<String, QueryError> {
    let credentials = login.credentials(to.is_local())?;
    let deadline = Instant::now() + timeout;
    let mut stream = to.connect(timeout).map_err(|source| QueryError::Connect { to: to.clone(), source })?;
    let mut session = S::new();
    let mut out = Vec::new();
    session.greet(&credentials, &mut out);
    await_reply(&mut session, &credentials, &mut stream, &mut out, deadline)?;
    session.reply_mut().transcript = Some(String::new());
    session.query(statement, &mut out);
    await_reply(&mut session, &credentials, &mut stream, &mut out, deadline)?;
    let reply = session.reply_mut();
    match reply.failure.take() {
        Some(failure) => {
            Err(QueryError::Refused { statement: statement.to_owned(), reason: failure.text.into() })
        }
        None => Ok(reply.transcript.take().unwrap_or_default()),
    }
}

/// Sends `out` and reads until the reply is complete.
fn await_reply<S: SqlSession>(
    session: &mut S,
    credentials: &DatabaseCredentials,
    stream: &mut Socket,
    out: &mut Vec<u8>,
    deadline: Instant,
) -> Result<(), QueryError> {
    let mut block = [0; 4096];
    loop {
        stream.write_all(out)?;
        out.clear();
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(QueryError::TimedOut);
        }
        stream.set_read_timeout(Some(left))?;
        // A process that was stopped and goes on finds a wait with a time limit interrupted (signal(7)).
        let count = retry_on_intr(|| read(&*stream, &mut block)).map_err(std::io::Error::from)?;
        if count == 0 {
            return Err(QueryError::Session(session.closed()));
        }
        match receive_one(session, credentials, &block[..count], out) {
            Ok(Progress::Wait) => {}
            Ok(Progress::Replied) => return Ok(()),
            Err(fault) => return Err(QueryError::Session(fault.detail.into_owned())),
        }
    }
}
