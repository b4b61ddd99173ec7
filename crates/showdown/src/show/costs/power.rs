//! The power of this host for a terminal: the sources with their watts, what has none and why, and lines of `--watch`.

use std::fmt::Write as _;
use std::time::{Duration, UNIX_EPOCH};

use archive::printable::one_line;
use power::{PowerReport, PowerTick, SourceWatts};

use crate::color;
use crate::show::layout::table::{row, table};
use crate::show::layout::units::plural;

/// The whole answer.
pub fn text(report: &PowerReport) -> String {
    let mut out = format!("{}\n", color::heading(answer(report)));
    if !report.sources.is_empty() {
        let _ = write!(out, "\n{}", sources(&report.sources));
    }
    let silent = report.sources.iter().filter_map(|source| Some((&source.name, source.error.as_ref()?)));
    let missing = report.not_measured.iter().map(|missing| (&missing.name, &missing.why));
    let reasons: Vec<_> = silent.chain(missing).collect();
    if !reasons.is_empty() {
        out.push_str("\n  not measured:\n");
    }
    for (name, why) in reasons {
        let _ = writeln!(out, "  {} {}", color::caution(format!("{name}:")), one_line(why));
    }
    if !report.notes.is_empty() {
        out.push('\n');
    }
    for note in &report.notes {
        let _ = writeln!(out, "  {note}.");
    }
    out
}

/// The answer in a sentence.
fn answer(report: &PowerReport) -> String {
    let kind = report.virtualization.as_ref();
    let host = kind.map_or_else(|| "this host".to_owned(), |kind| format!("this virtual machine ({kind})"));
    match report.measured() {
        0 if report.virtualization.is_some() => format!(
            "No meter gives the power of {host}: use one of the machine below it, or a nameplate as an estimate (docs/COST.md)."
        ),
        0 => format!(
            "No meter gives the power of {host}: use one at the plug, or a nameplate as an estimate (docs/COST.md)."
        ),
        count => format!(
            "{} of {host} {} watts.",
            plural(count as u64, "meter"),
            if count == 1 { "gives" } else { "give" }
        ),
    }
}

fn sources(sources: &[SourceWatts]) -> String {
    let mut rows = vec![row("source", &["boundary", "watts", "time", "error", "where"], |head| {
        Some((*head).to_owned())
    })];
    rows.extend(sources.iter().map(|source| {
        let time = match (source.is_measured, source.over_ms) {
            (false, _) => "estimate".to_owned(),
            (true, Some(ms)) => format!("mean of {:.1} s", ms as f64 / 1e3),
            (true, None) => "present".to_owned(),
        };
        let watts = source.watts.map(watts);
        let error = source.uncertainty_percent.map(|percent| format!("±{percent} %"));
        let cells = [
            Some(source.boundary.name().to_owned()),
            watts,
            source.watts.map(|_| time),
            error,
            Some(source.origin.clone()),
        ];
        row(&source.name, &cells, Clone::clone)
    }));
    table(&rows)
}

/// `208 W`, `8.90 W`.
fn watts(watts: f64) -> String {
    let digits = match watts {
        watts if watts < 10.0 => 2,
        watts if watts < 100.0 => 1,
        _ => 0,
    };
    format!("{watts:.digits$} W")
}

/// The columns of `--watch`, and which problems were told.
#[derive(Debug, Default)]
pub struct WatchColumns {
    has_head: bool,
    /// The last problem of each source.
    told: Vec<Option<String>>,
}

/// The width of a time of day.
const TIME: usize = 9;

impl WatchColumns {
    /// The line of a tick, at first below a head.
    pub fn lines(&mut self, tick: &PowerTick) -> String {
        let heads: Vec<String> = tick
            .sources
            .iter()
            .map(|source| format!("{} ({})", source.name, source.boundary.name()))
            .collect();
        let mut out = String::new();
        if !self.has_head {
            let head = format!("{:TIME$}  {}", "UTC", heads.join("  "));
            let _ = writeln!(out, "{}", color::heading(head));
            self.has_head = true;
        }
        let at = UNIX_EPOCH + Duration::from_millis(tick.unix_ms);
        let time = humantime::format_rfc3339_seconds(at).to_string();
        let time = time.split('T').nth(1).unwrap_or_default().trim_end_matches('Z');
        let _ = write!(out, "{time:TIME$}");
        for (source, head) in tick.sources.iter().zip(&heads) {
            let cell = source.watts.map_or_else(|| "–".to_owned(), watts);
            let width = head.chars().count();
            let _ = write!(out, "  {cell:>width$}");
        }
        out.push('\n');
        out
    }

    /// Problems that were not told in the tick before, each with the name of its source.
    pub fn new_problems(&mut self, tick: &PowerTick) -> Vec<String> {
        let now: Vec<Option<String>> = tick.sources.iter().map(|source| source.error.clone()).collect();
        let is_new = |index: usize| self.told.get(index) != now.get(index);
        let named = tick.sources.iter().enumerate().filter(|(index, _)| is_new(*index));
        let new =
            named.filter_map(|(_, source)| Some(format!("{}: {}", source.name, source.error.as_ref()?)));
        let new = new.collect();
        self.told = now;
        new
    }
}

#[cfg(test)]
mod tests {
    use power::{Boundary, NotMeasured};

    use super::*;

    fn source(name: &str, watts: Option<f64>, error: Option<&str>) -> SourceWatts {
        SourceWatts {
            name: name.to_owned(),
            kind: "shelly".to_owned(),
            origin: "http://10.0.0.31".to_owned(),
            boundary: Boundary::Wall,
            uncertainty_percent: None,
            is_measured: true,
            is_indicative: true,
            watts,
            over_ms: None,
            unix_ms: Some(0),
            error: error.map(str::to_owned),
        }
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn the_answer_says_what_is_measured_and_why_the_rest_is_not() {
        let missing = vec![NotMeasured::new("rapl", "its reason")];
        let sources = vec![source("plug", Some(62.03), None), source("old", None, Some("it is gone"))];
        let report = PowerReport::new(None, None, sources, missing);
        let text = plain(&text(&report));
        assert!(text.starts_with("1 meter of this host gives watts."), "{text}");
        for part in ["plug", "wall", "62.0 W", "present", "old: it is gone", "rapl: its reason", "indicative"]
        {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }

    #[test]
    fn without_any_meter_the_answer_says_what_to_use() {
        let report = PowerReport::new(None, Some("KVM".to_owned()), Vec::new(), Vec::new());
        let text = plain(&text(&report));
        assert!(text.contains("virtual machine (KVM): use one of the machine below it"), "{text}");
        assert!(!text.contains("indicative"), "{text}");
    }

    #[test]
    fn a_line_of_watts_stays_below_its_head_and_a_problem_is_told_once() {
        let mut columns = WatchColumns::default();
        let tick =
            |watts, error| PowerTick { unix_ms: 3_661_000, sources: vec![source("plug", watts, error)] };
        assert_eq!(
            plain(&columns.lines(&tick(Some(208.4), None))),
            "UTC        plug (wall)\n01:01:01         208 W\n"
        );
        assert_eq!(columns.lines(&tick(None, Some("gone"))), "01:01:01             –\n");
        assert_eq!(columns.new_problems(&tick(None, Some("gone"))), ["plug: gone"]);
        assert!(columns.new_problems(&tick(None, Some("gone"))).is_empty());
        assert!(columns.new_problems(&tick(Some(1.0), None)).is_empty());
        assert_eq!(columns.new_problems(&tick(None, Some("gone"))), ["plug: gone"]);
    }
}
