//! Makes the answers of a login from a password; the caller knows their order. The crate postgres-protocol has the
//! cryptography.

use std::fmt;

use postgres_protocol::authentication::{
    md5_hash,
    sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256},
};

/// The only supported mechanism.
pub const MECHANISM: &str = SCRAM_SHA_256;

/// The answer to [`Authentication::Md5`](super::Authentication::Md5).
pub fn md5(user: &str, password: &[u8], salt: [u8; 4]) -> String {
    md5_hash(user.as_bytes(), password, salt)
}

/// Whether the server's list of mechanisms contains [`MECHANISM`].
pub fn offers_scram(mechanisms: &[u8]) -> bool {
    mechanisms.split(|&byte| byte == 0).any(|name| name == MECHANISM.as_bytes())
}

/// Why a SCRAM login fails: the server does not prove that it knows the password, or its message is malformed.
#[derive(Debug, thiserror::Error)]
#[error("the server's part of SCRAM-SHA-256 is wrong: {0}")]
pub struct ScramError(String);

/// One SCRAM-SHA-256 login (RFC 5802, RFC 7677), without channel binding.
pub struct Scram(ScramSha256);

impl Scram {
    /// Begins a login; the first message is ready.
    pub fn new(password: &[u8]) -> Self {
        Self(ScramSha256::new(password, ChannelBinding::unsupported()))
    }

    /// The message to send next.
    pub fn message(&self) -> &[u8] {
        self.0.message()
    }

    /// Takes the server's next message; [`Self::message`] then answers it.
    pub fn answer(&mut self, message: &[u8]) -> Result<(), ScramError> {
        self.0.update(message).map_err(|e| ScramError(e.to_string()))
    }

    /// Takes the server's last message, which proves that the server knows the password.
    pub fn verify(&mut self, message: &[u8]) -> Result<(), ScramError> {
        self.0.finish(message).map_err(|e| ScramError(e.to_string()))
    }
}

impl fmt::Debug for Scram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scram")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_does_not_know_the_password_is_refused() {
        assert!(offers_scram(b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0") && !offers_scram(b"OTHER\0\0"));
        let mut scram = Scram::new(b"open sesame");
        let first = String::from_utf8_lossy(scram.message()).into_owned();
        let nonce = first.split("r=").nth(1).expect("a nonce");
        let message = format!("r={nonce}server,s=QSXCR+Q6sek8bf92,i=4096");
        scram.answer(message.as_bytes()).expect("a valid message");
        assert!(scram.message().starts_with(b"c="));
        assert!(scram.verify(b"v=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=").is_err());
    }

    #[test]
    fn md5_follows_the_manual() {
        // md5(md5(password || user) || salt), computed with md5sum.
        assert_eq!(
            md5("md5_user", b"password", [0x2a, 0x3d, 0x8f, 0xe0]),
            "md562af4dd09bbb41884907a838a3233294"
        );
    }
}
