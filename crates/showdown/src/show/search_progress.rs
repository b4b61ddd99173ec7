//! The progress of `showdown load --find-capacity`: the rate of the last slice, its response time, and the time that is left.

use indicatif::ProgressBar;
use load::capacity::{CapacityEvent, StepEvaluation};
use serde::Serialize;

use super::bar::{self, ProgressMode};
use super::units;

/// One line of JSON, see docs/FORMATS.md.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum SearchLine {
    /// The closed loop at the start begins with this number of open connections.
    LoadBegins { connections: u32 },
    /// A slice has ended.
    Slice {
        rate_per_s: f64,
        meets_slo: bool,
        client_was_the_limit: bool,
        p99_us: u64,
        /// Slices near the capacity so far, and in all.
        counted: Option<usize>,
        to_count: Option<usize>,
        left_s: f64,
    },
}

impl From<&CapacityEvent> for SearchLine {
    fn from(event: &CapacityEvent) -> Self {
        match event {
            CapacityEvent::ClosedLoop { opened } => Self::LoadBegins { connections: *opened },
            CapacityEvent::Slice { rate_per_s, evaluation, summary, counted, left } => Self::Slice {
                rate_per_s: *rate_per_s,
                meets_slo: evaluation.meets_slo,
                client_was_the_limit: !evaluation.client_reasons.is_empty(),
                p99_us: summary.response_time_us.p99,
                counted: counted.map(|(counted, _)| counted),
                to_count: counted.map(|(_, all)| all),
                left_s: left.as_secs_f64(),
            },
        }
    }
}

/// The progress of a search.
pub struct SearchProgress {
    mode: ProgressMode,
    bar: ProgressBar,
}

impl SearchProgress {
    /// Shows that connections are opened.
    pub fn new(mode: ProgressMode) -> Self {
        let bar = mode.bar();
        bar.set_style(bar::style("{msg} {wide_bar:.cyan/blue} {prefix}"));
        bar.set_message("connecting");
        Self { mode, bar }
    }

    /// Takes an event of the search.
    pub fn observe(&self, event: &CapacityEvent) {
        self.mode.print_json(&SearchLine::from(event));
        match event {
            CapacityEvent::ClosedLoop { opened } => {
                let open = units::plural(u64::from(*opened), "connection");
                self.bar.set_message(format!("closed loop  {open} open"));
            }
            CapacityEvent::Slice { rate_per_s, evaluation, summary, counted, left } => {
                if let Some((counted, all)) = counted {
                    self.bar.set_length(*all as u64);
                    self.bar.set_position(*counted as u64);
                }
                self.bar.set_prefix(format!("{} s left", left.as_secs_f64().ceil()));
                let (rate, p99) =
                    (units::rate(*rate_per_s), units::time(summary.response_time_us.p99 as f64));
                self.bar.set_message(format!("{rate:>12}/s  p99 {p99:>8}  {:<22}", in_words(evaluation)));
            }
        }
    }

    /// Clears the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn in_words(evaluation: &StepEvaluation) -> &'static str {
    match (evaluation.meets_slo, evaluation.client_reasons.is_empty()) {
        (true, _) => "meets the objective",
        (false, true) => "misses the objective",
        (false, false) => "the client was the limit",
    }
}

#[cfg(test)]
mod tests {
    use super::super::formats_page::assert_documented;
    use super::*;

    #[test]
    fn formats_md_documents_every_event_of_a_search() {
        let lines = [
            SearchLine::LoadBegins { connections: 1 },
            SearchLine::Slice {
                rate_per_s: 1.5,
                meets_slo: true,
                client_was_the_limit: false,
                p99_us: 1,
                counted: Some(3),
                to_count: Some(40),
                left_s: 4.5,
            },
        ];
        lines.iter().for_each(assert_documented);
    }
}
