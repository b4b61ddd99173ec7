//! SWaP and work for each joule of the published figures, line by line; or why there is none.

use serde::Serialize;
use stats::cost::{operations_per_joule, swap};
use stats::quantity::{OperationsPerSecond, RackUnits};

use super::data::{Published, PublishedResult};

/// What a figure amounts to for each joule and rack unit.
#[derive(Debug, Clone, Serialize)]
pub struct Efficiency {
    /// Year of publication.
    pub year: u32,
    /// The kind of work.
    pub workload: String,
    /// The machine; `None` where several served.
    pub system: Option<String>,
    /// Software and settings.
    pub variant: Option<String>,
    /// What was measured.
    pub metric: String,
    /// The figure; of a curve its highest value.
    pub value: Option<f64>,
    /// Volts × amperes of the same evaluation: apparent power, an estimate.
    pub watts: Option<f64>,
    /// Height of the machine.
    pub rack_units: Option<f64>,
    /// Operations for each joule; `None` where the figure is no rate.
    pub operations_per_joule: Option<f64>,
    /// The figure over (rack units × watts).
    pub swap: Option<f64>,
    /// Why something cannot be computed.
    pub why_not: Option<String>,
    /// What the author said limits the figure.
    pub caveat: Option<String>,
}

/// A line for each figure of work, in the order of the file.
pub(super) fn all(published: &Published) -> Vec<Efficiency> {
    let of_work = published.results.iter().filter(|result| result.workload != "power");
    of_work.map(|result| of(published, result)).collect()
}

fn of(published: &Published, result: &PublishedResult) -> Efficiency {
    let listed = published.listed(result);
    let system = result.system.as_ref().map(|name| &published.systems[name]);
    let power = result.system.as_ref().and_then(|name| published.power(&result.source, name));
    let watts = power.and_then(PublishedResult::watts_at_load);
    let rack_units = system.and_then(|system| system.rack_units);
    let value = result.highest();
    let mut line = Efficiency {
        year: listed.year,
        workload: listed.workload,
        system: listed.system,
        variant: listed.variant,
        metric: listed.metric,
        value,
        watts: None,
        rack_units,
        operations_per_joule: None,
        swap: None,
        why_not: None,
        caveat: listed.caveat,
    };
    let metric = line.metric.clone();
    let is_rate = metric.starts_with("requests/s") || metric.starts_with("ops/s");
    let is_work = is_rate || metric.starts_with("concurrent downloads");
    let (Some(value), true) = (value, is_work) else {
        line.why_not = Some(why_no_work(&metric).to_owned());
        return line;
    };
    let Some(watts) = watts else {
        line.why_not = Some("its author published no power for this machine".to_owned());
        return line;
    };
    line.watts = Some(watts.value());
    let rate = OperationsPerSecond::new(value);
    line.operations_per_joule = is_rate.then(|| operations_per_joule(rate, watts));
    line.swap = rack_units.map(|units| swap(rate, RackUnits::new(units), watts));
    line.why_not = match rack_units {
        None => Some("no SWaP: the height of this machine is not published".to_owned()),
        Some(_) if result.workload == "kv" => {
            Some("the watts are of CPU-bound processes, not of this benchmark".to_owned())
        }
        Some(_) => None,
    };
    line
}

/// Why a figure is no amount of work that watts could be divided into.
fn why_no_work(metric: &str) -> &'static str {
    match metric {
        m if m.starts_with("SWaP") => "performance and watts behind this SWaP are not published",
        m if m.starts_with("ratio") => "a ratio of two machines has no watts",
        m if m.starts_with("latency") => "a latency is not an amount of work",
        m if m.starts_with("single download") => "one connection does not load the machine",
        m if m.starts_with("minutes") => "its author published no power for a build",
        m if m.starts_with("improvement") => "a percentage has no watts",
        _ => "its author published no power",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swap_is_computed_where_performance_height_and_watts_are_of_one_evaluation() {
        let lines = all(&Published::shipped());
        let t2000 = &lines[0];
        assert_eq!((t2000.value, t2000.watts, t2000.rack_units), (Some(5718.0), Some(240.0), Some(2.0)));
        assert!((t2000.swap.unwrap() - 11.9125).abs() < 1e-9);
        assert!((t2000.operations_per_joule.unwrap() - 23.825).abs() < 1e-9);
        let itanium = &lines[1];
        assert_eq!((itanium.swap, itanium.watts), (None, Some(432.0)));
        assert!(itanium.why_not.as_ref().unwrap().contains("height"));
        let memcached = lines.iter().find(|line| line.workload == "cache").unwrap();
        assert_eq!((memcached.watts, memcached.swap), (None, None));
    }

    #[test]
    fn every_line_has_a_figure_or_a_reason() {
        for line in all(&Published::shipped()) {
            assert!(line.swap.is_some() || line.why_not.is_some(), "{line:?}");
        }
    }
}
