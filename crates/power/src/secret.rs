//! Passwords and communities: from a variable of the environment or a file, never from a command line, and never shown.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// No password is longer.
const MOST_BYTES: u64 = 4096;

/// A text that is not printed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the device.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

/// Where a secret is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SecretPlace {
    /// A variable of the environment.
    Variable(String),
    /// A file that only its owner may read.
    File(PathBuf),
}

impl SecretPlace {
    /// Reads the secret. The error says where it should be, and what to do.
    pub(crate) fn read(&self) -> Result<Secret, String> {
        match self {
            Self::Variable(name) => std::env::var(name)
                .map(Secret)
                .map_err(|_| format!("the variable {name} is not set: export it")),
            Self::File(path) => {
                let shown = path.display();
                let failed = |error: std::io::Error| format!("cannot read {shown}: {error}");
                let file = File::open(path).map_err(failed)?;
                let metadata = file.metadata().map_err(failed)?;
                if metadata.mode() & 0o077 != 0 {
                    return Err(format!("other users may read {shown}: chmod 600 it"));
                }
                let mut text = String::new();
                file.take(MOST_BYTES).read_to_string(&mut text).map_err(failed)?;
                Ok(Secret(text.trim_end_matches(['\r', '\n']).to_owned()))
            }
        }
    }
}

/// The user and the password of a device.
#[derive(Debug, Clone)]
pub(crate) struct Login {
    pub user: String,
    pub password: Secret,
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_secret_is_read_from_a_private_file_and_never_printed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("password");
        fs::write(&path, "a b\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let place = SecretPlace::File(path.clone());
        let secret = place.read().unwrap();
        assert_eq!((secret.expose(), format!("{secret:?}").as_str()), ("a b", "***"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(place.read().unwrap_err().contains("other users may read"));
        let missing = SecretPlace::Variable("SHOWDOWN_NO_SUCH_VARIABLE".to_owned()).read().unwrap_err();
        assert_eq!(missing, "the variable SHOWDOWN_NO_SUCH_VARIABLE is not set: export it");
    }
}
