//! Makes the answers of a login from a password. The crates sha1 and sha2 have the hashes.

use sha1::{Digest, Sha1};
use sha2::Sha256;

/// The plugin for passwords of MariaDB, and of MySQL before 8.0.
pub const NATIVE: &str = "mysql_native_password";
/// MySQL's plugin since 8.0.
pub const CACHING_SHA2: &str = "caching_sha2_password";

/// The server's message, of `caching_sha2_password`, that the hash is not in its cache. The server asks for the password
/// itself, which may only be sent over an encrypted connection.
pub const FULL_LOGIN_REQUIRED: &[u8] = &[4];

/// The answer for a plugin; none if the plugin is not supported. Without a password the answer is empty.
pub fn answer(plugin: &[u8], password: &[u8], nonce: &[u8]) -> Option<Vec<u8>> {
    let is_native = plugin == NATIVE.as_bytes();
    if !is_native && plugin != CACHING_SHA2.as_bytes() {
        return None;
    }
    if password.is_empty() {
        return Some(Vec::new());
    }
    Some(if is_native { native(password, nonce) } else { caching_sha2(password, nonce) })
}

/// `SHA1(password) ^ SHA1(nonce + SHA1(SHA1(password)))`
fn native(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    let once = Sha1::digest(password);
    let mask = Sha1::new().chain_update(nonce).chain_update(Sha1::digest(once)).finalize();
    xor(&once, &mask)
}

/// `SHA256(password) ^ SHA256(SHA256(SHA256(password)) + nonce)`
fn caching_sha2(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    let once = Sha256::digest(password);
    let mask = Sha256::new().chain_update(Sha256::digest(once)).chain_update(nonce).finalize();
    xor(&once, &mask)
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values computed with Python's hashlib from the formulas of the manual.
    #[test]
    fn answers_follow_the_manual() {
        let nonce = b"abcdefghijklmnopqrst";
        let of = |plugin: &str| answer(plugin.as_bytes(), b"open sesame", nonce).expect("a known plugin");
        assert_eq!(
            of(NATIVE),
            [
                0xd9, 0xbb, 0x61, 0x33, 0x85, 0x8d, 0x07, 0x81, 0xc3, 0x88, 0xa0, 0x16, 0x38, 0x8c, 0x49,
                0x65, 0x67, 0x28, 0xe6, 0xd3
            ]
        );
        assert_eq!(
            of(CACHING_SHA2),
            [
                0x2a, 0x70, 0x9a, 0x26, 0x1b, 0x48, 0x3d, 0xab, 0x77, 0x1a, 0x9c, 0xf1, 0x74, 0x6c, 0xb2,
                0x37, 0x37, 0xf1, 0x0f, 0x61, 0x5a, 0xdc, 0xed, 0x0f, 0x21, 0xa4, 0xf5, 0x20, 0x43, 0x20,
                0x10, 0xa1
            ]
        );
    }

    #[test]
    fn no_password_gives_an_empty_answer_and_an_unknown_plugin_none() {
        assert_eq!(answer(b"mysql_native_password", b"", b"x"), Some(Vec::new()));
        assert_eq!(answer(b"unix_socket", b"x", b"x"), None);
    }
}
