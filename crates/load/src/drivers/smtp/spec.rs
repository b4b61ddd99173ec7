//! What is sent, and in which sessions, as plain data. A plan records it, a TOML file holds it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use wire::smtp::request;

use super::super::OperationError;
use super::super::choice::Choice;
use super::message::MAX_MESSAGE_BYTES;
use crate::inputs::sizes::SizeDistribution;
#[cfg(doc)]
use crate::inputs::template::Template;

/// Most recipients of a message: servers must take a hundred (RFC 5321, 4.5.3.1.8), and take a thousand or so.
const MAX_RECIPIENTS: u64 = 1_000;

/// Whether sessions use TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartTls {
    /// In the clear, whatever the server offers.
    Never,
    /// Where the server offers it, as mail servers do among themselves (RFC 7435).
    #[default]
    Offered,
    /// A server that does not offer it is not spoken with.
    Required,
}

/// As they are written.
const STARTTLS: [(StartTls, &str); 3] =
    [(StartTls::Never, "never"), (StartTls::Offered, "offered"), (StartTls::Required, "required")];

impl FromStr for StartTls {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = STARTTLS.iter().find(|(_, name)| *name == text);
        found.map(|(when, _)| *when).ok_or_else(|| format!("{text:?} is none of never, offered and required"))
    }
}

/// Messages of a kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MailOperation {
    /// Its name in tables.
    #[serde(default = "message")]
    pub name: String,
    /// Its share of the mix, relative to the others.
    #[serde(default = "one")]
    pub weight: f64,
    /// Sizes of messages, header and body, to within a byte. One that is smaller than its header has no body.
    pub size: SizeDistribution,
    /// Numbers of recipients.
    #[serde(default = "one_recipient")]
    pub recipients: SizeDistribution,
    /// Commands are sent at once where the server offers that (RFC 2920), and not one by one.
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

/// Sessions and the messages in them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmtpSpec {
    /// What the client calls itself.
    #[serde(default = "default_client")]
    pub client: String,
    /// The sender's address.
    #[serde(default = "default_sender")]
    pub sender: String,
    /// The recipients' addresses, a [`Template`].
    #[serde(default = "default_recipient")]
    pub recipient: String,
    /// Messages before `QUIT`; 0 is without end.
    #[serde(default = "default_messages")]
    pub messages_per_session: u32,
    /// The answer to `QUIT` is waited for, as RFC 5321, 4.1.1.10 would have it and mail servers among themselves do
    /// not, who send `QUIT` and close: Postfix's `smtp_skip_quit_response`, and Exim's wait of 200 ms for a client that closes first.
    #[serde(default = "yes")]
    pub awaits_quit: bool,
    /// Whether sessions use TLS.
    #[serde(default)]
    pub starttls: StartTls,
    /// Kinds of messages.
    pub mix: Vec<MailOperation>,
}

/// What the client calls itself if nothing is said: an address, for which no server looks up a name.
pub fn default_client() -> String {
    "[127.0.0.1]".to_owned()
}

/// The sender if nothing is said, in a domain that is nobody's (RFC 2606).
pub fn default_sender() -> String {
    "sender@client.example".to_owned()
}

/// The recipients if nothing is said: of a thousand, likewise.
pub fn default_recipient() -> String {
    "user{{ uniform(1, 1000) }}@mx.example".to_owned()
}

/// Most sessions between mail servers carry one message.
pub fn default_messages() -> u32 {
    1
}

impl SmtpSpec {
    /// Refuses what cannot be carried out; gives what draws from the mix.
    pub(super) fn check(&self) -> Result<Choice, OperationError> {
        let refused = |what: &str, why: &dyn fmt::Display| OperationError(format!("{what}: {why}"));
        let out = &mut Vec::new();
        request::ehlo(out, &self.client).map_err(|e| refused("client", &e))?;
        request::mail(out, &self.sender, None).map_err(|e| refused("sender", &e))?;
        for MailOperation { name, size, recipients, .. } in &self.mix {
            if size.max() > MAX_MESSAGE_BYTES {
                return Err(refused(name, &format!("size: at most {} MiB", MAX_MESSAGE_BYTES >> 20)));
            }
            if recipients.min() == 0 || recipients.max() > MAX_RECIPIENTS {
                return Err(refused(name, &format!("recipients: from 1 to {MAX_RECIPIENTS}")));
            }
        }
        let weights: Vec<f64> = self.mix.iter().map(|operation| operation.weight).collect();
        Choice::new(&weights)
    }
}
