//! The progress of a comparison or sweep: a bar, and a line for each trial.

use std::collections::BTreeMap;
use std::time::Duration;

use archive::model::TrialStatus;
use archive::printable::one_line;
use bakeoff::event::Event;
use indicatif::ProgressBar;

use super::bar::{self, ProgressMode};
use crate::color;
use crate::print::note;
use crate::show::layout::units::{about, give_or_take, plural, quantity, rate, response_time};

/// Shows the events of a run.
pub struct BakeoffProgress {
    mode: ProgressMode,
    bar: ProgressBar,
    block: u32,
    /// The trials under way, by number.
    running: BTreeMap<u32, String>,
    doing: String,
    trials: u32,
    done: u32,
    /// The trials that a resumed run had already.
    kept: u32,
}

impl BakeoffProgress {
    /// Draws nothing before the run begins.
    pub fn new(mode: ProgressMode) -> Self {
        let bar = mode.bar();
        bar.set_style(bar::style("{pos:>3}/{len} {wide_bar:.cyan/blue} {prefix}\n    {msg}"));
        Self {
            mode,
            bar,
            block: 0,
            running: BTreeMap::new(),
            doing: String::new(),
            trials: 0,
            done: 0,
            kept: 0,
        }
    }

    /// Takes an event of the run.
    pub fn observe(&mut self, event: &Event) {
        self.mode.print_json(event);
        tell(self.mode, &self.bar, event);
        if self.mode != ProgressMode::Bar {
            return;
        }
        match event {
            Event::RunBegins { trials, kept, .. } => {
                (self.trials, self.done, self.kept) = (*trials, *kept, *kept);
                self.bar.set_length(u64::from(*trials));
                self.bar.set_position(u64::from(*kept));
                self.bar.reset_elapsed();
                self.bar.enable_steady_tick(Duration::from_millis(250));
            }
            Event::BlockAdded { block, trials } => {
                self.trials = *trials;
                self.bar.set_length(u64::from(*trials));
                self.bar.println(format!("      block {block} is added to replace invalid trials"));
            }
            Event::GoesOn { blocks, trials, left_s, company } => {
                self.trials = *trials;
                self.bar.set_length(u64::from(*trials));
                self.bar.println(format!("      {}", goes_on(*blocks, *left_s, company.as_deref())));
            }
            Event::TrialBegins { number, name, block } => {
                self.block = *block;
                self.running.insert(*number, name.clone());
                "starting".clone_into(&mut self.doing);
                self.draw("");
            }
            Event::MeasureReplaced { .. } => {
                (self.done, self.kept) = (0, 0);
                self.bar.set_position(0);
                // The time of the trials that are gone says nothing of the others.
                self.bar.reset_elapsed();
            }
            Event::Precision { half_width, elapsed_s, within, company, expected_half_width, left_s } => {
                let expected = expected_half_width.zip(*left_s);
                let line = precision((*half_width, *elapsed_s), company.as_deref(), *within, expected);
                self.bar.println(format!("      {line}"));
            }
            Event::Doing { what } | Event::Said { what } => {
                self.doing.clone_from(what);
                self.draw("");
            }
            Event::Tick { throughput_per_s, p50_us, p99_us, gave_up_from_us, failed, .. } => {
                let errors =
                    if *failed == 0 { String::new() } else { format!("  {}", plural(*failed, "error")) };
                self.draw(&format!(
                    "{}/s  p50 {}  p99 {}{errors}",
                    rate(*throughput_per_s),
                    response_time(*p50_us, *gave_up_from_us),
                    response_time(*p99_us, *gave_up_from_us)
                ));
            }
            Event::TrialEnds { number, name, status, value, unit, reasons, failed_gates } => {
                self.done += 1;
                self.running.remove(number);
                self.bar.set_position(u64::from(self.done));
                let value = value.map_or_else(|| "–".to_owned(), |value| quantity(value, unit));
                let gates = failed_gates.iter().map(|gate| gate.message.as_str());
                let why: Vec<&str> = reasons.iter().map(String::as_str).chain(gates).collect();
                let mark = match status {
                    TrialStatus::Valid => String::new(),
                    TrialStatus::Invalid => format!("  {} {}", color::bad("INVALID:"), why.join("; ")),
                    TrialStatus::Failed => format!("  {} {}", color::bad("FAILED:"), why.join("; ")),
                    TrialStatus::Interrupted => "  interrupted".to_owned(),
                };
                self.bar.println(color::for_stderr(&format!("{number:>4}  {name:<28} {value:>12}{mark}")));
            }
            Event::KernelSettingRestored { .. }
            | Event::KernelSettingNotRestored { .. }
            | Event::OneAtATime { .. }
            | Event::NetworkNotMeasured { .. }
            | Event::AimMissed { .. } => {}
            Event::Verdict { .. } => self.bar.finish_and_clear(),
        }
    }

    /// Clears the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn draw(&self, load: &str) {
        let elapsed = self.bar.elapsed().as_secs_f64();
        let left = match self.done - self.kept {
            0 => String::new(),
            measured => {
                let seconds =
                    elapsed / f64::from(measured) * f64::from(self.trials.saturating_sub(self.done));
                format!("about {} left", humantime::format_duration(Duration::from_secs(seconds as u64)))
            }
        };
        self.bar.set_prefix(left);
        let names: Vec<&str> = self.running.values().map(String::as_str).collect();
        let message = format!("block {}, {}: {}  {load}", self.block, names.join(" and "), self.doing);
        self.bar.set_message(one_line(&message).into_owned());
    }
}

