//! A session with PostgreSQL: logs in with the method that the server asks for, executes prepared statements with
//! `Bind`, `Execute` and `Sync` in one piece, and loads tables with `COPY`.

use wire::Parameter;
use wire::postgres::auth::{self, Scram};
use wire::postgres::{Authentication, Event, Expect, ReplyDecoder, ServerError, request, rows_of};

use super::dialect::SqlDialect;
use super::reply::{Failure, FailureKind, SqlReply, remedy_of_missing_table};
use super::row::TableRow;
use super::session::{PreparedStatement, Progress, RowBatch, SqlSession, failed_login, refused};
use crate::driver::Fault;
use crate::drivers::database_login::DatabaseCredentials;

/// The state of one connection.
#[derive(Debug)]
pub struct PostgresSession {
    decoder: ReplyDecoder,
    /// A login by SCRAM in progress.
    scram: Option<Box<Scram>>,
    /// Whether the server has earned the login: it has proven that it knows the password, or the user lets it go without.
    is_proven: bool,
    is_logged_in: bool,
    reply: SqlReply,
}

impl PostgresSession {
    #[inline]
    fn expect(&mut self) {
        self.reply.clear();
        self.decoder.expect(Expect::Query);
    }
}

impl SqlSession for PostgresSession {
    const DIALECT: SqlDialect = SqlDialect::Postgres;
    const PASSWORD_VARIABLE: &'static str = "PGPASSWORD";

    fn new() -> Self {
        Self {
            decoder: ReplyDecoder::new(),
            scram: None,
            is_proven: false,
            is_logged_in: false,
            reply: SqlReply::default(),
        }
    }

    fn greet(&mut self, credentials: &DatabaseCredentials, out: &mut Vec<u8>) {
        request::startup(out, &credentials.user, &credentials.database);
        self.decoder.expect(Expect::Login);
    }

    /// All statements in one round trip.
    fn prepare(&mut self, statements: &[PreparedStatement], out: &mut Vec<u8>) -> usize {
        for statement in statements {
            request::parse(out, &statement.name, &statement.sql);
        }
        request::sync(out);
        self.expect();
        statements.len()
    }

