//! A comparison or sweep on a terminal: progress while it runs, the answer when it has ended.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use archive::TrialRecord;
use archive::model::{DifferenceClass, SweepPoint, Trial, TrialStatus, VariantSummary, Verdict};
use bakeoff::event::Event;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::table::table;
use super::units::{count, quantity, rate, time};
use crate::verbs::options::ProgressMode;

/// Reasons not to count that are told on the terminal.
const MOST_REASONS: usize = 6;

/// Shows events: a bar and a line a trial on a terminal, JSON lines to a program, or nothing.
pub struct BakeoffProgress {
    mode: ProgressMode,
    bar: ProgressBar,
    name: String,
    doing: String,
    trials: u32,
    done: u32,
}

impl BakeoffProgress {
    /// Nothing is drawn before the run begins.
    pub fn new(mode: ProgressMode) -> Self {
        let visible = mode == ProgressMode::Bar;
        let target = if visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(1), target);
        let style = ProgressStyle::with_template("{pos:>3}/{len} {wide_bar:.cyan/blue} {prefix}\n    {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━╸─"));
        Self { mode, bar, name: String::new(), doing: String::new(), trials: 0, done: 0 }
    }

    /// Something happened.
    pub fn observe(&mut self, event: &Event) {
        if self.mode == ProgressMode::Json {
            // Whoever reads this has gone away: the run goes on.
            let _ = serde_json::to_string(event).map(|line| writeln!(std::io::stderr(), "{line}"));
            return;
        }
        match event {
            Event::RunBegins { trials, .. } => {
                self.trials = *trials;
                self.bar.set_length(u64::from(*trials));
                self.bar.reset_elapsed();
                self.bar.enable_steady_tick(Duration::from_millis(250));
            }
            Event::SettingIsPutBack { setting, value } => {
                self.bar
                    .println(format!("{setting} is {value} again, which a run that was killed had changed"));
            }
            Event::BlockIsAdded { block, trials } => {
                self.trials = *trials;
                self.bar.set_length(u64::from(*trials));
                self.bar.println(format!("      block {block} is added: trials before it do not count"));
            }
            Event::TrialBegins { name, block, .. } => {
                self.name = format!("block {block}, {name}");
                "starting".clone_into(&mut self.doing);
                self.draw("");
            }
            Event::Doing { what } => {
                self.doing.clone_from(what);
                self.draw("");
            }
            Event::Tick { throughput_per_s, p50_us, p99_us, errors } => {
                let errors = if *errors == 0 { String::new() } else { format!("  {errors} errors") };
                self.draw(&format!(
                    "{}/s  p50 {}  p99 {}{errors}",
                    rate(*throughput_per_s),
                    time(*p50_us as f64),
                    time(*p99_us as f64)
                ));
            }
            Event::TrialEnds { number, name, status, value, unit, reasons, failed_gates } => {
                self.done += 1;
                self.bar.set_position(u64::from(self.done));
                let value = value.map_or_else(|| "–".to_owned(), |value| quantity(value, unit));
                let why: Vec<&str> = reasons
                    .iter()
                    .map(String::as_str)
                    .chain(failed_gates.iter().map(|gate| gate.message.as_str()))
                    .collect();
                let mark = match status {
                    TrialStatus::Valid => String::new(),
                    TrialStatus::Invalid => format!("  INVALID: {}", why.join("; ")),
                    TrialStatus::Failed => format!("  FAILED: {}", why.join("; ")),
                    TrialStatus::Interrupted => "  interrupted".to_owned(),
                };
                self.bar.println(format!("{number:>4}  {name:<28} {value:>12}{mark}"));
            }
            Event::Verdict { .. } => self.bar.finish_and_clear(),
        }
    }

    /// Clears the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn draw(&self, load: &str) {
        let elapsed = self.bar.elapsed().as_secs_f64();
        let left = match self.done {
            0 => String::new(),
            done => {
                let seconds = elapsed / f64::from(done) * f64::from(self.trials.saturating_sub(done));
                format!("about {} left", humantime::format_duration(Duration::from_secs(seconds as u64)))
            }
        };
        self.bar.set_prefix(left);
        self.bar.set_message(format!("{}: {}  {load}", self.name, self.doing));
    }
}

