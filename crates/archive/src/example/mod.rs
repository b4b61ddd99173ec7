//! Made-up runs, to build, test and time readers of the archive without servers.
//!
//! The archive's own writer writes them, with numbers from a simple model of a queue. They have the tag `made-up` and a
//! caveat that says so. The feature `example` enables this module; no release contains it.

mod comparison;
mod facts;
mod server;
mod sweep;
mod telemetry;
mod trial;

use crate::{
    error::Result,
    id::RunId,
    model::{
        Caveat, ClientLoad, CpuSplit, FORMAT, Measure, PhaseLengths, Plan, RunKind, RunLength, WarmUpLimits,
    },
};
use std::{
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Writes a comparison of two servers under `root`: `blocks` blocks of two trials, one of them invalid, with
/// telemetry and configurations.
pub fn comparison(root: &Path, blocks: u32) -> Result<RunId> {
    comparison::write(root, blocks, started(0))
}

/// Writes a sweep of one server over threads and connections.
pub fn sweep(root: &Path) -> Result<RunId> {
    sweep::write(root, started(3600))
}

/// Writes run number `number` of many, for the index. Its verdict is complete; its trials have no files.
pub fn one_of_many(root: &Path, number: u32) -> Result<RunId> {
    comparison::write_small(root, number, started(u64::from(number) * 900))
}

/// 2026-11-21 00:51:39 UTC and some seconds later.
fn started(seconds_later: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_795_222_299 + seconds_later)
}

fn unix_ms(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

fn caveats() -> Vec<Caveat> {
    let caveat = |id: &str, text: &str| Caveat { id: id.to_owned(), text: text.to_owned() };
    vec![
        caveat("made-up", "This run is made up to test the report: no server was measured."),
        caveat(
            "one-machine",
            "Client and server shared one machine, with its caches, memory bandwidth and power.",
        ),
        caveat(
            "loopback",
            "Traffic went over loopback: without a network card, its interrupts or packet loss.",
        ),
        caveat(
            "virtual-cpus",
            "The CPUs are virtual: their speed depends on the other guests of the hypervisor. Steal was measured.",
        ),
    ]
}

fn plan(measure: Measure, blocks: u32) -> Plan {
    let seconds = Duration::from_secs;
    Plan {
        format: FORMAT,
        showdown: env!("CARGO_PKG_VERSION").to_owned(),
        command: Vec::new(),
        kind: RunKind::Compare,
        workload: "static-web".to_owned(),
        on_op: None,
        length: RunLength::Default,
        seed: 4_028_743_217,
        blocks,
        spare_blocks: 0,
        tags: vec!["made-up".to_owned()],
        measure,
        load: ClientLoad { connections: 64, threads: 1 },
        background: None,
        cpus: CpuSplit { server: "0".to_owned(), client: "1".to_owned() },
        warm_up: WarmUpLimits { min: seconds(3), max: seconds(30) },
        phases: PhaseLengths {
            closed_loop: seconds(4),
            search_step: seconds(2),
            measure: seconds(10),
            curve_step: seconds(2),
        },
        variants: Vec::new(),
        sweep: Vec::new(),
    }
}
