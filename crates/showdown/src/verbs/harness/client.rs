//! Calls of the harness's API. The server of a directory of runs, and the secret of its owner, are in a file there.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use queue::api::{FOLDER, Problem, SERVER_FILE, ServerFile, is_private};
use serde::Serialize;
use serde::de::DeserializeOwned;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::args::options::RunsDir;
use crate::exit::usage;

/// The longest wait for an answer.
const LONGEST_ANSWER: Duration = Duration::from_mins(1);

/// The longest answer: a queue of ten thousand entries has some megabytes.
const MOST_BYTES: u64 = 256 << 20;

/// Which server.
#[derive(clap::Args, Clone, Debug)]
pub struct ServerArgs {
    /// Ask this server, with the secret in the variable `SHOWDOWN_TOKEN` [default: the one of the directory of runs]
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,
    #[command(flatten)]
    pub runs: RunsDir,
}

/// A server, and the right to ask it.
pub struct HarnessClient {
    server: ServerFile,
    agent: ureq::Agent,
}

impl ServerArgs {
    /// The server.
    pub fn client(&self) -> anyhow::Result<HarnessClient> {
        let server = if let Some(url) = &self.server {
            let token = std::env::var("SHOWDOWN_TOKEN").map_err(|_| {
                usage("--server needs the secret of the server in the variable SHOWDOWN_TOKEN")
            })?;
            ServerFile { url: url.trim_end_matches('/').to_owned(), token }
        } else {
            let file = self.runs.runs.join(FOLDER).join(SERVER_FILE);
            let text = std::fs::read(&file).map_err(|_| {
                let runs = self.runs.runs.display();
                usage(format!(
                    "no harness serves {runs}: run `showdown serve` there, or pass --runs DIR or --server URL"
                ))
            })?;
            serde_json::from_slice(&text)?
        };
        if !is_private(&server.url) {
            return Err(usage(format!(
                "{} has no TLS, so everyone on the network could read the secret: use https://, or reach the server with ssh -L",
                server.url
            )));
        }
        let mut config = ureq::Agent::config_builder().http_status_as_error(false);
        if server.url.starts_with("https://") {
            config = config.tls_config(trust());
        }
        Ok(HarnessClient { server, agent: config.build().into() })
    }
}

/// Trusts the authorities of this system, or those of the file in `SSL_CERT_FILE`.
fn trust() -> TlsConfig {
    let mut certificates = Vec::new();
    for der in rustls_native_certs::load_native_certs().certs {
        certificates.push(Certificate::from_der(&der).to_owned());
    }
    TlsConfig::builder()
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .root_certs(RootCerts::Specific(Arc::new(certificates)))
        .build()
}

impl HarnessClient {
    /// The URL of a page.
    pub fn page(&self, path: &str) -> String {
        format!("{}{path}", self.server.url)
    }

    fn api(&self, path: &str) -> String {
        format!("{}/api/v1/{path}", self.server.url)
    }

    fn secret(&self) -> String {
        format!("Bearer {}", self.server.token)
    }

    /// Asks for JSON.
    pub fn get<A: DeserializeOwned>(&self, path: &str) -> anyhow::Result<A> {
        let request = self.agent.get(self.api(path)).header("authorization", self.secret());
        let request = request.config().timeout_global(Some(LONGEST_ANSWER)).build();
        self.json(request.call())
    }

    /// Sends JSON, and gets JSON.
    pub fn post<T: Serialize, A: DeserializeOwned>(&self, path: &str, body: &T) -> anyhow::Result<A> {
        let request = self.agent.post(self.api(path)).header("authorization", self.secret());
        let request = request.header("content-type", "application/json");
        let request = request.config().timeout_global(Some(LONGEST_ANSWER)).build();
        self.json(request.send(serde_json::to_string(body)?))
    }

    /// The bytes of an answer, as they come; the answer begins within this time, where there is a limit.
    pub fn stream(
        &self,
        path: &str,
        last: Option<&str>,
        begins_within: Option<Duration>,
    ) -> anyhow::Result<impl Read + Send + use<>> {
        let mut request = self.agent.get(self.api(path)).header("authorization", self.secret());
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let limits = request.config().timeout_connect(Some(LONGEST_ANSWER));
        let request = limits.timeout_recv_response(begins_within).build();
        let answer = self.checked(request.call())?;
        Ok(answer.into_body().into_reader())
    }

    fn json<A: DeserializeOwned>(
        &self,
        answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    ) -> anyhow::Result<A> {
        let mut answer = self.checked(answer)?;
        let text = answer.body_mut().with_config().limit(MOST_BYTES).read_to_string()?;
        Ok(serde_json::from_str(&text)?)
    }

    /// An answer that is none has a line that says why.
    fn checked(
        &self,
        answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    ) -> anyhow::Result<ureq::http::Response<ureq::Body>> {
        let mut answer = answer.map_err(|error| {
            anyhow::anyhow!(
                "the harness at {} does not answer: {error}: run `showdown serve`",
                self.server.url
            )
        })?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let text = answer.body_mut().read_to_string().unwrap_or_default();
        let why = serde_json::from_str(&text).map_or(text, |problem: Problem| problem.error);
        Err(anyhow::anyhow!("{why}"))
    }
}
