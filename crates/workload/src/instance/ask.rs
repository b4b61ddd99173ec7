//! Asking a running server for its statistics, over a connection of its own. It needs the server's address and secrets and not
//! the server, so that another thread can ask while the load runs.

use std::fmt;
use std::net::SocketAddr;

use load::drivers::RegisteredProtocol;
use load::drivers::sql::DatabaseLogin;
use load::spec::TlsSpec;

use super::password::{MASKED, Password};
use super::query::{self, ServerQueryError};
use super::running::Instance;
use crate::definition::{DatabaseAccount, StatisticsSource};

/// How a server is asked.
#[derive(Clone)]
pub struct StatisticsAccess {
    address: SocketAddr,
    tls: Option<TlsSpec>,
    account: DatabaseAccount,
    protocol: RegisteredProtocol,
    /// The password itself, for Redis, and the login of a database.
    password: Option<String>,
    login: DatabaseLogin,
}

impl fmt::Debug for StatisticsAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let password = self.password.as_ref().map(|_| MASKED);
        f.debug_struct("StatisticsAccess")
            .field("address", &self.address)
            .field("password", &password)
            .finish_non_exhaustive()
    }
}

impl Instance {
    /// How its statistics are asked for.
    pub(super) fn access(&self) -> StatisticsAccess {
        let account = self.server.account.clone().unwrap_or_default();
        let password = self.credentials.password.as_deref();
        StatisticsAccess {
            address: self.address,
            tls: self.tls(),
            protocol: self.server.protocol,
            password: password.map(|password| password.reveal().to_owned()),
            login: DatabaseLogin {
                user: account.user.clone(),
                database: account.database.clone(),
                password: password.map(Password::source),
                allow_cleartext: false,
            },
            account,
        }
    }
}

impl StatisticsAccess {
    /// The server's reply to a rendered query. A log is no query.
    pub(super) fn ask(&self, source: &StatisticsSource, query: &str) -> Result<String, ServerQueryError> {
        match source {
            StatisticsSource::Http(_) => query::http_get(self.address, self.tls.as_ref(), query),
            StatisticsSource::Memcache(_) => {
                let request = format!("{query}\r\n");
                query::exchange(self.address, None, request.as_bytes(), |text| text.ends_with(b"END\r\n"))
            }
            StatisticsSource::Redis(_) => {
                // Inline commands. QUIT makes the server close the connection after the reply.
                let auth = self.password.iter().map(|password| format!("AUTH {password}\r\n"));
                let request = auth.chain([format!("{query}\r\nQUIT\r\n")]).collect::<String>();
                query::exchange(self.address, None, request.as_bytes(), |_| false)
            }
            StatisticsSource::Sql { database, .. } => self.ask_sql(query, database.as_deref()),
            StatisticsSource::Log(_) => Ok(String::new()),
        }
    }

    /// Runs a statement in a database, with the account of the load.
    pub(super) fn ask_sql(
        &self,
        statement: &str,
        database: Option<&str>,
    ) -> Result<String, ServerQueryError> {
        let database = database.unwrap_or(&self.account.database).to_owned();
        let login = DatabaseLogin { database, ..self.login.clone() };
        let query = self.protocol.sql_query().ok_or_else(|| ServerQueryError::NoSql(self.protocol.name()))?;
        Ok(query(self.address, &login, statement, query::TIMEOUT)?)
    }
}