/// Tells what a reader must know of an event, and beside a bar what it changes.
pub(in crate::show) fn tell(mode: ProgressMode, bar: &ProgressBar, event: &Event) {
    if mode != ProgressMode::Json
        && let Some(text) = noted(event)
    {
        bar.suspend(|| note(&text));
    }
    if mode == ProgressMode::Bar
        && let Some(line) = line(event)
    {
        bar.println(one_line(&line));
    }
}

/// What an event changes in how a run measures, in a line of its own.
fn line(event: &Event) -> Option<String> {
    match event {
        Event::KernelSettingRestored { setting, value } => {
            Some(format!("{setting} is back at {value}: a run that was killed had changed it"))
        }
        Event::OneAtATime { why } => Some(format!("      one server at a time: {why}")),
        Event::NetworkNotMeasured { between, why } => {
            Some(format!("      the network between {between} is not watched: {why}"))
        }
        Event::MeasureReplaced { sentence } => Some(format!("      {sentence}: the run begins again")),
        _ => None,
    }
}

/// What a reader must know of an event also where no progress is shown.
fn noted(event: &Event) -> Option<String> {
    match event {
        Event::KernelSettingNotRestored { problem } => Some(problem.clone()),
        Event::AimMissed { within, half_width, blocks, longer_s } => {
            let more = match blocks.zip(*longer_s) {
                Some((blocks, longer_s)) => {
                    format!("about {} more would have reached it: --blocks {blocks}", about(longer_s))
                }
                None => "no run is long enough for it".to_owned(),
            };
            let (has, aim) = (give_or_take(*half_width), give_or_take(*within));
            Some(format!("{has} is left where {aim} was the aim: {more}"))
        }
        _ => None,
    }
}

/// That a run goes on after the look with which most end: to how many blocks, for how long, and what disturbs it.
fn goes_on(blocks: u32, left_s: Option<f64>, company: Option<&str>) -> String {
    let why = company.map_or_else(String::new, |company| format!(", and {company}"));
    let time = left_s.map_or_else(String::new, |left_s| format!(", about {}", about(left_s)));
    format!("not settled yet{why}: the run goes on, to at most {blocks} blocks{time}")
}

/// How precise a run is by now, with the seconds since its begin, what disturbs it, and what is to be expected of it: a half-width, and
/// the seconds until then.
fn precision(
    (half_width, elapsed_s): (f64, f64),
    company: Option<&str>,
    within: Option<f64>,
    expected: Option<(f64, f64)>,
) -> String {
    let elapsed = humantime::format_duration(Duration::from_secs(elapsed_s as u64));
    let beside = company.map_or_else(String::new, |company| format!("; {company}"));
    let now = format!("{} after {elapsed}{beside}", give_or_take(half_width));
    match (expected, within) {
        (None, _) => now,
        (Some((half_width, left_s)), Some(within)) if half_width <= within => {
            format!("{now}; {} in about {}", give_or_take(within), about(left_s))
        }
        (Some((half_width, left_s)), Some(within)) => format!(
            "{now}; {} at the end in about {}, not {}",
            give_or_take(half_width),
            about(left_s),
            give_or_take(within)
        ),
        (Some((half_width, left_s)), None) => {
            format!("{now}; {} at the end in about {}", give_or_take(half_width), about(left_s))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_precision_by_now_is_followed_by_what_is_to_be_expected() {
        assert_eq!(precision((0.0412, 70.2), None, None, None), "±4.1 % after 1m 10s");
        assert_eq!(
            precision((0.0412, 70.2), None, Some(0.02), Some((0.0193, 236.0))),
            "±4.1 % after 1m 10s; ±2 % in about 4 minutes"
        );
        assert_eq!(
            precision((0.0412, 70.2), None, Some(0.02), Some((0.024, 236.0))),
            "±4.1 % after 1m 10s; ±2.4 % at the end in about 4 minutes, not ±2 %"
        );
        assert_eq!(
            precision((0.0412, 70.2), None, None, Some((0.024, 48.0))),
            "±4.1 % after 1m 10s; ±2.4 % at the end in about 50 seconds"
        );
        let others = Some("other programs used 45 % of the CPUs");
        assert_eq!(
            precision((0.09, 70.2), others, Some(0.05), Some((0.048, 118.0))),
            "±9 % after 1m 10s; other programs used 45 % of the CPUs; ±5 % in about 2 minutes"
        );
        assert_eq!(
            goes_on(28, Some(236.0), others),
            "not settled yet, and other programs used 45 % of the CPUs: the run goes on, to at most 28 blocks, about 4 minutes"
        );
        assert_eq!(goes_on(14, None, None), "not settled yet: the run goes on, to at most 14 blocks");
        let missed =
            Event::AimMissed { within: 0.02, half_width: 0.031, blocks: Some(44), longer_s: Some(400.0) };
        assert_eq!(
            noted(&missed).as_deref(),
            Some(
                "±3.1 % is left where ±2 % was the aim: about 7 minutes more would have reached it: --blocks 44"
            )
        );
    }
}
