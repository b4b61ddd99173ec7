//! One document of each kind with every key and every choice. A new field does not compile without an entry here.

use std::collections::BTreeMap;

use archive::model::{
    CarriedLoad, ClientHealth, ConfigFile, CountCheck, CpuTimePerOperation, DelayedAck, FORMAT, FactChange,
    Facts, Gate, GateOutcome, Handshakes, InstanceLoads, KnobValue, LevelWatts, MeasuredValue, Neighbours,
    NetworkFacts, OperationTimes, OutsideOperation, PartCpuTime, PartUsage, PhaseKind, PhaseSlices,
    PowerLevel, ResourceUse, Resumption, SaturatedResource, ServerUsage, SharedNetworkFacts, SpentBound,
    SpentBudget, SteadyState, SweepPoint, Tick, Times, Trial, TrialFiles, TrialMeter, TrialPhase, TrialPower,
    TrialStatus, TrialTurns, UnsteadyReason, UserWalk, VariantFacts, WalkedOperation, WarmUpOutcome,
};
use archive::telemetry::ColumnInfo;
use archive::{Problem, RunState};
use bakeoff::event::Event;

pub fn text() -> String {
    "text".to_owned()
}

pub fn texts() -> Vec<String> {
    vec![text()]
}

pub fn map<T>(value: T) -> BTreeMap<String, T> {
    BTreeMap::from([("name".to_owned(), value)])
}

pub fn point() -> SweepPoint {
    map(KnobValue::Integer(1))
}

pub fn curve() -> Vec<(f64, u64)> {
    vec![(0.5, 100)]
}

pub fn facts() -> Facts {
    Facts {
        format: FORMAT,
        taken_unix_ms: 1,
        host: map(text()),
        hosts: map(map(text())),
        network: vec![NetworkFacts {
            client: Some(text()),
            server: Some(text()),
            round_trip_us: 1.5,
            to_client_bytes_per_s: 1.5,
            to_server_bytes_per_s: 1.5,
        }],
        shared_network: vec![SharedNetworkFacts {
            server: Some(text()),
            to_clients_bytes_per_s: 1.5,
            to_server_bytes_per_s: 1.5,
        }],
        client: map(text()),
        workload: map(text()),
        resumed: vec![Resumption {
            at_unix_ms: 1,
            block: 3,
            kept_trials: 4,
            discarded_trials: 1,
            changes: vec![FactChange { fact: text(), was: text(), is: text() }],
        }],
        variants: vec![VariantFacts {
            name: text(),
            version: text(),
            build: text(),
            allocator: text(),
            libc: text(),
            knobs: point(),
            config: vec![ConfigFile { name: text(), file: text() }],
            facts: map(text()),
        }],
    }
}

/// A trial for each status; together they have every steady state.
pub fn trials() -> Vec<Trial> {
    let not_steady = |reason| SteadyState::NotSteady { reason };
    let steady = SteadyState::Steady { discard: 5, mean: 1.0, effective_observations: 20.0 };
    let states = [
        (steady.clone(), not_steady(UnsteadyReason::TooShort { observations: 1, needed: 2 })),
        (
            not_steady(UnsteadyReason::NotFinite { index: 1 }),
            not_steady(UnsteadyReason::Drifting { relative: 0.5 }),
        ),
        (
            not_steady(UnsteadyReason::Step { at: 1, relative: 0.5 }),
            not_steady(UnsteadyReason::Wandering { effective_observations: 3.0, standard_error: 0.5 }),
        ),
        (not_steady(UnsteadyReason::Silent), steady),
    ];
    let statuses = [TrialStatus::Valid, TrialStatus::Invalid, TrialStatus::Failed, TrialStatus::Interrupted];
    statuses
        .into_iter()
        .zip(states)
        .zip(turns().into_iter().cycle())
        .map(|((status, (throughput, p99)), turns)| trial(status, throughput, p99, turns))
        .collect()
}

fn turns() -> [TrialTurns; 2] {
    [
        TrialTurns::InTurns { trials: vec![1, 2], slice_s: 0.05, rounds: 40, idle_cores: Some(0.001) },
        TrialTurns::OneAtATime { why: text() },
    ]
}

