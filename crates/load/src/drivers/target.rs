//! Where the load goes: parses a URL, resolves its host, and refuses public addresses without permission.

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use url::{Host, Url};

use super::password::PasswordSource;
use super::protocol::{ServerAccess, UrlPath, UrlScheme};
use super::registry::{PROTOCOLS, RegisteredProtocol, list_of};
use super::unix_target::{self, UnixTarget};
use crate::connecting::{Endpoint, UnixSocket, other_loopback};
use crate::inputs::units::UnitError;

/// Why a target was refused.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The text is not a URL.
    #[error(
        "{text:?} is not a URL ({reason}): write one such as http://127.0.0.1:8080/ or memcache://127.0.0.1:11211"
    )]
    NotAUrl {
        /// As written.
        text: String,
        /// The parser's message.
        reason: String,
    },
    /// A socket of the file system that cannot be loaded.
    #[error("{text:?} names a Unix socket: {reason}")]
    UnixSocket {
        /// As written.
        text: String,
        /// What is wrong, and the remedy.
        reason: String,
    },
    /// A scheme without a driver.
    #[error("no driver for {scheme:?}: the schemes are {known}")]
    UnknownScheme {
        /// As written.
        scheme: String,
        /// The known ones.
        known: String,
    },
    /// A password in the URL: it would be recorded, and visible to all users of the machine. Or a user name, where the
    /// protocol has none.
    #[error("the URL contains {what}, which would be recorded: {remedy}")]
    Credentials {
        /// A password, or a user name.
        what: &'static str,
        /// What to do with this protocol.
        remedy: String,
    },
    /// A user without a password.
    #[error("the URL has a user and no password: give the password in ${variable}")]
    NoPassword {
        /// The environment variable that is read for it.
        variable: &'static str,
    },
    /// The URL of a database without a user or a database.
    #[error("the URL of a database needs a user and a database: write mysql://me@127.0.0.1/test")]
    NoAccount,
    /// A user or database whose percent-encoded bytes are not UTF-8.
    #[error("{part:?} in the URL is not UTF-8: encode the bytes of a UTF-8 name (%C3%A9 for é)")]
    NotUtf8 {
        /// As written.
        part: String,
    },
    /// The name has no address.
    #[error("{host:?} does not resolve ({reason}): check the name, or give an address with --connect-to")]
    Unresolved {
        /// The host's name.
        host: String,
        /// The resolver's message.
        reason: String,
    },
    /// A public address.
    #[error(
        "{host} is a public address ({address}): load goes to loopback and private addresses only: pass --target-is-mine if this one is yours"
    )]
    Public {
        /// The host's name.
        host: String,
        /// The public address.
        address: IpAddr,
    },
    /// Nothing accepts connections there.
    #[error("nothing answers at {address}: {reason}: {remedy}")]
    Silent {
        /// The address tried last.
        address: SocketAddr,
        /// The system's message.
        reason: String,
        /// What to do.
        remedy: String,
    },
}

/// A parsed URL, not yet resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The protocol.
    pub protocol: RegisteredProtocol,
    /// Its scheme.
    pub scheme: &'static UrlScheme,
    /// Name or address, without brackets.
    pub host: String,
    /// The port, the scheme's own if none was given.
    pub port: u16,
    /// A socket of the file system instead of host and port; the host is then `localhost`.
    pub socket: Option<PathBuf>,
    /// The user to log in as: for databases, and where a protocol takes one.
    pub user: Option<String>,
    /// Path and query, at least `/`.
    pub path_and_query: String,
}

