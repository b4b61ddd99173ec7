//! A server's password: made up for one start, on disk only where the server and the engine read it, and gone
//! with the server. It is in no argument list, and printing what holds it shows no more than that there is one.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use load::drivers::password::PasswordSource;
use rand::RngExt;
use rand::distr::Alphanumeric;

use super::error::InstanceError;
use super::stage::write_private;

/// 62³² possibilities: 190 bits.
const LENGTH: usize = 32;

/// What stands in its place wherever a configuration is shown.
pub const MASKED: &str = "***";

/// A password and the file that holds it, which is removed when this is dropped.
pub struct Password {
    text: String,
    file: PathBuf,
}

impl Password {
    /// Makes one up, and writes it into a file of the server's directory.
    pub fn make(directory: &Path) -> Result<Self, InstanceError> {
        let text: String = rand::rng().sample_iter(Alphanumeric).take(LENGTH).map(char::from).collect();
        let file = directory.join("password");
        write_private(&file, &text)?;
        Ok(Self { text, file })
    }

    /// The password itself.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// Where the engine finds it.
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
        // If it stays, it is the password of a server that is gone.
        let _ = fs::remove_file(&self.file);
    }
}
