//! Plans with every key and every choice. A new field does not compile without an entry here.

use std::time::Duration;

use archive::model::{
    Axis, ClientLoad, CpuSplit, FORMAT, FallbackMeasure, KnobValue, LookSpending, Measure, OneSidedTuning,
    PhaseLengths, Plan, PlannedBackground, PlannedConcurrency, PlannedHost, PlannedPower, PlannedStudy,
    PlannedTurns, ReplacedMeasure, RunKind, RunLength, Variant, Vary, WarmUpLimits,
};

use super::documents::{point, text, texts};

pub fn plans() -> Vec<Plan> {
    let slo = "p99<5ms".to_owned();
    let measures = [
        (Measure::MaxThroughput, RunKind::Compare, RunLength::Quick),
        (Measure::MaxBytes, RunKind::Compare, RunLength::Default),
        (Measure::CpuTime { rate_per_s: Some(1.0) }, RunKind::Compare, RunLength::Default),
        (Measure::OneByOne { operations: 3 }, RunKind::Compare, RunLength::Thorough),
        (Measure::UserCpuTime, RunKind::Compare, RunLength::Default),
        (Measure::UserLatency, RunKind::Compare, RunLength::Default),
        (Measure::BreakingPoint, RunKind::Compare, RunLength::Default),
        (Measure::Capacity { slo: slo.clone() }, RunKind::Sweep, RunLength::Quick),
        (
            Measure::LatencyCurve { rates_per_s: vec![1.0], slo: Some(slo) },
            RunKind::Compare,
            RunLength::Quick,
        ),
    ];
    let prolonged = plan(Measure::MaxThroughput, RunKind::Compare, RunLength::Quick);
    let fallback = Some(FallbackMeasure::CpuTimeIfRefused);
    let prolonged = Plan { spending: LookSpending::Prolonged, fallback, ..prolonged };
    let of_measures = measures.map(|(measure, kind, length)| plan(measure, kind, length));
    of_measures.into_iter().chain([prolonged]).collect()
}

fn plan(measure: Measure, kind: RunKind, length: RunLength) -> Plan {
    let second = Duration::from_secs(1);
    Plan {
        format: FORMAT,
        showdown: text(),
        command: texts(),
        kind,
        workload: text(),
        on_op: Some(text()),
        length,
        seed: 1,
        blocks: 3,
        spare_blocks: 2,
        looks: vec![2],
        interrupted_looks: vec![1],
        spending: LookSpending::Early,
        within: Some(0.02),
        fail_if: Some("worse:3%".parse().expect("a condition")),
        tags: texts(),
        confirms: Some(text()),
        fallback: Some(FallbackMeasure::CpuTime),
        measure,
        replaced: Some(ReplacedMeasure { metric: text(), why: text() }),
        load: ClientLoad { connections: 64, threads: 1 },
        background: Some(PlannedBackground { rate_per_s: 40.0, connections: 8 }),
        cpus: CpuSplit { server: text(), client: text() },
        warm_up: WarmUpLimits { min: second, max: second },
        phases: PhaseLengths {
            closed_loop: second,
            search_step: second,
            measure: second,
            curve_step: second,
        },
        turns: Some(PlannedTurns { load: second }),
        power: Some(PlannedPower { levels: vec![1.0], settle: second, measure: second }),
        study: Some(PlannedStudy {
            slice: second,
            plain_slices: 5,
            experiments: 3,
            pairs: 4,
            profiled_slice: second,
            profiled_rounds: 6,
            slow_requests: true,
        }),
        concurrency: Some(PlannedConcurrency {
            from: 1,
            to: 2,
            step: 2.0,
            finer: 1,
            until_availability: 0.5,
            pace_bytes_per_s: 100.0,
            step_length: second,
            last_step_length: second,
            begin_per_s: 1.0,
            comfort_availability: 0.999,
            comfort_first_byte: second,
            keep_settings: true,
            url: Some(text()),
        }),
        like_with_like: true,
        quiet_host: true,
        one_sided: vec![OneSidedTuning { tuning: text(), variant: text(), why: text(), was_tried: true }],
        clients: vec!["old".to_owned()],
        hosts: vec![PlannedHost {
            name: text(),
            ssh: Some(text()),
            address: text(),
            kind: Some(text()),
            cpus: Some(text()),
            become_root: Some("sudo -n".to_owned()),
        }],
        variants: vec![Variant { name: text(), server: text(), host: Some(text()), knobs: point() }],
        sweep: vec![Axis { vary: Vary::Connections, values: vec![KnobValue::Integer(1)] }],
    }
}
