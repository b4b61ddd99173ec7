//! A server's password. Each start generates one. The engine reads it from a file in the private directory; the server's
//! copies are in its own directory. All are removed when the server stops. It is never in an argument list, and `Debug` masks it.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use load::drivers::password::PasswordSource;
use rand::RngExt;
use rand::distr::Alphanumeric;

use super::files::write_private;
use crate::instance::error::InstanceError;

/// 62³² possibilities: 190 bits.
const LENGTH: usize = 32;

/// Replaces the password wherever a configuration is shown.
pub const MASKED: &str = "***";

/// The name of the engine's file, and of the server's.
pub const FILE: &str = "password";

/// A password and the file that contains it. Dropping this removes the file.
pub struct Password {
    text: String,
    file: PathBuf,
}

impl Password {
    /// Generates a password, and writes it to a file in the private directory of the start.
    pub fn generate(private: &Path) -> Result<Self, InstanceError> {
        let text: String = rand::rng().sample_iter(Alphanumeric).take(LENGTH).map(char::from).collect();
        let file = private.join(FILE);
        write_private(&file, &text)?;
        Ok(Self { text, file })
    }

    /// The password itself.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// Where the engine reads it.
    pub fn source(&self) -> PasswordSource {
        PasswordSource::File(self.file.clone())
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASKED)
    }
}

impl Drop for Password {
    fn drop(&mut self) {
        // A file that cannot be removed has the password of a server that no longer runs.
        let _ = fs::remove_file(&self.file);
    }
}
