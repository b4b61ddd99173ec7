//! Secrets: 256 random bits, of which only the SHA-256 is kept. And the time of day, which only dates what is shown.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};

/// A new secret, as text for a URL or a header.
pub fn new_secret() -> String {
    hex(&rand::random::<[u8; 32]>())
}

/// What is kept of a secret.
pub fn digest(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// The SHA-256 of a text in hexadecimal.
pub fn hex_digest(text: &str) -> String {
    hex(&digest(text))
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Milliseconds since 1970.
pub fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}
