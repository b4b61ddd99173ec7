//! What all requests have in common: the harness, the names of the server, the templates.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::http::{HeaderMap, header};

use super::logins::Logins;
use super::render::Pages;
use crate::service::Harness;

/// The state of a request.
pub type Shared = Arc<Site>;

/// What all requests have in common.
#[derive(Debug)]
pub struct Site {
    /// What is done.
    pub harness: Arc<Harness>,
    /// Under which names.
    pub names: ServerNames,
    /// What it looks like.
    pub pages: Pages,
    /// Who has tried to log in.
    pub logins: Logins,
}

/// How browsers reach a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// This machine alone.
    Http,
    /// Other machines, with TLS.
    Https,
}

impl Scheme {
    /// What an origin of it begins with.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Http => "http://",
            Self::Https => "https://",
        }
    }
}

/// The names of one listener of this server.
#[derive(Debug)]
pub struct ServerNames {
    /// `HOST:PORT`, as browsers send them; the first one is shown to people.
    pub hosts: Vec<String>,
    /// The port at which any address is one of the names, where the server listens on all of them: no name of somebody else is an address.
    pub any_address: Option<u16>,
    /// How it is reached.
    pub scheme: Scheme,
    /// The person who has started it.
    pub person: String,
    /// The name of the cookie. Cookies do not know ports, so it has the port: another server on this machine has another one.
    pub cookie: String,
}

impl ServerNames {
    /// Of a listener for this machine alone.
    pub fn of_loopback(address: SocketAddr, person: String) -> Self {
        let port = address.port();
        let mut hosts = vec![address.to_string()];
        for name in ["127.0.0.1", "localhost", "[::1]"] {
            hosts.push(format!("{name}:{port}"));
        }
        let cookie = format!("showdown-session-{port}");
        Self { hosts, any_address: None, scheme: Scheme::Http, person, cookie }
    }

    /// Of a listener with a certificate that has these names.
    pub fn with_tls(address: SocketAddr, certified: &[String], person: String) -> Self {
        let port = address.port();
        let mut hosts = Vec::new();
        for name in certified {
            // A browser leaves out the usual port.
            if port == 443 {
                hosts.push(name.clone());
            }
            hosts.push(format!("{name}:{port}"));
        }
        hosts.push(address.to_string());
        if port == 443 {
            hosts.push(address.ip().to_string());
        }
        let any_address = if address.ip().is_unspecified() { Some(port) } else { None };
        // A browser takes a cookie of this prefix from a page with TLS only, and for this very host.
        let cookie = format!("__Host-showdown-session-{port}");
        Self { hosts, any_address, scheme: Scheme::Https, person, cookie }
    }

    /// The header that gives a browser its session, for so many seconds.
    pub fn cookie(&self, secret: &str, seconds: u64) -> String {
        let secure = match self.scheme {
            Scheme::Http => "",
            Scheme::Https => "; Secure",
        };
        format!("{}={secret}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}", self.cookie)
    }

    /// The secret of the session of a browser.
    pub fn session<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        for pair in cookies.flat_map(|value| value.split(';')) {
            if let Some((name, value)) = pair.trim().split_once('=')
                && name == self.cookie
            {
                return Some(value);
            }
        }
        None
    }

    /// Whether a request was sent to one of the names.
    pub fn has_host(&self, headers: &HeaderMap) -> bool {
        let Some(host) = headers.get(header::HOST).and_then(|value| value.to_str().ok()) else {
            return false;
        };
        if self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host)) {
            return true;
        }
        let Some(port) = self.any_address else { return false };
        let address = host.parse::<SocketAddr>().is_ok_and(|address| address.port() == port);
        address || (port == 443 && host.parse::<IpAddr>().is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_host(names: &ServerNames, host: &'static str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, axum::http::HeaderValue::from_static(host));
        names.has_host(&headers)
    }

    #[test]
    fn a_request_under_another_name_is_known() {
        let address = "0.0.0.0:8443".parse().unwrap();
        let names = ServerNames::with_tls(address, &["lab.example".to_owned()], "ada".to_owned());
        for host in ["lab.example:8443", "LAB.example:8443", "10.0.0.5:8443", "[fd00::1]:8443"] {
            assert!(is_host(&names, host), "{host}");
        }
        for host in ["lab.example", "evil.example:8443", "10.0.0.5:80", "10.0.0.5.evil.example:8443"] {
            assert!(!is_host(&names, host), "{host}");
        }
        assert!(names.cookie.starts_with("__Host-") && names.cookie("x", 1).ends_with("; Secure"));
        let usual = ServerNames::with_tls(
            "10.0.0.5:443".parse().unwrap(),
            &["lab.example".to_owned()],
            String::new(),
        );
        assert!(
            is_host(&usual, "lab.example") && is_host(&usual, "10.0.0.5") && !is_host(&usual, "10.0.0.6")
        );
    }
}
