//! One question to a database and its answer as text, blocking: is it ready, what has it counted. The load is the
//! engine's; this is for what is asked once.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::login::{Credentials, Login};
use super::mysql::MysqlSession;
use super::postgres::PostgresSession;
use super::session::{Progress, Session, receive_one};

/// Asks `sql` of the database that speaks this protocol. The answer has a line for each row, its fields with a
/// space between. The whole takes `patience` at most. An error is a line for the user.
pub fn ask(
    speaks_postgres: bool,
    address: SocketAddr,
    login: &Login,
    sql: &str,
    patience: Duration,
) -> Result<String, String> {
    let credentials = login.credentials().map_err(|e| e.to_string())?;
    if speaks_postgres {
        converse::<PostgresSession>(address, &credentials, sql, patience)
    } else {
        converse::<MysqlSession>(address, &credentials, sql, patience)
    }
}

fn converse<S: Session>(
    address: SocketAddr,
    credentials: &Credentials,
    sql: &str,
    patience: Duration,
) -> Result<String, String> {
    let deadline = Instant::now() + patience;
    let failed = |error: std::io::Error| format!("{address}: {error}");
    let mut stream = TcpStream::connect_timeout(&address, patience).map_err(failed)?;
    let mut session = S::new();
    let mut out = Vec::new();
    session.greet(credentials, &mut out);
    await_reply(&mut session, credentials, &mut stream, &mut out, deadline)?;
    session.reply_mut().transcript = Some(String::new());
    session.query(sql, &mut out);
    await_reply(&mut session, credentials, &mut stream, &mut out, deadline)?;
    let reply = session.reply_mut();
    match reply.failure.take() {
        Some(failure) => Err(format!("{sql}: {}", failure.text)),
        None => Ok(reply.transcript.take().unwrap_or_default()),
    }
}

/// Sends what is in `out` and reads until the reply is whole.
fn await_reply<S: Session>(
    session: &mut S,
    credentials: &Credentials,
    stream: &mut TcpStream,
    out: &mut Vec<u8>,
    deadline: Instant,
) -> Result<(), String> {
    let mut block = [0; 4096];
    loop {
        stream.write_all(out).map_err(|e| e.to_string())?;
        out.clear();
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err("there is no answer in time".to_owned());
        }
        stream.set_read_timeout(Some(left)).map_err(|e| e.to_string())?;
        let count = stream.read(&mut block).map_err(|e| format!("there is no answer: {e}"))?;
        if count == 0 {
            return Err(session.closed());
        }
        match receive_one(session, credentials, &block[..count], out) {
            Ok(Progress::Wait) => {}
            Ok(Progress::Replied) => return Ok(()),
            Err(fault) => return Err(fault.detail.into_owned()),
        }
    }
}
