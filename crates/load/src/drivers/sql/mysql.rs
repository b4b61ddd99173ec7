//! A session with MySQL or MariaDB: logs in with their own password plugins, executes prepared statements with binary
//! rows, and loads tables with inserts of many rows.

use wire::Parameter;
use wire::mysql::{Event, Expect, ReplyDecoder, ServerError, auth, request};

use super::dialect::SqlDialect;
use super::reply::{Failure, FailureKind, SqlReply, remedy_of_missing_table};
use super::row::TableRow;
use super::session::{PreparedStatement, Progress, RowBatch, SqlSession, failed_login, refused};
use crate::driver::Fault;
use crate::drivers::database_login::DatabaseCredentials;

/// The state of one connection.
#[derive(Debug)]
pub struct MysqlSession {
    decoder: ReplyDecoder,
    is_logged_in: bool,
    /// The server's numbers of the prepared statements, by the client's.
    statements: Vec<u32>,
    reply: SqlReply,
}

impl MysqlSession {
    #[inline]
    fn expect(&mut self, expect: Expect) {
        self.reply.clear();
        self.decoder.expect(expect);
    }
}

impl SqlSession for MysqlSession {
    const DIALECT: SqlDialect = SqlDialect::Mysql;
    const PASSWORD_VARIABLE: &'static str = "MYSQL_PWD";

    fn new() -> Self {
        Self {
            decoder: ReplyDecoder::new(),
            is_logged_in: false,
            statements: Vec::new(),
            reply: SqlReply::default(),
        }
    }

    /// The server sends the first message.
    fn greet(&mut self, _: &DatabaseCredentials, _: &mut Vec<u8>) {
        self.decoder.expect(Expect::Greeting);
    }

    /// One at a time: not all servers read ahead.
    fn prepare(&mut self, statements: &[PreparedStatement], out: &mut Vec<u8>) -> usize {
        let first = statements.iter().take(1);
        first
            .map(|statement| {
                request::prepare(out, &statement.sql);
                self.expect(Expect::Prepare);
            })
            .count()
    }

