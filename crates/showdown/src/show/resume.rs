//! Runs that were interrupted: the command that goes on with one, and when that was done.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use archive::model::Facts;

use super::units::plural;

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

/// One line for each time that the run was resumed; empty if it never was.
pub fn when_resumed(facts: Option<&Facts>) -> String {
    let mut out = String::new();
    for resumption in facts.iter().flat_map(|facts| &facts.resumed) {
        let at = UNIX_EPOCH + Duration::from_millis(resumption.at_unix_ms);
        let changed: Vec<&str> = resumption.changes.iter().map(|change| change.fact.as_str()).collect();
        let changed = if changed.is_empty() {
            String::new()
        } else {
            format!("; changed since the beginning: {}", changed.join(", "))
        };
        let _ = writeln!(
            out,
            "resumed {} with block {} after {}{changed}",
            humantime::format_rfc3339_seconds(at),
            resumption.block,
            plural(resumption.kept_trials.into(), "kept trial"),
        );
    }
    out
}
