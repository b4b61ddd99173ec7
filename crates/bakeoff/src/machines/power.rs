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
    /// The servers whose machine it measures.
    pub servers: Vec<MeteredServer>,
}

/// A server whose machine has a meter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeteredServer {
    /// The variant of the plan, by its index.
    pub variant: usize,
    /// The host, where the variant takes several in turns and each has its own meter; none for wherever it runs.
    pub host: Option<String>,
}

impl MeteredServer {
    fn is(&self, variant: usize, host: Option<&str>) -> bool {
        self.variant == variant && self.host.as_deref().is_none_or(|own| Some(own) == host)
    }
}

/// Meters that are read.
pub struct RunPower {
    recorder: PowerRecorder,
    /// The servers of each meter.
    servers: Vec<Vec<MeteredServer>>,
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
        Ok(Some(Self { recorder, servers: meters.iter().map(|meter| meter.servers.clone()).collect() }))
    }

    /// Whether a meter measures the machine of this variant on this host.
    pub fn has(&self, variant: usize, host: Option<&str>) -> bool {
        self.servers.iter().flatten().any(|server| server.is(variant, host))
    }

    /// What the meters of this variant on this host said in this time.
    pub fn between(
        &self,
        variant: usize,
        host: Option<&str>,
        from: Instant,
        to: Instant,
    ) -> Vec<MeterRecord> {
        let records = self.recorder.between(from, to).into_iter().zip(&self.servers);
        let own = records.filter(|(_, servers)| servers.iter().any(|server| server.is(variant, host)));
        own.map(|(record, _)| record).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_of_one_host_does_not_measure_the_others_of_its_kind() {
        let of_host = MeteredServer { variant: 1, host: Some("h1".to_owned()) };
        assert!(of_host.is(1, Some("h1")));
        assert!(!of_host.is(1, Some("h2")) && !of_host.is(0, Some("h1")) && !of_host.is(1, None));
        let anywhere = MeteredServer { variant: 1, host: None };
        assert!(anywhere.is(1, None) && anywhere.is(1, Some("h2")));
    }
}