    #[inline]
    fn execute(&mut self, statement: &PreparedStatement, parameters: &[Parameter<'_>], out: &mut Vec<u8>) {
        request::execute(out, self.statements[usize::from(statement.number)], parameters);
        self.expect(Expect::Execute);
    }

    #[inline]
    fn query(&mut self, sql: &str, out: &mut Vec<u8>) {
        request::query(out, |out| out.extend_from_slice(sql.as_bytes()));
        self.expect(Expect::Query);
    }

    fn load(&mut self, batch: &RowBatch, out: &mut Vec<u8>) {
        request::query(out, |out| {
            out.extend_from_slice(
                format!("INSERT INTO {} (id, k, c, pad) VALUES ", batch.table_name()).as_bytes(),
            );
            let mut number = itoa::Buffer::new();
            for id in batch.ids.clone() {
                let (k, row) = TableRow::of(batch.seed, batch.table, id, batch.rows);
                out.extend_from_slice(if id == batch.ids.start { b"(" } else { b",(" });
                for value in [id, k] {
                    out.extend_from_slice(number.format(value).as_bytes());
                    out.push(b',');
                }
                out.push(b'\'');
                out.extend_from_slice(&row.c);
                out.extend_from_slice(b"','");
                out.extend_from_slice(&row.pad);
                out.extend_from_slice(b"')");
            }
        });
        self.expect(Expect::Query);
    }

    #[inline]
    fn receive(
        &mut self,
        credentials: &DatabaseCredentials,
        input: &mut &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Progress, Fault> {
        loop {
            let sequence = self.decoder.sequence();
            let event = self.decoder.decode(input).map_err(|e| Fault::protocol(e.to_string()))?;
            let Some(event) = event else { return Ok(Progress::Wait) };
            match event {
                Event::Row(row) => self.reply.take_row(row.texts()),
                Event::Done(done) => {
                    self.reply.affected += done.affected_rows;
                    if !done.has_more {
                        self.is_logged_in = true;
                        return Ok(Progress::Replied);
                    }
                }
                Event::Prepared(prepared) => {
                    self.statements.push(prepared.statement);
                    return Ok(Progress::Replied);
                }
                Event::Error(error) => {
                    let failure = failure(&error);
                    if !self.is_logged_in {
                        return Err(failed_login(credentials, Self::PASSWORD_VARIABLE, &failure));
                    }
                    self.reply.failure = Some(failure);
                    return Ok(Progress::Replied);
                }
                Event::Greeting(greeting) => {
                    let plugin = if greeting.plugin == auth::CACHING_SHA2.as_bytes() {
                        auth::CACHING_SHA2
                    } else {
                        // A server that needs another one for this user switches to it.
                        auth::NATIVE
                    };
                    let answer = auth::answer(plugin.as_bytes(), &credentials.password, &greeting.nonce)
                        .unwrap_or_default();
                    let DatabaseCredentials { user, database, .. } = credentials;
                    let response = request::HandshakeResponse { user, database, plugin, answer: &answer };
                    request::handshake_response(out, sequence.wrapping_add(1), &greeting, &response);
                    self.decoder.expect(Expect::Login);
                }
                Event::AuthSwitch { plugin, nonce } => {
                    let Some(answer) = auth::answer(plugin, &credentials.password, nonce) else {
                        let reason = format!(
                            "the server needs the login plugin {}, which is not supported (supported are {} and {})",
                            String::from_utf8_lossy(plugin),
                            auth::NATIVE,
                            auth::CACHING_SHA2
                        );
                        return Err(refused(credentials, Self::PASSWORD_VARIABLE, &reason));
                    };
                    let number = self.decoder.sequence();
                    request::auth_answer(out, number, &answer);
                    self.decoder.expect(Expect::Login);
                }
                Event::AuthMore(data) if data == auth::FULL_LOGIN_REQUIRED => {
                    let reason = "the server has not cached this password, which is never sent unencrypted: log in once \
                                  with the server's own client";
                    return Err(refused(credentials, Self::PASSWORD_VARIABLE, reason));
                }
                Event::AuthMore(_) if event.is_final() => {
                    return Err(Fault::protocol("an unknown message of the login"));
                }
                // AuthMore: the server has cached the password.
                Event::Columns(_) | Event::Described | Event::AuthMore(_) => {}
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

/// Classifies an error by its number ("Server Error Message Reference").
fn failure(error: &ServerError<'_>) -> Failure {
    let kind = match error.number {
        1213 => FailureKind::Deadlock,
        1205 => FailureKind::LockTimeout,
        1020 => FailureKind::Serialization,
        1062 => FailureKind::Duplicate,
        1050 => FailureKind::TableExists,
        1040 | 1203 => FailureKind::TooManyConnections,
        1053 => FailureKind::NotReady,
        _ => FailureKind::Other,
    };
    let message = String::from_utf8_lossy(error.message);
    let remedy = remedy_of_missing_table(error.number == 1146, &message);
    let text = format!("{message} ({}){remedy}", error.number);
    Failure { kind, text: text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWORD: &str = "open sesame";

    /// A greeting of MySQL 8 with this plugin for passwords.
    fn greeting(plugin: &str) -> Vec<u8> {
        let (first, rest) = (b"abcdefgh", b"ijklmnopqrst\0");
        let after_nonce = [b"\0".as_slice(), b"\xff\xff\x21\x02\0\xff\xdf\x15", &[0; 10]].concat();
        let payload =
            [b"\x0a8.0.36\0\x01\0\0\0".as_slice(), first, &after_nonce, rest, plugin.as_bytes(), b"\0"]
                .concat();
        packet(0, &payload)
    }

    fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
        let length = u8::try_from(payload.len()).expect("a short packet");
        [&[length, 0, 0, number], payload].concat()
    }

    /// The error of a login with these packets after the answer to the greeting, and all that the client has sent.
    fn login(plugin: &str, packets: &[&[u8]]) -> (String, Vec<u8>) {
        let credentials = DatabaseCredentials {
            user: "me".to_owned(),
            database: "db".to_owned(),
            password: PASSWORD.into(),
            may_send_cleartext: true,
            may_send_md5: true,
        };
        let (mut session, mut sent) = (MysqlSession::new(), Vec::new());
        session.greet(&credentials, &mut sent);
        let mut receive = |bytes: &[u8]| {
            let mut input = bytes;
            session.receive(&credentials, &mut input, &mut sent)
        };
        assert_eq!(receive(&greeting(plugin)).expect("a greeting"), Progress::Wait);
        let error = packets
            .iter()
            .zip([2, 4, 6])
            .find_map(|(payload, number)| receive(&packet(number, payload)).err())
            .expect("the login is refused");
        (error.detail.into_owned(), sent)
    }

    #[test]
    fn the_remedy_of_a_refused_login_follows_from_its_reason() {
        let of = |error: &[u8]| login(auth::NATIVE, &[error]).0;
        let wrong = of(b"\xff\x15\x04#28000Access denied");
        assert!(wrong.ends_with("check user, database and password ($MYSQL_PWD)"), "{wrong}");
        let full = of(b"\xff\xb3\x04#42000User me already has more than 'max_user_connections'");
        assert!(full.contains("(1203): use fewer connections"), "{full}");
    }

    #[test]
    fn a_password_is_never_sent_whatever_the_server_asks_for() {
        let switch = |plugin: &str| [b"\xfe", plugin.as_bytes(), b"\0abcdefghijklmnopqrst\0"].concat();
        let public_key = [b"\x01", b"-----BEGIN PUBLIC KEY-----".as_slice()].concat();
        for (plugin, packets, reason) in [
            (auth::CACHING_SHA2, vec![b"\x01\x04".to_vec()], "never sent unencrypted"),
            (auth::CACHING_SHA2, vec![public_key.clone()], "unknown message"),
            (
                auth::NATIVE,
                vec![switch("mysql_clear_password")],
                "mysql_clear_password, which is not supported",
            ),
            (auth::NATIVE, vec![switch("dialog")], "dialog, which is not supported"),
            (auth::NATIVE, vec![switch("sha256_password")], "sha256_password, which is not supported"),
            (auth::NATIVE, vec![switch(auth::CACHING_SHA2), b"\x01\x04".to_vec()], "never sent unencrypted"),
        ] {
            let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
            let (error, sent) = login(plugin, &packets);
            assert!(error.contains(reason), "{error}");
            assert!(!sent.windows(PASSWORD.len()).any(|bytes| bytes == PASSWORD.as_bytes()), "{plugin}");
        }
    }
}
