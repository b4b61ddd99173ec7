//! Where the load goes: parses a URL, resolves its host, and refuses public addresses without permission.

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use url::{Host, Url};

use crate::drivers::password::PasswordSource;
use crate::drivers::protocol::{ServerAccess, UrlPath, UrlScheme};
use crate::drivers::registry::{PROTOCOLS, RegisteredProtocol, list_of};

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
    #[error(
        "the URL contains a user name or password, which would be recorded: send an authorization header with --ops, or give the password in one of the variables {variables}"
    )]
    Credentials {
        /// The environment variables that are read for a password.
        variables: String,
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
    #[error("{host:?} does not resolve ({reason}): check the name, or give an address")]
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
    #[error("nothing answers at {address}: {reason}: start the server, or check host and port")]
    Silent {
        /// The address tried last.
        address: SocketAddr,
        /// The system's message.
        reason: String,
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
    /// The user to log in as: for databases only.
    pub user: Option<String>,
    /// Path and query, at least `/`.
    pub path_and_query: String,
}

impl Target {
    /// Parses a URL.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        let not_a_url = |reason: &str| {
            // What cannot be parsed may still have a password in it.
            let text = match text.rsplit_once('@') {
                Some((_, after)) => format!("…@{after}"),
                None => text.to_owned(),
            };
            TargetError::NotAUrl { text, reason: reason.to_owned() }
        };
        let url = Url::parse(text).map_err(|e| not_a_url(&e.to_string()))?;
        let Some((protocol, scheme)) = RegisteredProtocol::by_scheme(url.scheme()) else {
            return Err(TargetError::UnknownScheme {
                scheme: url.scheme().to_owned(),
                known: known_schemes(),
            });
        };
        let has_user = !url.username().is_empty();
        if (has_user && protocol.url_path() != UrlPath::Account) || url.password().is_some() {
            return Err(TargetError::Credentials { variables: password_variables() });
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
        let user = has_user.then(|| decoded(url.username())).transpose()?;
        Ok(Self { protocol, scheme, host, port: url.port().unwrap_or(scheme.port), user, path_and_query })
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
            _ => (String::new(), String::new()),
        };
        Ok(ServerAccess {
            authority: self.authority(),
            user,
            database,
            password: variable.map(|name| PasswordSource::Environment(name.to_owned())),
            may_send_cleartext: false,
            pipes: None,
            seed,
        })
    }

    /// Returns the addresses of the name, at least one. Refuses public addresses unless `target_is_mine`.
    pub fn resolve(&self, target_is_mine: bool) -> Result<Vec<SocketAddr>, TargetError> {
        let addresses: Vec<SocketAddr> = (self.host.as_str(), self.port)
            .to_socket_addrs()
            .map_err(|e| self.unresolved(e.to_string()))?
            .collect();
        if let Some(public) = addresses.iter().find(|a| !target_is_mine && !is_private(a.ip())) {
            return Err(TargetError::Public { host: self.host.clone(), address: public.ip() });
        }
        if addresses.is_empty() { Err(self.unresolved("no addresses".to_owned())) } else { Ok(addresses) }
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
                    silent = Some(TargetError::Silent { address, reason: error.kind().to_string() });
                }
            }
        }
        Err(silent.unwrap_or_else(|| self.unresolved("no addresses".to_owned())))
    }
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

fn password_variables() -> String {
    let variables = PROTOCOLS.iter().filter_map(|protocol| protocol.password_variable());
    list_of(&variables.map(|name| format!("${name}")).collect::<Vec<_>>())
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
mod tests {
    use super::*;

    #[test]
    fn a_url_is_parsed() {
        let target = Target::parse("http://[::1]:8080/a/b?c=d").expect("a URL");
        assert_eq!(target.authority(), "[::1]:8080");
        assert_eq!(target.path_and_query, "/a/b?c=d");
        let target = Target::parse("memcache://127.0.0.1").expect("a URL");
        assert_eq!((target.host.as_str(), target.port), ("127.0.0.1", 11_211));
        let target = Target::parse("postgres://me@127.0.0.1/db").expect("a URL");
        assert_eq!((target.user.as_deref(), target.port), (Some("me"), 5_432));
        assert_eq!(Target::parse("https://box.local/").expect("a URL").authority(), "box.local");
    }

    #[test]
    fn names_in_a_url_are_decoded() {
        let target = Target::parse("postgres://me%40home@127.0.0.1/my%20db").expect("a URL");
        let access = target.access(1).expect("an account");
        assert_eq!((access.user.as_str(), access.database.as_str()), ("me@home", "my db"));
        let refused = Target::parse("mysql://%ff@127.0.0.1/db").expect_err("no name").to_string();
        assert!(refused.contains("not UTF-8"), "{refused}");
    }

    #[test]
    fn a_url_that_cannot_be_loaded_is_refused_with_the_remedy() {
        let refused = |text: &str| Target::parse(text).expect_err("refused").to_string();
        assert!(refused("127.0.0.1:8080").contains("write one such as http://"));
        assert!(refused("gopher://127.0.0.1").contains("the schemes are"));
        assert!(refused("http://me:secret@127.0.0.1/").contains("user name or password"));
        assert!(!refused("http://me:secret@127.0.0.1/").contains("secret"));
        assert!(refused("mysql://me:secret@127.0.0.1/db").contains("$MYSQL_PWD"));
        for broken in ["http://me:secret@[::1", "me:secret@127.0.0.1", "http://me:secret@h:99999/"] {
            assert!(!refused(broken).contains("secret"), "{}", refused(broken));
        }
    }

    #[test]
    fn a_public_address_needs_a_permission() {
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.1.1",
            "::1",
            "fd00::1",
            "100.64.0.1",
        ] {
            assert!(is_private(private.parse().expect("an address")), "{private}");
        }
        for public in ["8.8.8.8", "172.32.0.1", "100.128.0.1", "2001:4860::1", "::ffff:8.8.8.8"] {
            assert!(!is_private(public.parse().expect("an address")), "{public}");
        }
        let public = Target::parse("http://8.8.8.8/").expect("a URL");
        let error = public.locate(false, Duration::from_millis(1)).expect_err("public").to_string();
        assert!(error.contains("--target-is-mine"), "{error}");
    }
}
