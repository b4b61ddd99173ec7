//! JSON over HTTP: one GET, limited in size and time, without redirects and proxies.

use std::time::Duration;

use serde_json::Value;
use ureq::Agent;
use url::Url;

use super::authorization;
use super::tls::ServerTrust;
use crate::error::{PowerError, excerpt};
use crate::secret::{Login, Secret};

/// A plug answers within 100 ms, a BMC within a second or two.
const TIMEOUT: Duration = Duration::from_secs(4);

/// A BMC's list of sensors has some tens of kB.
const MOST_BYTES: u64 = 512 * 1024;

/// When a login is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoginUse {
    /// With each request, as HTTP Basic: a BMC by https.
    Always,
    /// When the device asks for it, in the form that it asks for.
    WhenAsked,
}

/// A device that answers in JSON.
#[derive(Debug)]
pub(crate) struct HttpClient {
    agent: Agent,
    /// Without a slash at its end, and without a password.
    base: String,
    login: Option<(Login, LoginUse)>,
}

impl HttpClient {
    /// A client for the paths below this address. The error says what is wrong with the certificates.
    pub(crate) fn new(
        base: &Url,
        login: Option<(Login, LoginUse)>,
        trust: &ServerTrust,
    ) -> Result<Self, String> {
        let config = Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .proxy(None)
            .user_agent("showdown");
        // Only https needs the certificates, and reading them takes a moment.
        let agent = match base.scheme() {
            "https" => config.tls_config(trust.config()?).build().into(),
            _ => config.build().into(),
        };
        Ok(Self { agent, base: base.as_str().trim_end_matches('/').to_owned(), login })
    }

    /// The address of the device.
    pub(super) fn address(&self) -> &str {
        &self.base
    }

    /// The JSON at this path, which begins with a slash.
    pub(super) fn get(&self, path: &str) -> Result<Value, PowerError> {
        self.get_hidden(path, path)
    }

    /// The same with a path that contains a secret; `shown` is the path for errors.
    pub(super) fn get_hidden(&self, path: &str, shown: &str) -> Result<Value, PowerError> {
        let address = format!("{}{shown}", self.base);
        let send = |authorization: Option<Secret>| {
            let url = format!("{}{path}", self.base);
            let mut request = self.agent.get(url).header("Accept", "application/json");
            if let Some(authorization) = &authorization {
                request = request.header("Authorization", authorization.expose());
            }
            request.call().map_err(|error| failed(&address, &error))
        };
        let mut response = match &self.login {
            Some((login, LoginUse::Always)) => send(Some(authorization::basic(login)))?,
            _ => send(None)?,
        };
        if let (401, Some((login, LoginUse::WhenAsked))) = (response.status().as_u16(), &self.login) {
            let challenges = response.headers().get_all("www-authenticate");
            let challenges: Vec<&str> = challenges.iter().filter_map(|value| value.to_str().ok()).collect();
            if let Some(answer) = authorization::answer(&challenges, login, path) {
                response = send(Some(answer))?;
            }
        }
        let status = response.status();
        let answer = |why: String| PowerError::Answer { address: address.clone(), why };
        match status.as_u16() {
            200 => {}
            401 | 403 => {
                let why = format!("status {}", status.as_u16());
                return Err(PowerError::Refused { address, why, keys: "user and password_env" });
            }
            404 => return Err(PowerError::NotThere { address }),
            code if status.is_redirection() => {
                let to = response.headers().get("location").and_then(|to| to.to_str().ok());
                // A secret may be in the query.
                let to = to.map_or("nowhere", |to| to.split('?').next().unwrap_or_default());
                let to = excerpt(to);
                return Err(answer(format!("status {code} leads to {to}, and redirects are not followed")));
            }
            code => return Err(answer(format!("status {code}"))),
        }
        let body = response.body_mut().with_config().limit(MOST_BYTES).read_to_vec();
        let body = body.map_err(|error| failed(&address, &error))?;
        serde_json::from_slice(&body).map_err(|error| answer(format!("it is not JSON ({error})")))
    }
}

/// The line of an error of the client.
fn failed(address: &str, error: &ureq::Error) -> PowerError {
    let address = address.to_owned();
    match error {
        ureq::Error::Timeout(_) => {
            PowerError::NoAnswer { address, why: format!("nothing complete within {} s", TIMEOUT.as_secs()) }
        }
        ureq::Error::BodyExceedsLimit(_) => {
            PowerError::Answer { address, why: format!("it is larger than {} kB", MOST_BYTES / 1024) }
        }
        ureq::Error::Protocol(error) => {
            PowerError::Answer { address, why: format!("it is not HTTP ({error})") }
        }
        error => match error.to_string() {
            text if text.contains("ertificate") => PowerError::Untrusted { address, why: text },
            why => PowerError::NoAnswer { address, why },
        },
    }
}
