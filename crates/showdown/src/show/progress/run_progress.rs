//! The progress of a run: a bar for trials, and a line for everything else.

use bakeoff::event::Event;
use runs::RunRequest;

use super::bakeoff_progress::BakeoffProgress;
use super::bar::ProgressMode;
use super::line_progress::LineProgress;

/// Shows the events of a run.
pub enum RunProgress {
    /// A number of trials is known.
    Trials(BakeoffProgress),
    /// What is done now.
    Line(LineProgress),
}

impl RunProgress {
    /// The progress that fits what is asked for.
    pub fn start(request: &RunRequest, mode: ProgressMode) -> Self {
        let has_trials = match request {
            RunRequest::Plan(plan) => plan.kind.has_trials(),
            RunRequest::Resume { .. } => true,
            RunRequest::Tune(_) => false,
        };
        if has_trials {
            Self::Trials(BakeoffProgress::new(mode))
        } else {
            Self::Line(LineProgress::start(mode))
        }
    }

    /// Takes an event.
    pub fn observe(&mut self, event: &Event) {
        match self {
            Self::Trials(progress) => progress.observe(event),
            Self::Line(progress) => progress.observe(event),
        }
    }

    /// Removes it.
    pub fn finish(&self) {
        match self {
            Self::Trials(progress) => progress.finish(),
            Self::Line(progress) => progress.finish(),
        }
    }
}