impl Target {
    /// Parses a URL. A host without a scheme gets that of its port, or HTTP.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        let not_a_url = |reason: &str| {
            // What cannot be parsed may still have a password in it.
            let text = match text.rsplit_once('@') {
                Some((_, after)) => format!("…@{after}"),
                None => text.to_owned(),
            };
            TargetError::NotAUrl { text, reason: reason.to_owned() }
        };
        if let Some(parts) = unix_target::split(text) {
            return Self::at_socket(text, &parts);
        }
        let parsed = Url::parse(text);
        // `localhost:8080` is a URL whose scheme is `localhost`.
        let has_scheme =
            parsed.as_ref().is_ok_and(|url| RegisteredProtocol::by_scheme(url.scheme()).is_some());
        if !has_scheme && let Some(url) = with_scheme(text) {
            return Self::parse(&url);
        }
        let url = parsed.map_err(|error| not_a_url(&error.to_string()))?;
        let Some((protocol, scheme)) = RegisteredProtocol::by_scheme(url.scheme()) else {
            return Err(TargetError::UnknownScheme {
                scheme: url.scheme().to_owned(),
                known: known_schemes(),
            });
        };
        let has_user = !url.username().is_empty();
        let takes_user = protocol.url_path() == UrlPath::Account || protocol.takes_user();
        if (has_user && !takes_user) || url.password().is_some() {
            let what = if url.password().is_some() { "a password" } else { "a user name" };
            return Err(TargetError::Credentials { what, remedy: instead_of_credentials(protocol) });
        }
        let host = match url.host() {
            // With schemes outside of the URL standard, an address is parsed as a name.
            Some(Host::Domain(name)) => name.to_owned(),
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
            None => return Err(not_a_url("it has no host")),
        };
        let path = if url.path().is_empty() { "/" } else { url.path() };
        let path_and_query = url.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
        // The parser would encode the braces, and they would be sent as a text.
        let path_and_query = template_of(text).map_or(path_and_query, str::to_owned);
        let user = has_user.then(|| decoded(url.username())).transpose()?;
        let port = url.port().unwrap_or(scheme.port);
        Ok(Self { protocol, scheme, host, port, socket: None, user, path_and_query })
    }

    /// A socket of the file system: `unix:/run/app.sock:/path`, `mysql+unix://me@/run/mysqld.sock:/test`.
    fn at_socket(text: &str, parts: &UnixTarget<'_>) -> Result<Self, TargetError> {
        let (protocol, scheme) = RegisteredProtocol::by_scheme(parts.scheme).ok_or_else(|| {
            TargetError::UnknownScheme { scheme: parts.scheme.to_owned(), known: known_schemes() }
        })?;
        let has_account = protocol.url_path() == UrlPath::Account;
        let takes_user = has_account || protocol.takes_user();
        if let Some(user) = parts.user.filter(|user| user.contains(':') || !takes_user) {
            let what = if user.contains(':') { "a password" } else { "a user name" };
            return Err(TargetError::Credentials { what, remedy: instead_of_credentials(protocol) });
        }
        let path = decoded(parts.path)?;
        if !path.starts_with('/') {
            let example = unix_target::example(scheme.name(), has_account);
            let reason = format!("write its whole path, such as {example}");
            return Err(TargetError::UnixSocket { text: text.to_owned(), reason });
        }
        Ok(Self {
            protocol,
            scheme,
            host: "localhost".to_owned(),
            port: scheme.port,
            socket: Some(path.into()),
            user: parts.user.map(decoded).transpose()?,
            path_and_query: format!("/{}", parts.url),
        })
    }

    /// `host:port` for a `Host` header and for messages; IPv6 in brackets, the scheme's own port left out.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == self.scheme.port { host } else { format!("{host}:{}", self.port) }
    }

    /// What the protocol needs beside the address. The password is in the protocol's environment variable, if that is
    /// set. Keys, values and rows follow from `seed`.
    pub fn access(&self, seed: u64) -> Result<ServerAccess, TargetError> {
        let variable = self.protocol.password_variable().filter(|name| std::env::var_os(name).is_some());
        let (user, database) = match self.protocol.url_path() {
            UrlPath::Account => {
                let database = self.path_and_query.trim_start_matches('/');
                let is_name = !database.is_empty() && !database.contains(['/', '?']);
                let user = self.user.as_ref().filter(|_| is_name).ok_or(TargetError::NoAccount)?;
                (user.clone(), decoded(database)?)
            }
            _ => match (&self.user, variable, self.protocol.password_variable()) {
                (Some(_), None, Some(variable)) => return Err(TargetError::NoPassword { variable }),
                (user, ..) => (user.clone().unwrap_or_default(), String::new()),
            },
        };
        Ok(ServerAccess {
            authority: self.authority(),
            user,
            database,
            password: variable.map(|name| PasswordSource::Environment(name.to_owned())),
            may_send_cleartext: false,
            pipes: None,
            seed,
            folder: std::env::current_dir().ok(),
        })
    }

    /// The same target at a socket of the file system, if one is given.
    #[must_use]
    pub fn through(self, socket: Option<&PathBuf>) -> Self {
        Self { socket: socket.cloned().or(self.socket), ..self }
    }

    /// The same target at another host and port, which its name does not have to lead to.
    #[must_use]
    pub fn at(&self, endpoint: Option<&(String, u16)>) -> Self {
        let (host, port) = endpoint.cloned().unwrap_or_else(|| (self.host.clone(), self.port));
        Self { host, port, ..self.clone() }
    }

    /// Returns the addresses of the name, at least one. Refuses public addresses unless `target_is_mine`.
    pub fn resolve(&self, target_is_mine: bool) -> Result<Vec<SocketAddr>, TargetError> {
        if let Some(path) = &self.socket {
            let reason =
                "only this machine reaches it, with `load` and without --clients and --connect-to".to_owned();
            return Err(TargetError::UnixSocket { text: path.display().to_string(), reason });
        }
        let addresses: Vec<SocketAddr> = (self.host.as_str(), self.port)
            .to_socket_addrs()
            .map_err(|e| self.unresolved(e.to_string()))?
            .collect();
        if let Some(public) = addresses.iter().find(|a| !target_is_mine && !is_private(a.ip())) {
            return Err(TargetError::Public { host: self.host.clone(), address: public.ip() });
        }
        if addresses.is_empty() { Err(self.unresolved("no addresses".to_owned())) } else { Ok(addresses) }
    }

    /// Returns the socket of the file system to load; none where the target has a host and a port. One connection is opened
    /// and closed for this, as for [`Self::locate`].
    pub fn locate_socket(&self, timeout: Duration) -> Result<Option<UnixSocket>, TargetError> {
        let Some(path) = &self.socket else { return Ok(None) };
        let socket = UnixSocket::of_user(path);
        match Endpoint::Unix(socket.clone()).connect(timeout) {
            Ok(_) => Ok(Some(socket)),
            Err(why) => Err(TargetError::UnixSocket {
                text: path.display().to_string(),
                reason: format!("nothing answers there: {why}: {}", unix_target::remedy(path)),
            }),
        }
    }

    fn unresolved(&self, reason: String) -> TargetError {
        TargetError::Unresolved { host: self.host.clone(), reason }
    }

    /// Returns the address to load: [resolves](Self::resolve) the name, and takes the first that accepts a connection. One
    /// connection is opened and closed for this.
    pub fn locate(&self, target_is_mine: bool, timeout: Duration) -> Result<SocketAddr, TargetError> {
        let mut silent = None;
        for address in self.resolve(target_is_mine)? {
            match TcpStream::connect_timeout(&address, timeout) {
                Ok(_) => return Ok(address),
                Err(error) => {
                    let there = other_loopback(address);
                    let remedy = there.map_or_else(
                        || "start the server, or check host and port".to_owned(),
                        |other| format!("{other} answers, so give that address"),
                    );
                    silent = Some(TargetError::Silent { address, reason: error.kind().to_string(), remedy });
                }
            }
        }
        Err(silent.unwrap_or_else(|| self.unresolved("no addresses".to_owned())))
    }
}

