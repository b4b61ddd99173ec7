//! A server of a plan as a study sees it: what each slice is made of. The server and its load are `bakeoff`'s.

use std::collections::BTreeMap;
use std::time::Duration;

use bakeoff::HeldError;
use bakeoff::held::HeldServer as LoadedServer;
use host::CpuSet;
use machine::MachineError;
use profile::ThreadSamplerOptions;

use crate::held_server::{HeldServer, HoldError, LoopFacts, Perturbation, SliceReading};

/// How often telemetry is read: a slice of a second has ten readings.
const TELEMETRY_PERIOD: Duration = Duration::from_millis(100);

/// New connections are loaded for this long before they are measured: windows grow, and threads take their connections.
const AFTER_CONNECTING: Duration = Duration::from_millis(300);

/// A server of a plan that is studied.
pub struct StudiedServer<'s, 'a> {
    /// The server with its load.
    pub server: &'s mut LoadedServer<'a>,
    /// The CPUs of the client.
    pub client_cpus: &'s CpuSet,
}

impl From<HeldError> for HoldError {
    fn from(error: HeldError) -> Self {
        match error {
            HeldError::Interrupted => Self::Interrupted,
            HeldError::Ended { source, .. } => Self::ServerEnded(source.to_string()),
            error @ HeldError::Failed { .. } => Self::Failed(Box::new(error)),
        }
    }
}

impl From<MachineError> for HoldError {
    fn from(error: MachineError) -> Self {
        Self::Failed(Box::new(error))
    }
}

impl HeldServer for StudiedServer<'_, '_> {
    fn facts(&self) -> LoopFacts {
        LoopFacts {
            variant: self.server.name.clone(),
            connections: self.server.connections(),
            server_cpus: self.server.cpus.clone(),
            client_cpus: Some(self.client_cpus.clone()),
            is_root: rustix::process::geteuid().is_root(),
            can_burn: true,
        }
    }

    fn slice(
        &mut self,
        perturbation: Option<&Perturbation>,
        length: Duration,
    ) -> Result<SliceReading, HoldError> {
        let whole = self.server.connections();
        let connections = match perturbation {
            Some(Perturbation::Connections { share }) => {
                ((f64::from(whole) * share).round() as u32).clamp(1, whole)
            }
            Some(Perturbation::Burn { .. }) | None => whole,
        };
        if self.server.connect(connections) {
            self.server.slice(AFTER_CONNECTING, &mut |_| ())?;
        }
        let burner = match perturbation {
            Some(Perturbation::Burn { cpus, share }) => Some(self.server.burn(cpus, *share)?),
            Some(Perturbation::Connections { .. }) | None => None,
        };
        // Where threads cannot be sampled, what they wait for is unknown, and the rest goes on.
        let threads = self.server.sample_threads(&ThreadSamplerOptions::default()).ok();
        let recorder = self.server.record(TELEMETRY_PERIOD)?;
        let slice = self.server.slice(length, &mut |_| ())?;
        let telemetry = recorder.stop()?;
        let threads = threads.and_then(|threads| threads.stop().ok());
        let resource_left = match burner {
            Some(burner) => burner.stop()?.left(),
            None => f64::from(connections) / f64::from(whole),
        };
        Ok(SliceReading {
            operations: slice.operations,
            failed: slice.failed,
            length_s: slice.length.as_secs_f64(),
            throughput_per_s: slice.throughput_per_s,
            mean_response_s: slice.mean_response.as_secs_f64(),
            connections,
            resource_left,
            client_utilisation: Some(slice.client_utilisation),
            server_cpu_s: slice.server_cpu().as_secs_f64(),
            telemetry,
            statistics: BTreeMap::new(),
            threads,
        })
    }
}