fn trial(status: TrialStatus, throughput: SteadyState, p99: SteadyState, turns: TrialTurns) -> Trial {
    let outcomes = [GateOutcome::Passed, GateOutcome::Failed, GateOutcome::Noted, GateOutcome::NotApplicable];
    let kinds = [PhaseKind::ClosedLoop, PhaseKind::SearchStep, PhaseKind::Measure, PhaseKind::CurveStep];
    Trial {
        format: FORMAT,
        number: 1,
        block: 1,
        position: 1,
        variant: text(),
        host: Some(text()),
        point: point(),
        started_unix_ms: 1,
        duration_s: 1.5,
        status,
        failed_elsewhere: true,
        reasons: texts(),
        gates: outcomes.map(gate).to_vec(),
        measured: Some(MeasuredValue { metric: text(), value: 1.5, unit: text(), higher_is_better: true }),
        phases: kinds.map(phase).to_vec(),
        background: Some(phase(PhaseKind::Background)),
        warm_up: Some(WarmUpOutcome { discarded_s: 1.5, interval_s: 0.1, throughput, p99 }),
        turns: Some(turns),
        timeline: vec![Tick {
            t_s: 0.0,
            throughput_per_s: 1.5,
            offered_per_s: Some(1.5),
            p50_us: Some(1),
            p99_us: Some(1),
            gave_up_from_us: Some(1),
            failed: 0,
        }],
        counts: vec![CountCheck { counter: text(), client: 1, unanswered: 1, server: 1 }],
        server: Some(server_usage()),
        cpu_time: Some(cpu_time()),
        users: Some(user_walk()),
        load_numbers: map(1),
        neighbours: Some(Neighbours {
            connections: 1,
            rounds: 1,
            slice_s: 0.5,
            instances: vec![InstanceLoads { alone: carried(), beside: carried() }],
            all: carried(),
            client_reasons: texts(),
        }),
        power: Some(TrialPower {
            meters: vec![TrialMeter {
                name: text(),
                kind: text(),
                boundary: text(),
                uncertainty_percent: Some(1.0),
                is_indicative: false,
                samples: 1,
                failures: 1,
                failure: Some(text()),
            }],
            levels: vec![PowerLevel {
                share: 1.0,
                start_s: 1.0,
                length_s: 1.0,
                offered_per_s: Some(1.0),
                work_per_s: 1.0,
                p99_us: Some(1),
                gave_up_from_us: Some(1),
                watts: vec![LevelWatts { meter: text(), mean: 1.0, min: 1.0, max: 1.0, samples: 1 }],
            }],
        }),
        saturated: Some(SaturatedResource {
            resource: text(),
            utilisation: Some(0.5),
            evidence: texts(),
            candidates: vec![ResourceUse { resource: text(), utilisation: 0.5 }],
        }),
        files: TrialFiles {
            power: Some(text()),
            concurrency: Some(text()),
            load_log: Some(text()),
            telemetry: Some(text()),
            client_telemetry: Some(text()),
            clients_telemetry: [(text(), text())].into(),
            config: texts(),
            logs: texts(),
            logs_left_out_bytes: 1,
        },
    }
}

fn server_usage() -> ServerUsage {
    ServerUsage {
        user_cpu_s: 1.5,
        system_cpu_s: 1.5,
        cores: 1.5,
        peak_rss_bytes: 1,
        processes: 1,
        threads: 1,
        descriptors: 1,
        parts: vec![PartUsage {
            part: text(),
            user_cpu_s: 1.5,
            system_cpu_s: 1.5,
            cores: 1.5,
            peak_rss_bytes: 1,
            processes: 1,
            threads: 1,
        }],
    }
}

fn cpu_time() -> CpuTimePerOperation {
    CpuTimePerOperation {
        rate_per_s: 1.0,
        cpu_s: 1.5,
        operations: 1,
        user_us: 1.5,
        system_us: 2.5,
        between_s: 0.5,
        slices_us: vec![1.5],
        stolen_s: 0.0,
        others_cores: Some(0.2),
        parts: vec![PartCpuTime { part: text(), each_us: 1.5 }],
    }
}

