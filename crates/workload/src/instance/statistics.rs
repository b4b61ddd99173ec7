//! What a server has counted by itself, to be held against what the client has counted.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use load::drivers::RegisteredProtocol;
use load::drivers::sql::DatabaseLogin;

use super::error::InstanceError;
use super::password::Password;
use super::running::Instance;
use super::{counters, exchange};
use crate::definition::{DatabaseAccount, Protocol, StatisticsQuery, StatisticsSource};

/// How often a server that counts late is asked before it is believed, and how long after each other.
const SETTLE_ASKS: u32 = 20;
const SETTLE_PAUSE: Duration = Duration::from_millis(50);

/// A server's count of operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationCount {
    /// What it counts, in the server's words: `cmd_get + cmd_set`.
    pub what: String,
    /// How many since it was started.
    pub count: u64,
    /// The engine's counter that counts the same; operations if none.
    pub client_counter: Option<String>,
}

impl Instance {
    /// How many operations the server has counted since its start; none if it keeps no count.
    ///
    /// What we ask over HTTP is a request too. Whether it is counted shows when nothing else is asked: then each
    /// answer is one more than the last, or the same. Our questions are left out, up to one: whether a server
    /// counts a question before it answers differs, but it is the same each time, so that the difference of two
    /// counts is exact.
    pub fn count(&mut self) -> Result<Option<OperationCount>, InstanceError> {
        let Some(mut told) = self.told()? else { return Ok(None) };
        if let Some(StatisticsQuery { ask: StatisticsSource::Http(_), .. }) = self.server.statistics {
            let mut a_question = None;
            for _ in 0..SETTLE_ASKS {
                // Apache's workers note a request after they have answered it.
                sleep(SETTLE_PAUSE);
                let Some(next) = self.told()? else { return Ok(None) };
                let step = next.count.saturating_sub(told.count);
                told = next;
                if a_question.replace(step) == Some(step) && step <= 1 {
                    break;
                }
            }
            let earlier_questions = self.asked - 1;
            told.count = told.count.saturating_sub(a_question.unwrap_or(0).min(1) * earlier_questions);
        }
        Ok(Some(told))
    }

    /// What it says at once, our questions included.
    fn told(&mut self) -> Result<Option<OperationCount>, InstanceError> {
        let Some((text, counters)) = self.ask()? else { return Ok(None) };
        // Texts of a log may have blanks around them.
        let what = counters.iter().map(|name| name.trim()).collect::<Vec<_>>().join(" + ");
        // A server may name a counter only once it has something to count.
        let count = counters.iter().filter_map(|name| counters::read(&text, name)).sum();
        let client_counter =
            self.server.statistics.as_ref().and_then(|statistics| statistics.client_counter.clone());
        Ok(Some(OperationCount { what, count, client_counter }))
    }

    /// After every operation was carried out, every counter must be there.
    pub(super) fn check_counters(&mut self) -> Result<(), InstanceError> {
        let Some((text, counters)) = self.ask()? else { return Ok(()) };
        match counters.iter().find(|name| counters::read(&text, name).is_none()) {
            None => Ok(()),
            Some(missing) => Err(self.no_counts(format!(
                "there is no counter {missing:?} in what it says, which begins {:?}",
                text.chars().take(200).collect::<String>()
            ))),
        }
    }

    /// Asks the question, if there is one with these knobs; gives the answer and the counters to look for.
    fn ask(&mut self) -> Result<Option<(String, Vec<String>)>, InstanceError> {
        let Some(StatisticsQuery { ask, counters, .. }) = self.server.statistics.clone() else {
            return Ok(None);
        };
        let question = self.scope.render(ask.template()).map_err(|e| self.no_counts(e.message))?;
        if question.is_empty() {
            return Ok(None);
        }
        let answer = match ask {
            StatisticsSource::Http(_) => {
                self.asked += 1;
                exchange::http_get(self.address, self.tls().as_ref(), &question).and_then(|reply| match reply
                    .status
                {
                    200..400 => Ok(reply.body),
                    status => Err(format!("{question} is answered with status {status}")),
                })
            }
            StatisticsSource::Memcache(_) => {
                let request = format!("{question}\r\n");
                exchange::converse(self.address, None, request.as_bytes(), |text| text.ends_with(b"END\r\n"))
            }
            StatisticsSource::Redis(_) => {
                // Inline commands; QUIT makes the server close at the end of its answer.
                let auth = self
                    .credentials
                    .password
                    .iter()
                    .map(|password| format!("AUTH {}\r\n", password.reveal()));
                let request = auth.chain([format!("{question}\r\nQUIT\r\n")]).collect::<String>();
                exchange::converse(self.address, None, request.as_bytes(), |_| false)
            }
            StatisticsSource::Sql { database, .. } => {
                settled(|| self.ask_sql(&question, database.as_deref()))
            }
            StatisticsSource::Log(_) => settled(|| counters::in_log(Path::new(&question), &counters)),
        };
        Ok(Some((answer.map_err(|what| self.no_counts(what))?, counters)))
    }

    /// Asks a database, as the user of the load.
    pub(super) fn ask_sql(&self, statement: &str, database: Option<&str>) -> Result<String, String> {
        let DatabaseAccount { user, database: own } = self.server.account.clone().unwrap_or_default();
        let password = self.credentials.password.as_deref().map(Password::source);
        let login = DatabaseLogin { user, database: database.map_or(own, str::to_owned), password };
        let name = if self.server.protocol == Protocol::Postgres { "postgres" } else { "mysql" };
        let query = RegisteredProtocol::by_name(name).and_then(|protocol| protocol.sql_query());
        let query = query.ok_or_else(|| format!("{name} takes no SQL"))?;
        query(self.address, &login, statement, exchange::PATIENCE).map_err(|e| e.to_string())
    }

    fn no_counts(&self, what: String) -> InstanceError {
        InstanceError::Statistics { server: self.server.name.clone(), what }
    }
}

/// Asks until two answers are the same: PostgreSQL adds up what a session has counted when the session has ended,
/// and a log may be written by a process of its own, a moment after.
fn settled(mut ask: impl FnMut() -> Result<String, String>) -> Result<String, String> {
    let mut answer = ask()?;
    for _ in 0..SETTLE_ASKS {
        sleep(SETTLE_PAUSE);
        let next = ask()?;
        if next == answer {
            break;
        }
        answer = next;
    }
    Ok(answer)
}
