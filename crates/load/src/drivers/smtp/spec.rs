//! Messages and sessions as plain data. Plans record it, and users write it in TOML files.

use std::fmt::Display;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use wire::smtp::request;

use crate::drivers::choice::WeightedChoice;
use crate::drivers::error::OperationError;
use crate::inputs::sizes::SizeDistribution;
#[cfg(doc)]
use crate::inputs::template::Template;

/// Most servers refuse larger messages.
const MAX_MESSAGE_BYTES: u64 = 64 << 20;

/// Most recipients of a message. Servers must accept a hundred (RFC 5321, 4.5.3.1.8); most accept about a thousand.
const MAX_RECIPIENTS: u64 = 1_000;

/// Whether sessions use TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartTls {
    /// Never, whatever the server offers.
    Never,
    /// Where the server offers it, as mail servers do among themselves (RFC 7435).
    #[default]
    Offered,
    /// Always: a server that does not offer it is an error.
    Required,
}

/// Their names in files and on the command line.
const STARTTLS: [(StartTls, &str); 3] =
    [(StartTls::Never, "never"), (StartTls::Offered, "offered"), (StartTls::Required, "required")];

impl FromStr for StartTls {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = STARTTLS.iter().find(|(_, name)| *name == text);
        found.map(|(when, _)| *when).ok_or("expected never, offered or required")
    }
}

/// One kind of message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MailOperation {
    /// Its name in tables.
    #[serde(default = "message")]
    pub name: String,
    /// Its share of the mix, relative to the others.
    #[serde(default = "one")]
    pub weight: f64,
    /// Sizes of messages, header and body, to within a byte. A message smaller than its header has no body.
    pub size: SizeDistribution,
    /// Numbers of recipients.
    #[serde(default = "one_recipient")]
    pub recipients: SizeDistribution,
    /// Whether commands are sent together where the server offers it (RFC 2920), and not one by one.
    #[serde(default = "yes")]
    pub pipelining: bool,
}

fn message() -> String {
    "message".to_owned()
}

fn one() -> f64 {
    1.0
}

fn one_recipient() -> SizeDistribution {
    SizeDistribution::fixed(1)
}

fn yes() -> bool {
    true
}

/// How sessions go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SmtpSessions {
    /// The client's name in `EHLO`.
    pub client: String,
    /// The sender's address.
    pub sender: String,
    /// The recipients' addresses, a [`Template`].
    pub recipient: String,
    /// Messages before `QUIT`; 0 means without limit.
    pub messages_per_session: u32,
    /// Whether the client waits for the answer to `QUIT`, as RFC 5321, 4.1.1.10 demands. Mail servers among themselves
    /// send `QUIT` and close: see Postfix's `smtp_skip_quit_response`, and Exim's wait of 200 ms for a client that
    /// closes first.
    pub awaits_quit: bool,
    /// Whether sessions use TLS.
    pub starttls: StartTls,
}

impl Default for SmtpSessions {
    fn default() -> Self {
        Self {
            // An address: servers look up no name for it.
            client: "[127.0.0.1]".to_owned(),
            // Reserved domains (RFC 2606).
            sender: "sender@client.example".to_owned(),
            recipient: "user{{ uniform(1, 1000) }}@mx.example".to_owned(),
            // Most sessions between mail servers carry one message.
            messages_per_session: 1,
            awaits_quit: true,
            starttls: StartTls::default(),
        }
    }
}

/// Sessions and the messages in them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SmtpSpec {
    /// How sessions go.
    #[serde(flatten)]
    pub sessions: SmtpSessions,
    /// Kinds of messages.
    pub mix: Vec<MailOperation>,
}

impl SmtpSpec {
    /// Checks everything that a user may have written, and returns what draws from the mix.
    pub(super) fn check(&self) -> Result<WeightedChoice, OperationError> {
        let refused = |what: &str, why: &dyn Display| OperationError::about(what, why);
        let out = &mut Vec::new();
        for (name, text) in [("client", &self.sessions.client), ("sender", &self.sessions.sender)] {
            if text.contains("{{") {
                return Err(refused(name, &format!("{text:?} is no template: only `recipient` is one")));
            }
        }
        request::ehlo(out, &self.sessions.client).map_err(|e| refused("client", &e))?;
        request::mail(out, &self.sessions.sender, None).map_err(|e| refused("sender", &e))?;
        for MailOperation { name, size, recipients, .. } in &self.mix {
            if size.max() > MAX_MESSAGE_BYTES {
                return Err(refused(name, &format!("size: at most {} MiB", MAX_MESSAGE_BYTES >> 20)));
            }
            if recipients.min() == 0 || recipients.max() > MAX_RECIPIENTS {
                return Err(refused(name, &format!("recipients: from 1 to {MAX_RECIPIENTS}")));
            }
        }
        let weights: Vec<f64> = self.mix.iter().map(|operation| operation.weight).collect();
        WeightedChoice::new(&weights)
    }
}
