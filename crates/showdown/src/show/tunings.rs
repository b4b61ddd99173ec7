//! The menu of tunings for a terminal.

use std::fmt::Write as _;

use tune::listed::{ListedTuning, TuningMenu};
use tune::{Condition, Durability, Expected, Need, Security};

use super::layout::units::plural;
use crate::color;

/// All of it.
pub fn text(menu: &TuningMenu) -> String {
    let count = plural(menu.tunings.len() as u64, "tuning");
    let mut out = match &menu.server {
        None => format!("{count}\n"),
        Some(server) => format!("{count} for {server}, {} for others\n", menu.others),
    };
    for tuning in &menu.tunings {
        out.push_str(&one(tuning));
    }
    out
}

fn one(tuning: &ListedTuning) -> String {
    let mut out = format!("\n{}  {}\n", color::heading(&tuning.id), tuning.title);
    let mut line = |name: &str, text: &str| {
        if !text.is_empty() {
            let _ = writeln!(out, "  {name:<9} {text}");
        }
    };
    line("why", &tuning.about);
    let levels = tuning.levels.iter().map(|set| {
        let settings: Vec<String> = set.iter().map(|(name, value)| format!("{name}={value}")).collect();
        settings.join(" ")
    });
    line("tries", &levels.collect::<Vec<_>>().join(" | "));
    line("servers", &tuning.servers.join(", "));
    line("versions", &tuning.versions);
    let in_words = |conditions: &[Condition]| conditions.iter().map(Condition::in_words).collect::<Vec<_>>();
    line("when", &in_words(&tuning.when).join(", and "));
    line("unless", &in_words(&tuning.unless).join(", or "));
    let needs: Vec<String> = tuning.needs.iter().map(ToString::to_string).collect();
    line("needs", &needs.join(", "));
    let is_tried = !tuning.needs.contains(&Need::Reboot);
    if !is_tried {
        line("tried", "never: it is listed for you to try");
    }
    line("risk", &tuning.avoid);
    if tuning.durability != Durability::None {
        line("loses", &format!("{}; tried only with --allow durability", tuning.durability));
    }
    if tuning.security == Security::Weaker {
        line("weakens", if is_tried { "security; tried only with --allow security" } else { "security" });
    }
    line("published", &tuning.expected.as_ref().map(published).unwrap_or_default());
    line("source", &tuning.source);
    out
}

fn published(expected: &Expected) -> String {
    let Expected { low, high, source, hardware, year } = expected;
    let year = year.map(|year| year.to_string());
    let context: Vec<&str> = [source.as_str(), hardware]
        .into_iter()
        .chain(year.as_deref())
        .filter(|text| !text.is_empty())
        .collect();
    let range = if *low > 1.0 { format!("{low} to {high}") } else { format!("up to {high}") };
    format!("{range} × ({})", context.join("; "))
}
