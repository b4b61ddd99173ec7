//! The progress of `showdown load --find-capacity`: the rate of the last slice, its response time, and the time that is left.

use indicatif::ProgressBar;
use load::capacity::{CapacityEvent, StepEvaluation};
use load::summary::Summary;
use serde::Serialize;

use super::bar::{self, ProgressMode};
use crate::show::layout::units;

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
        p99_us: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        gave_up_from_us: Option<u64>,
        /// How much of the search near the capacity is done, 0 to 1.
        progress: Option<f64>,
        left_s: f64,
    },
}

impl From<&CapacityEvent> for SearchLine {
    fn from(event: &CapacityEvent) -> Self {
        match event {
            CapacityEvent::ClosedLoop { opened } => Self::LoadBegins { connections: *opened },
            CapacityEvent::Slice { rate_per_s, evaluation, summary, progress, left } => Self::Slice {
                rate_per_s: *rate_per_s,
                meets_slo: evaluation.meets_slo(),
                client_was_the_limit: !evaluation.client_reasons.is_empty(),
                p99_us: p99(summary),
                gave_up_from_us: summary.gave_up_from_us,
                progress: *progress,
                left_s: left.as_secs_f64(),
            },
        }
    }
}

/// The 99th percentile; none where no operation ended.
fn p99(summary: &Summary) -> Option<u64> {
    let times = &summary.response_time_us;
    (!times.is_empty()).then_some(times.p99)
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
            CapacityEvent::Slice { rate_per_s, evaluation, summary, progress, left } => {
                if let Some(done) = progress {
                    self.bar.set_length(100);
                    self.bar.set_position((done * 100.0) as u64);
                }
                self.bar.set_prefix(format!("{} s left", left.as_secs_f64().ceil()));
                let p99 = units::response_time(p99(summary), summary.gave_up_from_us);
                let rate = units::rate(*rate_per_s);
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
    match (evaluation.is_client_limited(), evaluation.meets_slo()) {
        (true, _) => "the client was the limit",
        (false, true) => "meets the objective",
        (false, false) => "misses the objective",
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
                p99_us: Some(1),
                gave_up_from_us: Some(1),
                progress: Some(0.3),
                left_s: 4.5,
            },
        ];
        lines.iter().for_each(assert_documented);
    }
}
