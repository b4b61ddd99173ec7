//! What all made-up runs have in common: the plan, the caveats, and times.

use crate::model::{
    Caveat, ClientLoad, CpuSplit, FORMAT, LookSpending, Measure, PhaseLengths, Plan, RunKind, RunLength,
    WarmUpLimits,
};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(super) fn unix_ms(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

pub(super) fn caveats() -> Vec<Caveat> {
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

pub(super) fn plan(measure: Measure, blocks: u32) -> Plan {
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
        looks: Vec::new(),
        interrupted_looks: Vec::new(),
        spending: LookSpending::Late,
        within: None,
        fail_if: None,
        tags: vec!["made-up".to_owned()],
        confirms: None,
        fallback: None,
        measure,
        replaced: None,
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
        turns: None,
        power: None,
        study: None,
        concurrency: None,
        like_with_like: false,
        quiet_host: false,
        one_sided: Vec::new(),
        hosts: Vec::new(),
        clients: Vec::new(),
        variants: Vec::new(),
        sweep: Vec::new(),
    }
}
