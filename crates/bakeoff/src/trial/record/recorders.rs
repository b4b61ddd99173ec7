//! The telemetry of a block: of each machine with one of its servers, and of the client's. Each recording has its begin on the
//! clock of this process.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use host::telemetry::Recording;
use machine::{MachineError, RecordedServer, Recorder};

use crate::gates::{self, WatchedMachine};
use crate::machines::of_run::RunMachines;

/// What was recorded of a machine.
#[derive(Clone)]
pub struct MachineRecording {
    /// The telemetry.
    pub recording: Recording,
    /// When it began.
    pub began: Instant,
}

/// What was recorded for a trial during its load.
pub struct RecordedLoad {
    /// Of the server's machine, with this server's columns.
    pub server: MachineRecording,
    /// Of the machines that made the load, except for the server's.
    pub clients: Vec<(usize, MachineRecording)>,
    /// Of the machines whose programs the server's machine or a client's sees, as the machine around a container does.
    pub beside: Vec<(usize, MachineRecording)>,
}

impl RecordedLoad {
    /// The recording of a machine other than the server's.
    pub fn other(&self, machine: usize) -> Option<&MachineRecording> {
        self.clients
            .iter()
            .chain(&self.beside)
            .find(|(index, _)| *index == machine)
            .map(|(_, recording)| recording)
    }
}

/// Recordings that go on.
pub struct Recorders {
    running: BTreeMap<usize, Box<dyn Recorder>>,
    /// The machines that could not begin one, with the reason.
    pub failed: Vec<(usize, Arc<MachineError>)>,
}

/// The recordings that have ended, by the index of their machine; or why a machine has none.
pub struct Recordings(BTreeMap<usize, Result<MachineRecording, Arc<MachineError>>>);

impl Recorders {
    /// Begins the recordings of these servers, each on its machine, and the recordings of the clients' machines.
    pub fn begin(
        machines: &RunMachines<'_>,
        servers: impl IntoIterator<Item = (usize, RecordedServer)>,
        period: Duration,
    ) -> Self {
        let mut by_machine: BTreeMap<usize, Vec<RecordedServer>> =
            machines.clients().iter().map(|client| (*client, Vec::new())).collect();
        for (machine, server) in servers {
            by_machine.entry(machine).or_default().push(server);
        }
        let mut recorders = Self { running: BTreeMap::new(), failed: Vec::new() };
        for (index, servers) in by_machine {
            match machines.get(index).machine.record(&servers, period) {
                Ok(recorder) => _ = recorders.running.insert(index, recorder),
                Err(error) => recorders.failed.push((index, Arc::new(error))),
            }
        }
        recorders
    }

    /// Ends the recordings.
    pub fn stop(self) -> Recordings {
        let stop = |recorder: Box<dyn Recorder>| {
            let began = recorder.began();
            recorder.stop().map(|recording| MachineRecording { recording, began }).map_err(Arc::new)
        };
        let stopped = self.running.into_iter().map(|(index, recorder)| (index, stop(recorder)));
        let failed = self.failed.into_iter().map(|(index, error)| (index, Err(error)));
        Recordings(stopped.chain(failed).collect())
    }
}

impl Recordings {
    /// Whether other programs or the hypervisor used more of a machine than the gates allow. Not known of a machine that was not
    /// recorded.
    pub fn are_of_a_disturbed_machine(&self, machines: &RunMachines<'_>, machine: usize) -> bool {
        let Some(Ok(MachineRecording { recording, .. })) = self.0.get(&machine) else { return false };
        let always = (0, u64::MAX);
        gates::is_disturbed(&WatchedMachine {
            name: None,
            telemetry: recording,
            cpus: machines.used_cpus(machine),
            window_us: always,
            measured_us: always,
            seen: Vec::new(),
        })
    }

    /// What was recorded for a server on one of these machines. `own_part` takes its part of the recording.
    pub fn of(
        &self,
        machines: &RunMachines<'_>,
        machine: usize,
        own_part: impl FnOnce(&Recording) -> Recording,
    ) -> Result<RecordedLoad, Arc<MachineError>> {
        let recorded = |machine: usize| match self.0.get(&machine) {
            Some(Ok(recorded)) => Ok(recorded),
            Some(Err(error)) => Err(Arc::clone(error)),
            None => unreachable!("every machine of the trials is recorded"),
        };
        let clients = machines.clients();
        let MachineRecording { recording, began } = recorded(machine)?;
        let mut others = Vec::new();
        for client in clients.iter().filter(|client| **client != machine) {
            others.push((*client, recorded(*client)?.clone()));
        }
        let is_one = |index: &usize| *index == machine || clients.contains(index);
        let seen = clients.iter().chain([&machine]).flat_map(|one| machines.seen_by(*one)).copied();
        let beside: BTreeSet<usize> = seen.filter(|index| !is_one(index)).collect();
        Ok(RecordedLoad {
            server: MachineRecording { recording: own_part(recording), began: *began },
            clients: others,
            beside: beside
                .into_iter()
                .filter_map(|index| Some((index, self.0.get(&index)?.as_ref().ok()?.clone())))
                .collect(),
        })
    }
}
