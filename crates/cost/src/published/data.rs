//! The figures of published evaluations, as their authors printed them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stats::cost::real_power;
use stats::quantity::{Amperes, Volts, Watts};

/// The data file.
const DATA: &str = include_str!("../../data/published.toml");

/// All of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The evaluations.
    pub sources: BTreeMap<String, Evaluation>,
    /// The machines.
    pub systems: BTreeMap<String, PublishedSystem>,
    /// The figures, in the order of the file.
    pub results: Vec<PublishedResult>,
}

/// An evaluation.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// What was evaluated.
    pub title: String,
    /// When it was published.
    pub year: u32,
}

/// A machine of an evaluation.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedSystem {
    /// Its name.
    pub name: String,
    /// Its processors.
    pub cpu: Option<String>,
    /// Its memory.
    pub memory_gb: Option<f64>,
    /// Its height.
    pub rack_units: Option<f64>,
    /// List prices in US dollars.
    #[serde(default)]
    pub list_price_usd: Vec<f64>,
    /// A list price in euros.
    pub list_price_eur: Option<f64>,
}

/// One figure as its author printed it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedResult {
    /// The evaluation.
    pub source: String,
    /// The kind of work, or `power`.
    pub workload: String,
    /// What was measured.
    pub metric: Option<String>,
    /// The part of a benchmark.
    pub benchmark: Option<String>,
    /// The machine.
    pub system: Option<String>,
    /// The machine that a ratio is relative to.
    pub over: Option<String>,
    /// The figure.
    pub value: Option<f64>,
    /// The figure along an axis.
    #[serde(default)]
    pub curve: Vec<(f64, f64)>,
    /// Software and settings.
    pub variant: Option<String>,
    /// The operating system.
    pub os: Option<String>,
    /// The client that generated the load.
    pub client: Option<String>,
    /// What the author said limits the figure.
    pub note: Option<String>,
    /// Voltage of the supply.
    pub volts: Option<f64>,
    /// Mean current under the author's load.
    pub amps_mean: Option<f64>,
    /// Highest current.
    pub amps_peak: Option<f64>,
    /// Current when off.
    pub amps_off: Option<f64>,
    /// Current when idle.
    pub amps_idle: Option<f64>,
    /// Current when busy.
    pub amps_busy: Option<f64>,
    /// What kept it busy.
    pub busy: Option<String>,
    /// The maker's limit.
    pub nameplate_watts: Option<f64>,
    /// The author's cost of energy.
    pub eur_a_year: Option<f64>,
}

/// A figure in a list.
#[derive(Debug, Clone, Serialize)]
pub struct ListedResult {
    /// Year of publication.
    pub year: u32,
    /// The evaluation.
    pub source: String,
    /// The kind of work, or `power`.
    pub workload: String,
    /// The machine; `None` where several served.
    pub system: Option<String>,
    /// What was measured.
    pub metric: String,
    /// The figure as text; of a curve, its points.
    pub value: String,
    /// Software and settings.
    pub variant: Option<String>,
    /// The client that generated the load; `None` where it was not published.
    pub client: Option<String>,
    /// What the author said limits the figure.
    pub caveat: Option<String>,
}

impl Published {
    /// The data that this program ships.
    pub fn shipped() -> Self {
        toml::from_str(DATA).expect("the data file is part of the program, and a test reads it")
    }

    /// The kinds of work, each once.
    pub fn workloads(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.results.iter().map(|result| result.workload.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    pub(super) fn listed(&self, result: &PublishedResult) -> ListedResult {
        let parts = [&result.benchmark, &result.variant, &result.os];
        let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        ListedResult {
            year: self.sources[&result.source].year,
            source: self.sources[&result.source].title.clone(),
            workload: result.workload.clone(),
            system: result.system.as_ref().map(|system| self.systems[system].name.clone()),
            metric: self.metric_of(result),
            value: value_of(result),
            variant: (!parts.is_empty()).then(|| parts.join(", ")),
            client: result.client.clone(),
            caveat: result.note.clone(),
        }
    }

    fn metric_of(&self, result: &PublishedResult) -> String {
        let metric = match &result.metric {
            Some(metric) => metric.clone(),
            None if result.workload == "power" => "amperes".to_owned(),
            None => "concurrent users".to_owned(),
        };
        let over = result.over.as_ref().map(|over| format!(", over {}", self.systems[over].name));
        metric + &over.unwrap_or_default()
    }

    /// The figures of power of a machine in an evaluation.
    pub(super) fn power(&self, source: &str, system: &str) -> Option<&PublishedResult> {
        let is_it = |result: &&PublishedResult| {
            result.workload == "power" && result.source == source && result.system.as_deref() == Some(system)
        };
        self.results.iter().find(is_it)
    }
}

impl PublishedResult {
    /// Power under load: volts × amperes, without a power factor, so apparent power at most.
    pub(super) fn watts_at_load(&self) -> Option<Watts> {
        let amperes = self.amps_mean.or(self.amps_busy)?;
        Some(real_power(Amperes::new(amperes), Volts::new(self.volts?), 1.0))
    }

    /// The figure; of a curve the highest.
    pub(super) fn highest(&self) -> Option<f64> {
        let highest = || self.curve.iter().map(|(_, value)| *value).max_by(f64::total_cmp);
        self.value.or_else(highest)
    }
}

/// A number as people read it: thousands separated, no more digits than printed.
pub(super) fn number(value: f64) -> String {
    if value.abs() >= 1000.0 {
        return archive::model::thousands(value);
    }
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn value_of(result: &PublishedResult) -> String {
    if let Some(value) = result.value {
        return number(value);
    }
    if !result.curve.is_empty() {
        let points = result.curve.iter().map(|(at, value)| format!("{}: {}", number(*at), number(*value)));
        return points.collect::<Vec<_>>().join("; ");
    }
    let named = [
        ("off", result.amps_off),
        ("idle", result.amps_idle),
        ("busy", result.amps_busy),
        ("mean", result.amps_mean),
        ("peak", result.amps_peak),
    ];
    let amperes = named.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value?)));
    let volts = result.volts.map(|volts| format!("at {volts} V"));
    let rest = [
        result.nameplate_watts.map(|watts| format!("nameplate {watts} W")),
        result.eur_a_year.map(|cost| format!("{cost} EUR a year")),
    ];
    amperes.chain(volts).chain(rest.into_iter().flatten()).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_names_a_source_and_a_machine_of_the_file() {
        let published = Published::shipped();
        assert_eq!(published.results.len(), 45);
        for result in &published.results {
            assert!(published.sources.contains_key(&result.source), "{result:?}");
            for system in result.system.iter().chain(&result.over) {
                assert!(published.systems.contains_key(system), "{result:?}");
            }
        }
        for system in published.systems.values() {
            assert!(system.memory_gb.is_none_or(|memory| memory > 0.0) && system.cpu.as_deref() != Some(""));
        }
    }
}
