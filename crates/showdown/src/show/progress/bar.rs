//! What all progress has in common: a bar for people, JSON lines for programs, or nothing.

use std::io::Write;

use archive::printable::printable_json;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressMode {
    /// A bar on standard error.
    Bar,
    /// JSON lines on standard error.
    Json,
    /// Nothing.
    Nothing,
}

impl ProgressMode {
    /// A bar, which is hidden in the other modes.
    pub fn bar(self) -> ProgressBar {
        let target =
            if self == Self::Bar { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        ProgressBar::with_draw_target(Some(1), target)
    }

    /// Prints an event as one line of JSON, if this mode does so.
    pub fn print_json(self, event: &impl Serialize) {
        if self == Self::Json {
            // The reader may have closed the pipe; the run goes on.
            let _ = serde_json::to_string(event)
                .map(|line| writeln!(std::io::stderr(), "{}", printable_json(&line)));
        }
    }
}

/// The look of a bar.
pub fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars("━╸─")
}
