//! Files of the kernel below `/sys`, or below a directory that a test filled.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{PowerError, excerpt};

/// The names in a directory, sorted by their numbers: `hwmon2` comes before `hwmon10`. Empty if there is no such directory.
pub(super) fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    names
}

/// The text of a file without surrounding white space; none if it is missing, unreadable or empty.
pub(super) fn text(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The number in a file. `remedy` is for a file that this user may not read.
pub(super) fn number(path: &Path, remedy: &'static str) -> Result<u64, PowerError> {
    let shown = || path.display().to_string();
    let text = fs::read_to_string(path).map_err(|source| {
        let remedy = match source.kind() {
            io::ErrorKind::PermissionDenied => remedy,
            io::ErrorKind::NotFound => "its driver is gone: load it again",
            _ => "its driver fails: use another source",
        };
        PowerError::Read { path: shown(), source, remedy }
    })?;
    let text = text.trim();
    text.parse().map_err(|_| PowerError::NotANumber { path: shown(), text: excerpt(text) })
}

/// A path of this machine below another root.
pub(super) fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}
