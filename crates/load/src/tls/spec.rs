//! TLS of a load as plain data: which certificates are accepted, and which the client has.

use std::fmt;

use serde::{Deserialize, Serialize};

/// TLS on the connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsSpec {
    /// The server's name: sent as SNI, and checked against the certificate.
    pub server_name: String,
    /// May a connection resume an earlier one's session?
    pub resumption: bool,
    /// Which certificates are accepted.
    pub trust: Trust,
    /// Which full handshakes prove that the server has its certificate's key.
    pub proof: KeyProof,
    /// The client's own certificate, if it has one.
    #[serde(default)]
    pub identity: Option<ClientIdentity>,
}

/// A certificate of the client and its key, for servers that ask for one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientIdentity {
    /// The certificate, with those of its issuers if the server needs them.
    pub certificate: PemSource,
    /// Its key.
    pub key: PemSource,
}

/// Where PEM text is.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PemSource {
    /// In this file.
    File(String),
    /// Here, for other machines.
    Text {
        /// The file that it is from.
        from: String,
        /// The text.
        text: String,
    },
}

impl PemSource {
    /// The file.
    pub fn path(&self) -> &str {
        match self {
            Self::File(path) | Self::Text { from: path, .. } => path,
        }
    }
}

/// Without the text, which may be a key.
impl fmt::Debug for PemSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PemSource").field(&self.path()).finish()
    }
}

/// Which full handshakes prove that the server has its certificate's key: the client verifies a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyProof {
    /// Each.
    Always,
    /// The first with a certificate, for each worker. For a server that this program started, and where anyone is
    /// trusted: there the proof protects nothing. In every handshake it costs a client that only does handshakes 10 % of
    /// its CPU with RSA and 17 % with ECDSA, where it costs more than the server's signature. The client would be the
    /// limit.
    Once,
}

/// Which certificates are accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// All: the address identifies the server under test. Summaries mention this.
    Anyone,
    /// Those that the system's authorities signed.
    System,
    /// Those that the authorities in this PEM file signed.
    File(String),
    /// The same for other machines, with what is in the file.
    Text {
        /// The file.
        from: String,
        /// The PEM text.
        text: String,
    },
}
