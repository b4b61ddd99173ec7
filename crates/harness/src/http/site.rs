//! What all requests have in common: the harness, the names of the server, the templates.

use std::sync::Arc;

use axum::http::{HeaderMap, header};

use super::render::Pages;
use crate::service::Harness;

/// The state of a request.
pub type Shared = Arc<Site>;

/// What all requests have in common.
#[derive(Debug)]
pub struct Site {
    /// What is done.
    pub harness: Harness,
    /// Under which names.
    pub names: ServerNames,
    /// What it looks like.
    pub pages: Pages,
}

/// The names of this server.
#[derive(Debug)]
pub struct ServerNames {
    /// `HOST:PORT`, as browsers send them.
    pub hosts: Vec<String>,
    /// The person who has started it.
    pub person: String,
    /// The name of the cookie. Cookies do not know ports, so it has the port: another server on this machine has another one.
    pub cookie: String,
}

impl ServerNames {
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
        let host = headers.get(header::HOST).and_then(|value| value.to_str().ok());
        host.is_some_and(|host| self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host)))
    }
}
