//! The command that goes on with a run, and what names a run on a command line.

use std::borrow::Cow;
use std::path::Path;

/// The command that goes on with the run in this directory, in backticks.
pub fn resume_command(dir: &Path) -> String {
    format!("`{}`", shell_words::join(["showdown", "resume", &name_of(dir)]))
}

/// What names the run in this directory on a command line: its id, or the directory where the id alone does not lead to it.
pub fn name_of(dir: &Path) -> Cow<'_, str> {
    let id = dir.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let is_in_default_place = dir.parent() == Some(Path::new("runs"));
    if is_in_default_place { id } else { dir.to_string_lossy() }
}
