//! Live progress on standard error: what is being done, throughput and latency of the last interval, and the
//! time that is left. Draws nothing where nobody looks.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use load::capacity::CapacityEvent;
use load::engine::Event;
use load::spec::LoadSpec;

use super::units;

/// The bar of a load.
pub struct LoadProgress {
    bar: ProgressBar,
    doing: String,
    /// Length of one run, if it is known beforehand.
    length: Option<Duration>,
    requests: Option<u64>,
    done: u64,
    workers: u32,
}

impl LoadProgress {
    /// A bar for runs of this spec, drawn if `visible`.
    pub fn new(spec: &LoadSpec, visible: bool) -> Self {
        let target = if visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(1), target);
        let style = ProgressStyle::with_template("{msg} {wide_bar:.cyan/blue} {prefix}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.progress_chars("━╸─"));
        bar.set_message("connecting");
        Self {
            bar,
            doing: String::new(),
            length: spec.duration.map(|duration| duration + spec.warmup),
            requests: spec.requests,
            done: 0,
            workers: spec.workers,
        }
    }

    /// Something happened in a run.
    pub fn observe(&mut self, event: &Event<'_>) {
        match event {
            Event::Begins { opened, .. } => {
                self.done = 0;
                let length = self.length.map_or(self.requests.unwrap_or(1), |l| l.as_millis() as u64);
                self.bar.set_length(length.max(1));
                self.bar.set_position(0);
                self.bar.reset_elapsed();
                self.bar.set_message(format!("{}{opened} connections open", self.doing));
            }
            Event::Tick { index, stats } => {
                self.done += stats.succeeded();
                let response = stats.merged(|op| &op.response);
                // All workers' time added up, so their number is taken out again.
                let seconds = stats.client.wall_ns as f64 / 1e9 / f64::from(self.workers);
                let elapsed = self.bar.elapsed().as_millis() as u64;
                self.bar.set_position(if self.length.is_some() { elapsed } else { self.done });
                let errors = stats.errors().total();
                self.bar.set_message(format!(
                    "{}{}{}/s  p50 {}  p99 {}{}",
                    self.doing,
                    if *index < 0 { "warm-up  " } else { "" },
                    units::rate(stats.succeeded() as f64 / seconds.max(1e-3)),
                    units::time(response.value_at_quantile(0.5) as f64),
                    units::time(response.value_at_quantile(0.99) as f64),
                    if errors == 0 { String::new() } else { format!("  {} errors", units::count(errors)) },
                ));
                if let Some(length) = self.length {
                    let left = length.saturating_sub(self.bar.elapsed());
                    self.bar.set_prefix(format!("{} s left", left.as_secs_f64().ceil()));
                }
            }
        }
    }

    /// Something happened in a search.
    pub fn observe_search(&mut self, event: &CapacityEvent<'_>) {
        match event {
            CapacityEvent::Try(None) => "closed loop  ".clone_into(&mut self.doing),
            CapacityEvent::Try(Some(rate)) => self.doing = format!("trying {}/s  ", units::rate(*rate)),
            CapacityEvent::Run(event) => self.observe(event),
            CapacityEvent::Fared(step) => {
                let verdict = match (step.client_reasons.is_empty(), step.meets_slo) {
                    (false, _) => "the client was the limit",
                    (true, true) => "meets the objective",
                    (true, false) => "misses it",
                };
                let p99 = units::time(step.summary.response_time_us.p99 as f64);
                self.bar.println(format!("{:>12}/s  p99 {p99:>8}  {verdict}", units::rate(step.rate_per_s)));
            }
        }
    }

    /// Clears the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
