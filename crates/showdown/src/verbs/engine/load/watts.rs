//! `showdown load --power`: the watts beside a load. Its own target is the server's machine, which the user knows.

use std::time::{Duration, Instant, SystemTime};

use host::Host;
use load::engine::LoadOutcome;
use load::output::LoadOutput;
use load::summary::Summary;
use power::{NamedSource, PowerRecorder};
use serde::Serialize;
use stats::cost::operations_per_joule;
use stats::quantity::OperationsPerSecond;

use crate::args::meters::of_argument;
use crate::exit::usage;
use crate::show::costs::load_watts::LoadWatts;

/// The time between two readings.
const PERIOD: Duration = Duration::from_secs(1);

/// The answer of a load with its watts.
#[derive(Serialize)]
pub struct MeteredOutput<'a> {
    /// The load.
    #[serde(flatten)]
    pub load: LoadOutput<'a>,
    /// Its meters.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub power: &'a [LoadWatts],
}

/// The meters of these values of `--power`. None is read yet.
pub fn named(sources: &[String]) -> anyhow::Result<Vec<NamedSource>> {
    let mut named: Vec<NamedSource> = Vec::new();
    for argument in sources {
        let taken: Vec<&str> = named.iter().map(NamedSource::name).collect();
        let source = of_argument(argument, &[], &taken);
        named.push(source.map_err(|error| usage(format!("--power: {error}")))?);
    }
    Ok(named)
}

/// Begins to read these meters; none for none.
pub fn record(named: &[NamedSource]) -> anyhow::Result<Option<PowerRecorder>> {
    if named.is_empty() {
        return Ok(None);
    }
    let virtualization = Host::local().facts().machine.virtualization;
    Ok(Some(PowerRecorder::open(named, virtualization.as_deref(), PERIOD)?))
}

/// The watts in the measured time of a load that has just ended.
pub fn watts(recorder: &PowerRecorder, outcome: &LoadOutcome, summary: &Summary) -> Vec<LoadWatts> {
    let now = Instant::now();
    let ago = SystemTime::now().duration_since(outcome.began).unwrap_or_default();
    let from = now.checked_sub(ago).unwrap_or(now);
    let records = recorder.between(from, now).into_iter().map(|record| {
        let found = record.mean(from, from + outcome.measured);
        let per_s = OperationsPerSecond::new(summary.throughput_per_s);
        let about = &record.about;
        LoadWatts {
            name: about.name.clone(),
            kind: about.kind,
            boundary: about.boundary,
            uncertainty_percent: about.uncertainty_percent,
            is_indicative: about.is_indicative(),
            watts: found.map(|found| found.mean.value()),
            operations_per_joule: found
                .filter(|found| found.mean.value() > 0.0)
                .map(|found| operations_per_joule(per_s, found.mean)),
            samples: found.map_or(0, |found| found.samples),
            failure: record.failures.last().map(|last| last.why.to_string()),
        }
    });
    records.collect()
}
