//! What the gates see of the machines of a trial: telemetry with the times of its load, and the use of the networks between them.
//! The gates judge it.

use machine::Throughput;

use super::measurement::TrialMeasurement;
use super::record::load_windows::LoadWindows;
use super::record::recorders::{MachineRecording, RecordedLoad};
use crate::gates::{SeenMachine, WatchedMachine};
use crate::machines::network_paths::NetworkUse;
use crate::machines::of_run::{HERE, RunMachines};

/// The machines of the trial with their telemetry: the server's machine, and the clients' machines where these are other ones.
pub fn watched<'r>(
    machines: &RunMachines<'_>,
    server: usize,
    recorded_load: &'r RecordedLoad,
    windows: &LoadWindows<'_>,
) -> (WatchedMachine<'r>, Vec<WatchedMachine<'r>>) {
    let watched = |index: usize, recorded: &'r MachineRecording| {
        let (window_us, measured_us) = windows.on(recorded);
        let name = machines.get(index).name.as_ref().map(|name| format!("host {name}"));
        let seen = machines.seen_by(index).iter().filter_map(|seen| {
            let recorded =
                if *seen == server { &recorded_load.server } else { recorded_load.other(*seen)? };
            let (window_us, measured_us) = windows.on(recorded);
            Some(SeenMachine { telemetry: &recorded.recording, window_us, measured_us })
        });
        WatchedMachine {
            // Where there is one machine, no message names it.
            name: machines.are_several().then(|| name.unwrap_or_else(|| "this machine".to_owned())),
            telemetry: &recorded.recording,
            cpus: if index == HERE && server != HERE {
                machines.client_cpus.clone()
            } else {
                machines.used_cpus(index)
            },
            window_us,
            measured_us,
            seen: seen.collect(),
        }
    };
    let clients = recorded_load.clients.iter().map(|(index, recorded)| watched(*index, recorded));
    (watched(server, &recorded_load.server), clients.collect())
}

/// What the measurement moved over the networks between its clients and the server. Each client makes as much of the load.
pub fn network_use(
    machines: &RunMachines<'_>,
    on: usize,
    result: &TrialMeasurement,
    server: &WatchedMachine<'_>,
) -> Vec<NetworkUse> {
    let Some(outcome) = &result.outcome else { return Vec::new() };
    let length = outcome.measured.as_secs_f64().max(f64::MIN_POSITIVE);
    let of_one = |bytes: u64| bytes as f64 / length / machines.clients().len() as f64;
    let moved = Throughput {
        to_clients: of_one(outcome.total.bytes_received()),
        to_server: of_one(outcome.total.bytes_sent()),
    };
    let (from, to) = server.window_us;
    let mean = |name: &str| server.telemetry.mean(name, from..=to);
    let retransmits =
        mean("tcp.retransmits").zip(mean("tcp.segments_sent")).map(|(again, all)| again / all.max(1.0));
    let name = |index: usize| machines.get(index).name.as_deref();
    let clients: Vec<Option<&str>> = machines.clients().iter().map(|client| name(*client)).collect();
    machines.paths.used(&clients, name(on), moved, retransmits)
}
