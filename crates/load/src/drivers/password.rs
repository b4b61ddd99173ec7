//! Where the password of a load is, and who may read it on its way. A spec is recorded with the results, so it holds no
//! password but its place: each load process reads it there.

use std::fmt;
use std::path::{Path, PathBuf};

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
    /// The password itself: for load processes on other machines, and never recorded.
    Sent(SentPassword),
}

/// A password on its way to a load process.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SentPassword(String);

impl fmt::Debug for SentPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl PasswordSource {
    /// The file that has it.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Environment(_) | Self::Sent(_) => None,
        }
    }

    /// The same for a load process that has not these files and this environment.
    pub(crate) fn sent(&self) -> Result<Self, OperationError> {
        let password = String::from_utf8(self.read()?);
        let password =
            password.map_err(|error| OperationError(format!("the password is no text: {error}")))?;
        Ok(Self::Sent(SentPassword(password)))
    }

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
            Self::Sent(SentPassword(password)) => (password.clone(), "the share of this process".to_owned()),
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
        let source = PasswordSource::File(file.path().to_owned());
        assert_eq!(source.read()?, b"open sesame");
        let sent = source.sent()?;
        assert!(sent.read()? == b"open sesame" && !format!("{sent:?}").contains("sesame"), "{sent:?}");
        Ok(())
    }
}
