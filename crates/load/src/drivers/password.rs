//! Where the password of a load is, and who may read it on its way. A spec is recorded with the results, so it holds no
//! password but its place: each load process reads it there.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::error::OperationError;
use super::options::DriverOption;

/// Whether a password may go over a network in a form that others can read.
pub const ALLOW_CLEARTEXT: DriverOption = DriverOption::switch(
    "allow-cleartext-password",
    "Passwords",
    "Send the password also where others can read or guess it: unencrypted to a server that is not on loopback, or to a \
     PostgreSQL server that asks for it unencrypted or as MD5",
);

/// Where a password is. It is read when a driver is made, and never recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PasswordSource {
    /// The first line of this file.
    File(PathBuf),
    /// This variable of the environment.
    Environment(String),
}

impl PasswordSource {
    /// Reads the password.
    pub(super) fn read(&self) -> Result<Vec<u8>, OperationError> {
        let (password, origin) = match self {
            Self::File(path) => {
                let text = std::fs::read_to_string(path).map_err(|e| {
                    OperationError(format!("the password in {} cannot be read: {e}", path.display()))
                })?;
                (text.lines().next().unwrap_or_default().to_owned(), path.display().to_string())
            }
            Self::Environment(name) => (std::env::var(name).unwrap_or_default(), format!("${name}")),
        };
        if password.is_empty() {
            return Err(OperationError(format!("there is no password in {origin}: put it there")));
        }
        Ok(password.into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_password_is_an_error() {
        let from = |source: PasswordSource| source.read().expect_err("no password").to_string();
        assert!(from(PasswordSource::File("/nowhere".into())).contains("/nowhere cannot be read"));
        let unset = from(PasswordSource::Environment("SHOWDOWN_NO_SUCH".to_owned()));
        assert_eq!(unset, "there is no password in $SHOWDOWN_NO_SUCH: put it there");
    }

    #[test]
    fn the_password_is_the_first_line_of_its_file() -> Result<(), Box<dyn std::error::Error>> {
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), "open sesame\nelse\n")?;
        assert_eq!(PasswordSource::File(file.path().to_owned()).read()?, b"open sesame");
        Ok(())
    }
}
