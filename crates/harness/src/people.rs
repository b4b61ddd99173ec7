//! People, and who else asks: accounts with a role and a password, of which only a hash is kept that is slow to try (argon2).

use std::sync::LazyLock;

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash};
pub use queue::arguments::Role;

/// The shortest password and the longest one, characters. A long one costs the server the same.
const FEWEST_CHARACTERS: usize = 12;
const MOST_CHARACTERS: usize = 200;

/// The longest name of an account or a controller's secret, bytes.
const MOST_NAME_BYTES: usize = 60;

/// An account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The name with which a person logs in, and which is in entries, notes and the audit.
    pub name: String,
    /// What the person may do.
    pub role: Role,
    /// The hash of the password, as a PHC string.
    pub hash: String,
    /// When it was made: milliseconds since 1970.
    pub unix_ms: u64,
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// A person.
    Person(Person),
    /// A controller, by the name of its secret.
    Controller(String),
}

/// A person who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The name that is written down.
    pub name: String,
    /// What the person may do.
    pub role: Role,
    /// Whether there is an account behind it, not the start of the server.
    pub has_account: bool,
}

/// Why there is no account.
#[derive(Debug, thiserror::Error)]
pub enum PeopleError {
    /// The name has other characters.
    #[error("{0:?} is no name: use letters, digits and . _ - @, {MOST_NAME_BYTES} at most")]
    Name(String),
    /// The password is too short, or far too long.
    #[error("a password has {FEWEST_CHARACTERS} to {MOST_CHARACTERS} characters")]
    Password,
    /// The hash cannot be made.
    #[error("the password cannot be hashed: {0}")]
    Hash(String),
}

/// Checks the name of an account or of a controller's secret.
pub fn checked_name(name: &str) -> Result<&str, PeopleError> {
    let is_name = !name.is_empty()
        && name.len() <= MOST_NAME_BYTES
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "._-@".contains(letter));
    if is_name { Ok(name) } else { Err(PeopleError::Name(name.to_owned())) }
}

/// The hash of a new password, with a salt of its own. It takes some hundredths of a second, and 19 MiB.
pub fn hash(password: &str) -> Result<String, PeopleError> {
    let count = password.chars().count();
    if !(FEWEST_CHARACTERS..=MOST_CHARACTERS).contains(&count) {
        return Err(PeopleError::Password);
    }
    let salt = rand::random::<[u8; 16]>();
    let hash = Argon2::default().hash_password_with_salt(password.as_bytes(), &salt);
    hash.map(|hash| hash.to_string()).map_err(|error| PeopleError::Hash(error.to_string()))
}

/// The hash of a password that nobody knows.
static OF_NOBODY: LazyLock<String> =
    LazyLock::new(|| hash(&crate::secrets::new_secret()).expect("a secret is a good password"));

/// Whether a password has this hash. Without an account it takes as long, so that nobody learns which names there are.
pub fn is_password(password: &str, known: Option<&str>) -> bool {
    let compared = known.unwrap_or(&OF_NOBODY);
    if password.chars().count() > MOST_CHARACTERS {
        return false;
    }
    let Ok(compared) = PasswordHash::new(compared) else { return false };
    let is_right = Argon2::default().verify_password(password.as_bytes(), &compared).is_ok();
    is_right && known.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_known_by_its_hash_alone() -> Result<(), PeopleError> {
        let known = hash("correct horse battery")?;
        assert!(known.starts_with("$argon2id$") && !known.contains("horse"), "{known}");
        assert_ne!(known, hash("correct horse battery")?, "each has its own salt");
        assert!(is_password("correct horse battery", Some(&known)));
        assert!(!is_password("correct horse batterz", Some(&known)));
        assert!(!is_password("correct horse battery", None));
        assert!(!is_password("correct horse battery", Some("no hash")));
        assert!(matches!(hash("short"), Err(PeopleError::Password)));
        assert!(matches!(hash(&"x".repeat(201)), Err(PeopleError::Password)));
        Ok(())
    }

    #[test]
    fn a_name_is_one_word() {
        assert!(checked_name("ada.l@example-1").is_ok());
        for name in ["", "a b", "<b>", "a/b", "a\n", &"x".repeat(61)] {
            assert!(checked_name(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn roles_have_an_order_and_a_name() {
        for pair in Role::ALL.windows(2) {
            assert!(pair[0] < pair[1]);
        }
        for role in Role::ALL {
            assert_eq!(Role::from_name(role.name()), Some(role));
        }
    }
}
