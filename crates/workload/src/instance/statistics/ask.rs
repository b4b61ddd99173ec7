//! Asking a running server for its statistics, over a connection of its own. It needs the server's address and secrets and not
//! the server, so that another thread can ask while the load runs.

use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use load::connecting::Endpoint;
use load::drivers::DatabaseLogin;
use load::drivers::RegisteredProtocol;
use load::drivers::http::HttpQuery;
use load::drivers::target::is_private;
use load::tls::{KeyProof, TlsSpec, Trust};

use crate::definition::{DatabaseAccount, HttpProbe, ProbeTarget, StatisticsSource};
use crate::instance::private::password::{MASKED, Password};
use crate::instance::replies::query;
use crate::instance::replies::query::ServerQueryError;
use crate::instance::running::Instance;
use crate::render::RenderError;

/// A query whose templates are rendered.
#[derive(Clone, Debug)]
pub(in crate::instance) struct RenderedQuery {
    /// A URL, a command, a statement or a path.
    pub text: String,
    /// Header fields of a GET.
    pub headers: Vec<(String, String)>,
}

/// How a server is asked.
#[derive(Clone)]
pub struct StatisticsAccess {
    address: SocketAddr,
    /// Where it accepts connections: its address, or a socket of the file system.
    endpoint: Endpoint,
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
            .field("endpoint", &self.endpoint)
            .field("password", &password)
            .finish_non_exhaustive()
    }
}

impl Instance {
    /// Renders a query.
    pub(in crate::instance) fn render_query(
        &self,
        source: &StatisticsSource,
    ) -> Result<RenderedQuery, RenderError> {
        match source {
            StatisticsSource::Http(probe) => self.render_probe(probe),
            other => {
                Ok(RenderedQuery { text: self.variables.render(other.template())?, headers: Vec::new() })
            }
        }
    }

    /// Renders a GET.
    pub(in crate::instance) fn render_probe(&self, probe: &HttpProbe) -> Result<RenderedQuery, RenderError> {
        let header = |(name, value): &(String, String)| Ok((name.clone(), self.variables.render(value)?));
        let headers = probe.headers.iter().map(header).collect::<Result<_, RenderError>>()?;
        Ok(RenderedQuery { text: self.variables.render(&probe.url)?, headers })
    }

    /// How its statistics are asked for.
    pub(in crate::instance) fn access(&self) -> StatisticsAccess {
        let account = self.server.account.clone().unwrap_or_default();
        let password = self.credentials.password.as_deref();
        StatisticsAccess {
            address: self.address,
            endpoint: self.endpoint(),
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
    pub(in crate::instance) fn ask(
        &self,
        source: &StatisticsSource,
        rendered: &RenderedQuery,
    ) -> Result<String, ServerQueryError> {
        let query = &rendered.text;
        match source {
            StatisticsSource::Http(_) => self.get(rendered),
            StatisticsSource::Memcache(_) => {
                let request = format!("{query}\r\n");
                query::exchange(&self.endpoint, request.as_bytes(), |text| text.ends_with(b"END\r\n"))
            }
            StatisticsSource::Redis(_) => {
                // Inline commands. QUIT makes the server close the connection after the reply.
                let auth = self.password.iter().map(|password| format!("AUTH {password}\r\n"));
                let request = auth.chain([format!("{query}\r\nQUIT\r\n")]).collect::<String>();
                query::exchange(&self.endpoint, request.as_bytes(), |_| false)
            }
            StatisticsSource::Sql { database, .. } => self.ask_sql(query, database.as_deref()),
            StatisticsSource::Log(_) => Ok(String::new()),
        }
    }

    /// The body of the reply to a GET.
    pub(in crate::instance) fn get(
        &self,
        RenderedQuery { text, headers }: &RenderedQuery,
    ) -> Result<String, ServerQueryError> {
        let refused = |reason: &dyn fmt::Display| ServerQueryError::Url {
            url: text.clone(),
            reason: reason.to_string(),
        };
        let target = ProbeTarget::parse(text)
            .ok_or_else(|| refused(&"write /path, :PORT/path or http://HOST:PORT/path"))?;
        let port = target.port.unwrap_or(self.address.port());
        let address = match target.host {
            None => SocketAddr::new(self.address.ip(), port),
            Some(host) => {
                let found = (host, port).to_socket_addrs().map_err(|why| refused(&why))?;
                let mut private = found.filter(|address| is_private(address.ip()));
                private.next().ok_or_else(|| refused(&"its host has no loopback or private address"))?
            }
        };
        let trusting = |server_name: String| TlsSpec {
            server_name,
            resumption: false,
            trust: Trust::Anyone,
            proof: KeyProof::Once,
            identity: None,
        };
        let tls = match target.is_tls {
            None => self.tls.clone(),
            Some(true) => Some(trusting(target.host.map_or_else(|| address.ip().to_string(), str::to_owned))),
            Some(false) => None,
        };
        let host = match target.host {
            Some(name) if name.parse::<IpAddr>().is_err() => format!("{name}:{port}"),
            _ => address.to_string(),
        };
        let to = match (target.host, target.port) {
            (None, None) => self.endpoint.clone(),
            _ => address.into(),
        };
        let query = HttpQuery { to: &to, tls: tls.as_ref(), host: &host, path: target.path, headers };
        Ok(query.send(query::TIMEOUT)?)
    }

    /// Runs a statement in a database, with the account of the load.
    pub(in crate::instance) fn ask_sql(
        &self,
        statement: &str,
        database: Option<&str>,
    ) -> Result<String, ServerQueryError> {
        let database = database.unwrap_or(&self.account.database).to_owned();
        let login = DatabaseLogin { database, ..self.login.clone() };
        let query = self.protocol.sql_query().ok_or_else(|| ServerQueryError::NoSql(self.protocol.name()))?;
        Ok(query(&self.endpoint, &login, statement, query::TIMEOUT)?)
    }
}