/// The answer: the sentence, the table, which trials do not count, what is unfair, where the report lies.
pub fn answer(verdict: &Verdict, trials: &[TrialRecord], dir: &str, report: Option<&str>) -> String {
    let mut out = format!("{}\n\n", capitalised(&verdict.sentence));
    let mut rows = vec![["", &verdict.measure, "95 % CI", "valid trials", ""].map(str::to_owned).to_vec()];
    rows.extend(verdict.variants.iter().map(|variant| row(variant, &verdict.unit)));
    out.push_str(&table(&rows));
    out.push('\n');
    // Of the many points of a sweep the report tells.
    let counts = |variant: &&VariantSummary| variant.point.is_empty() && !variant.counted_per_s.is_empty();
    for variant in verdict.variants.iter().filter(counts) {
        let counted: Vec<String> = variant.counted_per_s.iter().map(counted).collect();
        let _ = writeln!(out, "  {}: {}", variant.name, counted.join(", "));
    }
    // The only one is the answer already; those of a sweep are the report's.
    let several = verdict.comparisons.iter().filter(|c| c.point.is_empty() && verdict.comparisons.len() > 1);
    for comparison in several {
        let _ = writeln!(out, "  {}", comparison.sentence);
    }
    for comparison in verdict.comparisons.iter().filter(|c| c.smallest_difference.is_some()) {
        let percent = comparison.smallest_difference.unwrap_or_default() * 100.0;
        let _ = writeln!(
            out,
            "  {} against {}{}: a difference of {percent:.1} % would have been found four times in five",
            comparison.a,
            comparison.b,
            at(&comparison.point)
        );
    }
    let without_value = out_of_count(trials);
    for (reason, numbers) in without_value.iter().take(MOST_REASONS) {
        let (trials, do_not) =
            if numbers.len() == 1 { ("trial", "does not count") } else { ("trials", "do not count") };
        let _ = writeln!(out, "  {trials} {} {do_not}: {reason}", numbers.join(", "));
    }
    if without_value.len() > MOST_REASONS {
        let _ = writeln!(
            out,
            "  nor do others, for {} more reasons: see the report",
            without_value.len() - MOST_REASONS
        );
    }
    for difference in &verdict.fairness {
        let class = match difference.class {
            DifferenceClass::ApplesToOranges => "apples to oranges",
            DifferenceClass::Unexplained => "unexplained difference",
            DifferenceClass::Expected | DifferenceClass::TheVariantItself => continue,
        };
        let values: Vec<String> =
            difference.values.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let _ = writeln!(out, "  {class}: {} ({}): {}", difference.key, values.join(", "), difference.remark);
    }
    let _ = writeln!(out, "\nrun     {dir}");
    if let Some(report) = report {
        let _ = writeln!(out, "report  {report}");
    }
    out
}

/// Why trials do not count, with the numbers of those that do not for this reason.
fn out_of_count(trials: &[TrialRecord]) -> Vec<(String, Vec<String>)> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for Trial { number, variant, reasons: why, .. } in trials.iter().map(|record| &record.trial) {
        let (reason, who) = (why.join("; "), format!("{number} ({variant})"));
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            _ if why.is_empty() => {}
            Some((_, numbers)) => numbers.push(who),
            None => reasons.push((reason, vec![who])),
        }
    }
    reasons
}

/// A point of a sweep, behind a name: ` threads=2 connections=64`.
fn at(point: &SweepPoint) -> String {
    let settings: Vec<String> = point.iter().map(|(axis, value)| format!(" {axis}={value}")).collect();
    settings.concat()
}

/// What a driver counts is often asked for by the hour.
fn counted((name, per_s): (&String, &f64)) -> String {
    format!("{} {name}/s ({} an hour)", rate(*per_s), count((per_s * 3600.0).round() as u64))
}

fn row(variant: &VariantSummary, unit: &str) -> Vec<String> {
    let all = variant.valid + variant.invalid;
    vec![
        format!("{}{}", variant.name, at(&variant.point)),
        variant.median.map_or_else(|| "–".to_owned(), |median| quantity(median, unit)),
        variant.interval.map_or_else(|| "–".to_owned(), |i| format!("{}–{}", rate(i.low), rate(i.high))),
        format!("{} of {all}", variant.valid),
        if variant.modes.len() > 1 { "two modes".to_owned() } else { String::new() },
    ]
}

fn capitalised(sentence: &str) -> String {
    // Names of servers keep their case; only the verdict's own words begin with a capital.
    for own in ["no difference shown", "inconclusive"] {
        if let Some(rest) = sentence.strip_prefix(own) {
            let (first, others) = own.split_at(1);
            return format!("{}{others}{rest}.", first.to_uppercase());
        }
    }
    format!("{sentence}.")
}
