//! The progress of `showdown load`: throughput and response time of the last interval, and the time
//! that is left.

use std::time::Duration;

use indicatif::ProgressBar;
use load::engine::LoadEvent;
use load::record::Interval;
use load::spec::LoadSpec;
use serde::Serialize;

use super::bar::{self, ProgressMode};
use crate::show::layout::units;

/// How often the time that is left is drawn.
const REDRAW: Duration = Duration::from_millis(250);

/// One line of JSON, see docs/FORMATS.md.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum ProgressLine {
    /// The load begins with this number of open connections.
    LoadBegins { connections: u32 },
    /// An interval is over. Its index is negative in the warm-up.
    Tick(IntervalFigures),
}

/// The figures of one interval.
#[derive(Debug, Serialize)]
struct IntervalFigures {
    index: i64,
    throughput_per_s: f64,
    p50_us: Option<u64>,
    p99_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gave_up_from_us: Option<u64>,
    failed: u64,
}

impl IntervalFigures {
    fn of(index: i64, stats: &Interval, workers: u32) -> Self {
        let response = stats.response_times();
        let at = |quantile| (!response.is_empty()).then(|| response.value_at_quantile(quantile));
        // `wall_ns` is the sum over all workers.
        let seconds = stats.client.wall_ns as f64 / 1e9 / f64::from(workers);
        Self {
            index,
            throughput_per_s: stats.succeeded() as f64 / seconds.max(1e-3),
            p50_us: at(0.5),
            p99_us: at(0.99),
            gave_up_from_us: stats.gave_up_from_us(),
            failed: stats.errors().total(),
        }
    }

    fn text(&self) -> String {
        format!(
            "{}{}/s  p50 {}  p99 {}{}",
            if self.index < 0 { "warm-up  " } else { "" },
            units::rate(self.throughput_per_s),
            units::response_time(self.p50_us, self.gave_up_from_us),
            units::response_time(self.p99_us, self.gave_up_from_us),
            if self.failed == 0 {
                String::new()
            } else {
                format!("  {}", units::plural(self.failed, "error"))
            },
        )
    }
}

/// The progress of a load.
pub struct LoadProgress {
    mode: ProgressMode,
    bar: ProgressBar,
    doing: String,
    /// The length of one run, if the spec gives it.
    length: Option<Duration>,
    requests: Option<u64>,
    done: u64,
    workers: u32,
}

impl LoadProgress {
    /// The progress of runs of this spec; `doing` names the step, such as `populating`.
    pub fn new(spec: &LoadSpec, doing: &str, mode: ProgressMode) -> Self {
        let bar = mode.bar();
        // The bar is also drawn between ticks, so that the time left goes down while a server hangs.
        let left = |state: &indicatif::ProgressState, out: &mut dyn std::fmt::Write| {
            let all = state.len().unwrap_or(0);
            if all > 1 {
                let left = Duration::from_millis(all).saturating_sub(state.elapsed());
                let _ = write!(out, "{} s left", left.as_secs_f64().ceil());
            }
        };
        let template = match (spec.part.requests, spec.part.duration) {
            (None, Some(_)) => "{msg} {wide_bar:.cyan/blue} {left}",
            _ => "{msg} {wide_bar:.cyan/blue} {percent} %",
        };
        bar.set_style(bar::style(template).with_key("left", left));
        let doing = if doing.is_empty() { String::new() } else { format!("{doing}  ") };
        bar.set_message(format!("{doing}connecting"));
        if mode == ProgressMode::Bar {
            bar.enable_steady_tick(REDRAW);
        }
        Self {
            mode,
            bar,
            doing,
            length: spec
                .part
                .duration
                .filter(|_| spec.part.requests.is_none())
                .map(|length| length + spec.part.warmup),
            requests: spec.part.requests,
            done: 0,
            workers: spec.workers,
        }
    }

    /// Takes an event of a run.
    pub fn observe(&mut self, event: &LoadEvent<'_>) {
        match event {
            LoadEvent::Begins { opened, .. } => {
                self.mode.print_json(&ProgressLine::LoadBegins { connections: *opened });
                self.done = 0;
                let length = self.length.map_or(self.requests.unwrap_or(1), |l| l.as_millis() as u64);
                self.bar.set_length(length.max(1));
                self.bar.set_position(0);
                self.bar.reset_elapsed();
                let open = units::plural(u64::from(*opened), "connection");
                self.bar.set_message(format!("{}{open} open", self.doing));
            }
            LoadEvent::Tick { index, stats } => {
                let figures = IntervalFigures::of(*index, stats, self.workers);
                self.done += stats.succeeded() + figures.failed;
                let elapsed = self.bar.elapsed().as_millis() as u64;
                self.bar.set_position(if self.length.is_some() { elapsed } else { self.done });
                self.bar.set_message(format!("{}{}", self.doing, figures.text()));
                self.mode.print_json(&ProgressLine::Tick(figures));
            }
        }
    }

    /// Clears the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::formats_page::assert_documented;
    use super::*;

    #[test]
    fn a_tick_is_printed_as_text_and_as_json() {
        let figures = IntervalFigures {
            index: -1,
            throughput_per_s: 1_234.0,
            p50_us: Some(85),
            p99_us: Some(1_240),
            gave_up_from_us: None,
            failed: 1,
        };
        assert_eq!(figures.text(), "warm-up  1,234/s  p50 85 µs  p99 1.24 ms  1 error");
        let line = serde_json::to_string(&ProgressLine::Tick(figures)).expect("plain data");
        assert_eq!(
            line,
            r#"{"event":"tick","index":-1,"throughput_per_s":1234.0,"p50_us":85,"p99_us":1240,"failed":1}"#
        );
    }

    #[test]
    fn a_tick_without_answers_has_a_lower_bound_or_no_time() {
        let tick = |p99_us: Option<u64>, gave_up_from_us| IntervalFigures {
            index: 0,
            throughput_per_s: 0.0,
            p50_us: p99_us.map(|_| 85),
            p99_us,
            gave_up_from_us,
            failed: 0,
        };
        assert_eq!(tick(Some(1_080_000), Some(1_000_000)).text(), "0.00/s  p50 85 µs  p99 ≥ 1.08 s");
        assert_eq!(tick(None, None).text(), "0.00/s  p50 –  p99 –");
        let line = serde_json::to_string(&tick(None, None)).expect("plain data");
        assert!(line.contains(r#""p50_us":null,"p99_us":null,"failed""#), "{line}");
    }

    #[test]
    fn formats_md_documents_every_event_of_a_load() {
        let figures = IntervalFigures {
            index: 0,
            throughput_per_s: 1.5,
            p50_us: Some(1),
            p99_us: Some(1),
            gave_up_from_us: Some(1),
            failed: 0,
        };
        let lines = [ProgressLine::LoadBegins { connections: 1 }, ProgressLine::Tick(figures)];
        lines.iter().for_each(assert_documented);
    }
}
