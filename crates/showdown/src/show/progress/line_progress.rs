//! The progress of a run without a known number of trials: a line that says what is done, and lines for what was learnt.

use std::time::Duration;

use bakeoff::event::Event;
use indicatif::ProgressBar;

use super::bakeoff_progress::tell;
use super::bar::{ProgressMode, style};
use crate::color::for_stderr;
use crate::show::layout::units::{rate, response_time};

/// Shows the events of an explanation, of transfers, or of a search.
pub struct LineProgress {
    mode: ProgressMode,
    bar: ProgressBar,
}

impl LineProgress {
    /// Starts it.
    pub fn start(mode: ProgressMode) -> Self {
        let bar = mode.bar();
        bar.set_style(style("{spinner} {wide_msg} {prefix} ({elapsed})"));
        if mode == ProgressMode::Bar {
            bar.enable_steady_tick(Duration::from_millis(250));
        }
        Self { mode, bar }
    }

    /// Takes an event.
    pub fn observe(&self, event: &Event) {
        self.mode.print_json(event);
        tell(self.mode, &self.bar, event);
        match event {
            Event::Said { what } => self.bar.println(for_stderr(what)),
            Event::Doing { what } => self.bar.set_message(for_stderr(what)),
            Event::Tick { throughput_per_s, p99_us, gave_up_from_us, .. } => {
                let p99 = response_time(*p99_us, *gave_up_from_us);
                self.bar.set_prefix(format!("{}/s p99 {p99}", rate(*throughput_per_s)));
            }
            _ => {}
        }
    }

    /// Removes the line.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
