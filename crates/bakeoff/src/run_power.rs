//! The meters of a run: which one measures the machine of which variant, and what they said so far. They are read by this process,
//! from the first trial to the last.

use std::time::{Duration, Instant};

use host::Host;
use power::{MeterError, MeterRecord, NamedSource, PowerRecorder};

/// A meter that a user names for a run.
#[derive(Clone, Debug)]
pub struct RunMeter {
    /// The meter.
    pub source: NamedSource,
    /// The variants of the plan whose machine it measures, by their index.
    pub variants: Vec<usize>,
}

/// Meters that are read.
pub struct RunPower {
    recorder: PowerRecorder,
    /// The variants of each meter.
    variants: Vec<Vec<usize>>,
}

impl RunPower {
    /// Opens the meters and begins to read them; none for none. A meter that gives no watts now is refused: it would give none
    /// beside the load. One that disappears later costs its watts only.
    pub fn start(meters: &[RunMeter], period: Duration) -> Result<Option<Self>, MeterError> {
        if meters.is_empty() {
            return Ok(None);
        }
        let virtualization = Host::local().facts().machine.virtualization;
        let named = meters.iter().map(|meter| &meter.source);
        let recorder = PowerRecorder::open(named, virtualization.as_deref(), period)?;
        Ok(Some(Self { recorder, variants: meters.iter().map(|meter| meter.variants.clone()).collect() }))
    }

    /// Whether a meter measures the machine of this variant.
    pub fn has(&self, variant: usize) -> bool {
        self.variants.iter().any(|variants| variants.contains(&variant))
    }

    /// What the meters of this variant said in this time.
    pub fn between(&self, variant: usize, from: Instant, to: Instant) -> Vec<MeterRecord> {
        let records = self.recorder.between(from, to).into_iter().zip(&self.variants);
        records.filter(|(_, variants)| variants.contains(&variant)).map(|(record, _)| record).collect()
    }
}