    #[inline]
    fn execute(&mut self, statement: &PreparedStatement, parameters: &[Parameter<'_>], out: &mut Vec<u8>) {
        request::bind_and_execute(out, &statement.name, parameters);
        request::sync(out);
        self.expect();
    }

    #[inline]
    fn query(&mut self, sql: &str, out: &mut Vec<u8>) {
        request::query(out, sql);
        self.expect();
    }

    /// Does not wait until the server asks for the data: a server that refuses the copy ignores them.
    fn load(&mut self, batch: &RowBatch, out: &mut Vec<u8>) {
        request::query(out, &format!("COPY {} (id, k, c, pad) FROM STDIN", batch.table_name()));
        request::copy_data(out, |out| {
            let mut number = itoa::Buffer::new();
            for id in batch.ids.clone() {
                let (k, row) = TableRow::of(batch.seed, batch.table, id, batch.rows);
                for value in [id, k] {
                    out.extend_from_slice(number.format(value).as_bytes());
                    out.push(b'\t');
                }
                out.extend_from_slice(&row.c);
                out.push(b'\t');
                out.extend_from_slice(&row.pad);
                out.push(b'\n');
            }
        });
        request::copy_done(out);
        self.expect();
    }

    #[inline]
    fn receive(
        &mut self,
        credentials: &DatabaseCredentials,
        input: &mut &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Progress, Fault> {
        loop {
            let event = self.decoder.decode(input).map_err(|e| Fault::protocol(e.to_string()))?;
            let Some(event) = event else { return Ok(Progress::Wait) };
            match event {
                Event::Row(row) => self.reply.take_row(row.fields()),
                Event::Complete { tag } if !tag.starts_with(b"SELECT") => {
                    self.reply.affected += rows_of(tag).unwrap_or(0);
                }
                Event::Ready(_) => {
                    if !self.is_logged_in && !self.is_proven && !credentials.password.is_empty() {
                        return Err(Fault::unexpected(UNPROVEN, false));
                    }
                    self.is_logged_in = true;
                    self.scram = None;
                    return Ok(Progress::Replied);
                }
                Event::CopyIn => self.decoder.expect(Expect::Query),
                Event::Error(error) => {
                    let failure = failure(&error);
                    if !self.is_logged_in {
                        return Err(failed_login(credentials, Self::PASSWORD_VARIABLE, &failure));
                    }
                    if error.is_fatal() {
                        return Err(Fault::closed(format!("the server ends the session: {}", failure.text)));
                    }
                    self.reply.failure = Some(failure);
                }
                Event::Authentication(asked) => {
                    answer(asked, &mut self.scram, &mut self.is_proven, credentials, out)?;
                    if event.is_final() {
                        self.decoder.expect(Expect::Login);
                    }
                }
                _ => {}
            }
        }
    }

    #[inline]
    fn reply(&self) -> &SqlReply {
        &self.reply
    }

    fn reply_mut(&mut self) -> &mut SqlReply {
        &mut self.reply
    }

    fn closed(&self) -> String {
        self.decoder.eof().to_string()
    }
}

/// Why a login does not count that the server accepts without its part of SCRAM.
const UNPROVEN: &str = "the server accepts the login without proof that it knows the password: give no password \
                        ($PGPASSWORD) if it needs none, or let it check with scram-sha-256 (pg_hba.conf)";
const CLEARTEXT: &str = "the server asks for the password unencrypted: let it check with scram-sha-256 (pg_hba.conf), or \
                         pass --allow-cleartext-password";
const MD5: &str = "the server asks for an MD5 hash, from which the password can be guessed: let it check with scram-sha-256 \
                   (pg_hba.conf), or pass --allow-cleartext-password";

/// Answers one message of a login. `is_proven` becomes true once the server has proven that it knows the password, and
/// where the user has allowed a method without that proof.
fn answer(
    asked: Authentication<'_>,
    scram: &mut Option<Box<Scram>>,
    is_proven: &mut bool,
    credentials: &DatabaseCredentials,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let DatabaseCredentials { user, password, .. } = credentials;
    let refuse = |reason: &str| refused(credentials, PostgresSession::PASSWORD_VARIABLE, reason);
    if password.is_empty() && asked != Authentication::Satisfied {
        return Err(refuse("the server asks for a password, and there is none"));
    }
    match (asked, scram) {
        (Authentication::Satisfied, _) => {}
        (Authentication::Cleartext, _) if !credentials.may_send_cleartext => {
            return Err(Fault::unexpected(CLEARTEXT, false));
        }
        (Authentication::Md5 { .. }, _) if !credentials.may_send_md5 => {
            return Err(Fault::unexpected(MD5, false));
        }
        (Authentication::Cleartext, _) => {
            request::password(out, password);
            *is_proven = true;
        }
        (Authentication::Md5 { salt }, _) => {
            request::password(out, auth::md5(user, password, salt).as_bytes());
            *is_proven = true;
        }
        (Authentication::Sasl { mechanisms }, scram) => {
            if !auth::offers_scram(mechanisms) {
                return Err(refuse("the server offers no login by SCRAM-SHA-256"));
            }
            let begun = scram.insert(Box::new(Scram::new(password)));
            request::sasl_initial(out, auth::MECHANISM, begun.message());
            *is_proven = false;
        }
        (Authentication::SaslContinue(message), Some(scram)) => {
            scram.answer(message).map_err(|e| Fault::protocol(e.to_string()))?;
            request::sasl_continue(out, scram.message());
        }
        (Authentication::SaslFinal(message), Some(scram)) => {
            scram.verify(message).map_err(|e| Fault::protocol(e.to_string()))?;
            *is_proven = true;
        }
        (Authentication::SaslContinue(_) | Authentication::SaslFinal(_), None) => {
            return Err(Fault::protocol("a message of a login that has not begun"));
        }
    }
    Ok(())
}

/// Classifies an error by its SQLSTATE ("PostgreSQL Error Codes").
fn failure(error: &ServerError<'_>) -> Failure {
    let kind = match error.code {
        b"40P01" => FailureKind::Deadlock,
        b"55P03" => FailureKind::LockTimeout,
        b"40001" => FailureKind::Serialization,
        b"23505" => FailureKind::Duplicate,
        b"42P07" => FailureKind::TableExists,
        b"53300" => FailureKind::TooManyConnections,
        b"57P03" => FailureKind::NotReady,
        _ => FailureKind::Other,
    };
    let (message, code) = (String::from_utf8_lossy(error.message), String::from_utf8_lossy(error.code));
    let remedy = remedy_of_missing_table(error.code == b"42P01", &message);
    Failure { kind, text: format!("{message} ({code}){remedy}").into() }
}

#[cfg(test)]
mod tests;