pub fn user_walk() -> UserWalk {
    UserWalk {
        count: 1,
        count_by_littles_law: Some(1.5),
        begun: 1,
        declared_delay_s: 1.5,
        drawn_delay_s: Some(1.5),
        actual_delay_s: Some(1.5),
        operations: vec![WalkedOperation {
            name: text(),
            begun: 1,
            declared_percent: 100.0,
            next_percent: vec![100.0],
            declared_next_percent: vec![100.0],
            delay: text(),
            declared_delay_s: 1.5,
            actual_delay_s: Some(1.5),
            limit: Some(text()),
            meets_limit: Some(true),
        }],
        outside: vec![OutsideOperation {
            name: text(),
            due: text(),
            requests: 1,
            failed: 1,
            mean_us: Some(1.5),
        }],
    }
}

fn carried() -> CarriedLoad {
    CarriedLoad { throughput_per_s: 1.5, p50_us: Some(1), p99_us: Some(1), gave_up_from_us: Some(1) }
}

fn gate(outcome: GateOutcome) -> Gate {
    Gate { id: text(), outcome, measured: text(), share: Some(0.5), threshold: text(), message: text() }
}

fn phase(kind: PhaseKind) -> TrialPhase {
    TrialPhase {
        kind,
        start_s: 0.5,
        length_s: 1.5,
        slices: Some(PhaseSlices { count: 40, span_s: 4.5 }),
        offered_per_s: Some(1.5),
        throughput_per_s: 1.5,
        requests: 1,
        errors: map(1),
        response_time_us: Times::default(),
        gave_up_from_us: Some(1),
        service_time_us: Times::default(),
        response_time_curve_us: curve(),
        operations: vec![OperationTimes {
            name: text(),
            requests: 1,
            failed: 0,
            response_time_us: Times::default(),
        }],
        tls: Some(Handshakes { handshakes: 1, resumed: 0, handshake_us: Times::default() }),
        counters: map(1),
        delayed_ack: Some(DelayedAck { operation: text(), gap_us: 44_000 }),
        client: ClientHealth {
            utilisation: 0.5,
            delay_p99_us: 1,
            delay_us: Some(Times::default()),
            stamped: Some(1.0),
            starvation: Some(0.01),
        },
        meets_slo: Some(true),
        spent: Some(SpentBudget {
            rate_per_s: 1.0,
            bounds: vec![SpentBound { spent: 1.0, budget: 2.0 }],
            late_share: Some(0.01),
        }),
        valid: true,
        reasons: texts(),
    }
}

pub fn column() -> ColumnInfo {
    ColumnInfo { name: text(), unit: text(), help: text() }
}

pub fn run_states() -> [RunState; 5] {
    RunState::ALL
}

pub fn problem() -> Problem {
    Problem { file: text(), text: text() }
}

pub fn events() -> Vec<Event> {
    vec![
        Event::KernelSettingRestored { setting: text(), value: text() },
        Event::KernelSettingNotRestored { problem: text() },
        Event::RunBegins { run: text(), dir: text(), trials: 12, kept: 4 },
        Event::GoesOn { blocks: 14, trials: 28, left_s: Some(60.5), company: Some(text()) },
        Event::BlockAdded { block: 7, trials: 14 },
        Event::TrialBegins { number: 1, block: 1, name: text() },
        Event::NetworkNotMeasured { between: text(), why: text() },
        Event::OneAtATime { why: text() },
        Event::MeasureReplaced { sentence: text() },
        Event::Doing { what: text() },
        Event::Said { what: text() },
        Event::Precision {
            half_width: 0.041,
            elapsed_s: 70.5,
            within: Some(0.02),
            company: Some(text()),
            expected_half_width: Some(0.019),
            left_s: Some(240.0),
        },
        Event::AimMissed { within: 0.02, half_width: 0.031, blocks: Some(44), longer_s: Some(240.0) },
        Event::Tick {
            name: text(),
            throughput_per_s: 1.5,
            p50_us: Some(1),
            p99_us: Some(1),
            gave_up_from_us: Some(1),
            failed: 0,
        },
        Event::TrialEnds {
            number: 1,
            name: text(),
            status: TrialStatus::Invalid,
            value: Some(1.5),
            unit: text(),
            reasons: texts(),
            failed_gates: vec![gate(GateOutcome::Failed)],
        },
        Event::Verdict { sentence: text() },
    ]
}
