//! Calls of the server. The address and the secret of the server of this machine are in a file that is read again when it does not
//! answer: a server that was started again has new ones.

use std::sync::Mutex;
use std::time::Duration;

use queue::api::{Problem, ServerFile};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::folder::HarnessFolder;
use crate::tls::trust_of_agent;

/// The longest call: work may be waited for.
const LONGEST_CALL: Duration = Duration::from_secs(40);

/// The longest upload: a link that went away is noticed.
const LONGEST_UPLOAD: Duration = Duration::from_hours(2);

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The server does not answer, or cannot just now.
    #[error("the server does not answer: {0}")]
    Unreachable(String),
    /// It refuses.
    #[error("{error}")]
    Refused {
        /// The status.
        status: u16,
        /// Why.
        error: String,
    },
}

/// Calls one server.
#[derive(Debug)]
pub struct Client {
    agent: ureq::Agent,
    server: Mutex<Option<ServerFile>>,
    folder: Option<HarnessFolder>,
}

impl Client {
    /// The client of this server, or of the one of this folder.
    pub fn new(server: Option<(String, String)>, folder: HarnessFolder) -> Self {
        let mut config =
            ureq::Agent::config_builder().timeout_global(Some(LONGEST_CALL)).http_status_as_error(false);
        if server.as_ref().is_some_and(|(url, _)| url.starts_with("https://")) {
            config = config.tls_config(trust_of_agent());
        }
        let folder = if server.is_some() { None } else { Some(folder) };
        let server = server.map(|(url, token)| ServerFile { url, token });
        Self { agent: config.build().into(), server: Mutex::new(server), folder }
    }

    /// The server, as it was found last.
    fn server(&self) -> Result<ServerFile, CallError> {
        let mut server = self.server.lock().expect("no thread panics with it");
        if let Some(folder) = &self.folder
            && let Some(found) = folder.server_of_controller()
        {
            *server = Some(found);
        }
        server.clone().ok_or_else(|| CallError::Unreachable("none has been started".to_owned()))
    }

    /// Sends JSON; returns the JSON of the answer, where it has some.
    pub fn post<T: Serialize, A: DeserializeOwned>(
        &self,
        path: &str,
        body: &T,
    ) -> Result<Option<A>, CallError> {
        self.post_within(path, body, LONGEST_CALL)
    }

    /// The same, for so long at most.
    pub fn post_within<T: Serialize, A: DeserializeOwned>(
        &self,
        path: &str,
        body: &T,
        longest: Duration,
    ) -> Result<Option<A>, CallError> {
        let ServerFile { url, token } = self.server()?;
        let request = self
            .agent
            .post(format!("{url}/api/v1/{path}"))
            .header("authorization", format!("Bearer {token}"));
        let request = request.config().timeout_global(Some(longest)).build();
        let body = serde_json::to_string(body).map_err(unreachable)?;
        let answer = request.header("content-type", "application/json").send(body).map_err(unreachable)?;
        let text = checked(answer)?;
        if text.is_empty() { Ok(None) } else { serde_json::from_str(&text).map(Some).map_err(unreachable) }
    }

    /// Sends a file, which may take long.
    pub fn put(&self, path: &str, file: &mut std::fs::File) -> Result<(), CallError> {
        let ServerFile { url, token } = self.server()?;
        let request =
            self.agent.put(format!("{url}/api/v1/{path}")).header("authorization", format!("Bearer {token}"));
        let request = request.config().timeout_global(Some(LONGEST_UPLOAD)).build();
        checked(request.send(ureq::SendBody::from_reader(file)).map_err(unreachable)?).map(drop)
    }
}

fn unreachable(error: impl std::fmt::Display) -> CallError {
    CallError::Unreachable(error.to_string())
}

/// The text of an answer. One that says that the server cannot just now is none.
fn checked(mut answer: ureq::http::Response<ureq::Body>) -> Result<String, CallError> {
    let status = answer.status().as_u16();
    let text = answer.body_mut().read_to_string().map_err(unreachable)?;
    match status {
        200..300 => Ok(text),
        // A server that was started again has another secret, which its file has by now.
        401 | 500.. => Err(CallError::Unreachable(format!("status {status}"))),
        _ => {
            let error = serde_json::from_str(&text).map_or(text, |problem: Problem| problem.error);
            Err(CallError::Refused { status, error })
        }
    }
}