/// A host and a port: `127.0.0.1:8443`, `[::1]:8443`, `box.local:443`.
pub fn parse_endpoint(text: &str) -> Result<(String, u16), UnitError> {
    let endpoint = text.rsplit_once(':').and_then(|(host, port)| {
        let is_whole = !host.is_empty() && (!host.contains(':') || host.starts_with('['));
        Some((host, port.parse::<u16>().ok().filter(|port| *port > 0)?)).filter(|_| is_whole)
    });
    let (host, port) = endpoint
        .ok_or_else(|| UnitError::new(text, "a host and a port, such as 127.0.0.1:8443 or [::1]:8443"))?;
    Ok((host.trim_matches(['[', ']']).to_owned(), port))
}

/// The path and query of a URL in which values change, as they are written.
fn template_of(text: &str) -> Option<&str> {
    let after_scheme = text.split_once("://")?.1;
    let path = &after_scheme[after_scheme.find(['/', '?'])?..];
    path.contains("{{").then_some(path).filter(|path| path.starts_with('/'))
}

/// A name in a URL, with the characters that a URL writes as percent and two digits (RFC 3986, section 2.1).
fn decoded(part: &str) -> Result<String, TargetError> {
    let name = percent_decode_str(part).decode_utf8();
    name.map(Cow::into_owned).map_err(|_| TargetError::NotUtf8 { part: part.to_owned() })
}

fn known_schemes() -> String {
    let schemes = PROTOCOLS.iter().flat_map(|protocol| protocol.schemes());
    list_of(&schemes.map(UrlScheme::name).collect::<Vec<_>>())
}

/// How a user logs in with this protocol.
fn instead_of_credentials(protocol: RegisteredProtocol) -> String {
    let takes_user = protocol.url_path() == UrlPath::Account || protocol.takes_user();
    match (protocol.password_variable(), protocol.url_path()) {
        (Some(variable), _) if takes_user => {
            format!("give the user in the URL, and the password in ${variable}")
        }
        (Some(variable), _) => format!("give the password in ${variable}"),
        (None, UrlPath::Request) => {
            "send an Authorization header, with --header or in the file of --ops".to_owned()
        }
        (None, _) => "leave it out, this protocol has no login here".to_owned(),
    }
}

/// The URL that is meant by `localhost:8080`, if the text looks like a host: the scheme is that of the port, or HTTP.
fn with_scheme(text: &str) -> Option<String> {
    if text.contains("://") || text.contains('@') {
        return None;
    }
    let url = Url::parse(&format!("http://{text}")).ok()?;
    let port = url.port_or_known_default()?;
    let has_port = url.port().is_some() || text.contains(":80");
    let host = url.host_str()?;
    let looks_like_a_host = has_port || host == "localhost" || host.contains('.') || host.starts_with('[');
    let of_port = PROTOCOLS.iter().flat_map(|protocol| protocol.schemes()).find(|scheme| scheme.port == port);
    let scheme = of_port.map_or("http", UrlScheme::name);
    looks_like_a_host.then(|| format!("{scheme}://{text}"))
}

/// Loopback, private (RFC 1918, RFC 4193), link-local or shared (RFC 6598): not public.
pub fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            let shared = a == 100 && (64..128).contains(&b);
            v4.is_loopback() || v4.is_private() || v4.is_link_local() || v4.is_unspecified() || shared
        }
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => is_private(IpAddr::V4(v4)),
            None => {
                v6.is_loopback() || v6.is_unspecified() || v6.is_unique_local() || v6.is_unicast_link_local()
            }
        },
    }
}

#[cfg(test)]
mod tests;
