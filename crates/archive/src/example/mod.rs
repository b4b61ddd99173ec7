//! Made-up runs: nothing in them was measured.
//!
//! They go through the archive's own writer, with numbers that obey a simple model of a queue, so that readers of
//! the archive can be built, tested and timed without servers. They are tagged `made-up` and say so in their
//! caveats. Behind the feature `example`; no part of what ships.

mod comparison;
mod facts;
mod server;
mod sweep;
mod telemetry;
mod trial;

use crate::{
    error::Result,
    id::RunId,
    model::{Caveat, CpuSplit, FORMAT, Length, Load, Measure, Phases, Plan, WarmUp},
};
use std::{
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Writes a comparison of two servers under `root`: `blocks` blocks with two trials each, an invalid one among
/// them, complete with load, telemetry and configurations.
pub fn comparison(root: &Path, blocks: u32) -> Result<RunId> {
    comparison::write(root, blocks, started(0))
}

/// Writes a sweep of one server over threads and connections.
pub fn sweep(root: &Path) -> Result<RunId> {
    sweep::write(root, started(3600))
}

/// Writes the `number`th of many runs, for the index: its verdict is whole, its trials have no files beside them.
pub fn one_of_many(root: &Path, number: u32) -> Result<RunId> {
    comparison::write_small(root, number, started(u64::from(number) * 900))
}

/// 2026-11-21 00:51:39 UTC and some.
fn started(seconds_later: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_795_222_299 + seconds_later)
}

fn unix_ms(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

fn caveats() -> Vec<Caveat> {
    let caveat = |id: &str, text: &str| Caveat { id: id.to_owned(), text: text.to_owned() };
    vec![
        caveat("made-up", "This run is made up to build and test the report: no server was measured."),
        caveat(
            "one-machine",
            "Client and server shared one machine: caches, memory bandwidth and power are common to both.",
        ),
        caveat(
            "loopback",
            "Traffic went over loopback: no network card, no interrupts of one, no packet loss.",
        ),
        caveat(
            "virtual-cpus",
            "The CPUs are virtual: their speed depends on what else the hypervisor runs. Steal was watched.",
        ),
    ]
}

fn plan(measure: Measure, blocks: u32) -> Plan {
    let seconds = Duration::from_secs;
    Plan {
        format: FORMAT,
        showdown: env!("CARGO_PKG_VERSION").to_owned(),
        command: Vec::new(),
        kind: crate::model::Kind::Compare,
        workload: "static-web".to_owned(),
        on_op: None,
        length: Length::Default,
        seed: 4_028_743_217,
        blocks,
        spare_blocks: 0,
        tags: vec!["made-up".to_owned()],
        measure,
        load: Load { connections: 64, threads: 1 },
        background: None,
        cpus: CpuSplit { server: "0".to_owned(), client: "1".to_owned() },
        warm_up: WarmUp { least: seconds(3), most: seconds(30) },
        phases: Phases {
            closed_loop: seconds(4),
            search_step: seconds(2),
            measure: seconds(10),
            curve_step: seconds(2),
        },
        variants: Vec::new(),
        sweep: Vec::new(),
    }
}
