//! Progress of `showdown hosts`: one line on a terminal, once it takes longer than one waits without asking.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget};
use machine::survey::SurveyEvent;
use machine::transport::OpenProgress;

use super::bar::style;
use crate::color::for_stderr;

/// Before this, nothing is shown.
const PATIENCE: Duration = Duration::from_secs(2);

/// A line that says what each host is doing.
pub struct HostsProgress {
    bar: ProgressBar,
    doing: Mutex<BTreeMap<String, String>>,
}

impl HostsProgress {
    /// Starts it. Nothing is shown where standard error is not a terminal.
    pub fn start() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(style("{spinner} {wide_msg} ({elapsed})"));
        if std::io::stderr().is_terminal() {
            let bar = bar.clone();
            thread::spawn(move || {
                thread::sleep(PATIENCE);
                if !bar.is_finished() {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                    bar.enable_steady_tick(Duration::from_millis(200));
                }
            });
        }
        Self { bar, doing: Mutex::default() }
    }

    /// Shows what has begun.
    pub fn observe(&self, event: SurveyEvent<'_>) {
        let mut doing = self.doing.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            SurveyEvent::Done { host } => {
                doing.remove(host);
            }
            SurveyEvent::Network { from, to } => {
                doing.clear();
                doing.insert("network".to_owned(), format!("measuring {from} to {to}"));
            }
            SurveyEvent::Opening { host, .. } | SurveyEvent::Examining { host } => {
                doing.insert(host.to_owned(), activity(event));
            }
        }
        let message: Vec<String> = doing.iter().map(|(host, what)| format!("{host}: {what}")).collect();
        self.bar.set_message(for_stderr(&message.join("; ")));
    }

    /// Removes the line.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn activity(event: SurveyEvent<'_>) -> String {
    match event {
        SurveyEvent::Opening { progress: OpenProgress::Login, .. } => "logging in".to_owned(),
        SurveyEvent::Opening { progress: OpenProgress::Sending { sent, of }, .. } => {
            format!("sending the program, {} of {} MB", sent / 1_000_000, of / 1_000_000)
        }
        SurveyEvent::Opening { progress: OpenProgress::Starting, .. } => "starting the agent".to_owned(),
        _ => "examining".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_what_each_host_does() {
        let progress = HostsProgress::start();
        let sending = OpenProgress::Sending { sent: 2_400_000, of: 28_000_000 };
        progress.observe(SurveyEvent::Opening { host: "old", progress: sending });
        progress.observe(SurveyEvent::Examining { host: "new" });
        assert_eq!(progress.bar.message(), "new: examining; old: sending the program, 2 of 28 MB");
        progress.observe(SurveyEvent::Done { host: "old" });
        progress.observe(SurveyEvent::Network { from: "old", to: "new" });
        assert_eq!(progress.bar.message(), "network: measuring old to new");
        progress.finish();
    }
}
