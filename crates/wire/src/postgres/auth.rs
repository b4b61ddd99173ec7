//! The answers of a login: what is made of a password, without the order in which it is asked for. The
//! cryptography is that of the crate postgres-protocol.

use std::fmt;

use postgres_protocol::authentication::{
    md5_hash,
    sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256},
};

/// The one mechanism that is spoken here.
pub const MECHANISM: &str = SCRAM_SHA_256;

/// The answer to [`Authentication::Md5`](super::Authentication::Md5).
pub fn md5(user: &str, password: &[u8], salt: [u8; 4]) -> String {
    md5_hash(user.as_bytes(), password, salt)
}

/// Whether the server's list of mechanisms holds ours.
pub fn offers_scram(mechanisms: &[u8]) -> bool {
    mechanisms.split(|&byte| byte == 0).any(|name| name == MECHANISM.as_bytes())
}

/// Why a SCRAM login cannot go on: the server does not prove that it knows the password, or its word is none.
#[derive(Debug, thiserror::Error)]
#[error("the server's side of SCRAM-SHA-256 does not hold: {0}")]
pub struct ScramError(String);

/// One SCRAM-SHA-256 login (RFC 5802, RFC 7677), without channel binding.
pub struct Scram(ScramSha256);

impl Scram {
    /// Begins; the first word to send is there at once.
    pub fn new(password: &[u8]) -> Self {
        Self(ScramSha256::new(password, ChannelBinding::unsupported()))
    }

    /// What is to be sent next.
    pub fn message(&self) -> &[u8] {
        self.0.message()
    }

    /// Takes the server's next word; [`Self::word`] then answers it.
    pub fn answer(&mut self, word: &[u8]) -> Result<(), ScramError> {
        self.0.update(word).map_err(|e| ScramError(e.to_string()))
    }

    /// Takes the server's last word, which proves that it knows the password.
    pub fn verify(&mut self, word: &[u8]) -> Result<(), ScramError> {
        self.0.finish(word).map_err(|e| ScramError(e.to_string()))
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
    fn a_server_that_does_not_know_the_password_is_found_out() {
        assert!(offers_scram(b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0") && !offers_scram(b"OTHER\0\0"));
        let mut scram = Scram::new(b"open sesame");
        let first = String::from_utf8_lossy(scram.message()).into_owned();
        let nonce = first.split("r=").nth(1).expect("a nonce");
        let word = format!("r={nonce}server,s=QSXCR+Q6sek8bf92,i=4096");
        scram.answer(word.as_bytes()).expect("a fitting word");
        assert!(scram.message().starts_with(b"c="));
        assert!(scram.verify(b"v=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=").is_err());
    }

    #[test]
    fn md5_is_as_the_manual_says() {
        // md5(md5(password || user) || salt), computed with md5sum.
        assert_eq!(
            md5("md5_user", b"password", [0x2a, 0x3d, 0x8f, 0xe0]),
            "md562af4dd09bbb41884907a838a3233294"
        );
    }
}
