//! Makes up a trial: phases one after another, a timeline, and gates at the end.

use super::server::MadeUpServer;
use crate::model::{
    ClientHealth, CountCheck, FORMAT, Gate, GateOutcome, MeasuredValue, PhaseKind, ResourceUse,
    SaturatedResource, ServerUsage, SteadyState, SweepPoint, Tick, Trial, TrialFiles, TrialPhase,
    TrialStatus, WarmUpOutcome,
};
use rand::{RngExt, rngs::StdRng};
use std::collections::BTreeMap;

/// The position of a trial in its run.
#[derive(Debug, Clone)]
pub(super) struct TrialPlace {
    pub(super) number: u32,
    pub(super) block: u32,
    pub(super) position: u32,
    pub(super) variant: String,
    pub(super) point: SweepPoint,
    pub(super) started_unix_ms: u64,
}

/// The response time limit of every search, microseconds.
pub(super) const LIMIT_US: f64 = 5_000.0;

/// Builds a trial phase by phase.
pub(super) struct TrialBuilder<'a> {
    server: MadeUpServer,
    rng: &'a mut StdRng,
    now_s: f64,
    phases: Vec<TrialPhase>,
    timeline: Vec<Tick>,
}

impl<'a> TrialBuilder<'a> {
    pub(super) fn new(server: MadeUpServer, rng: &'a mut StdRng) -> Self {
        Self { server, rng, now_s: 0.4, phases: Vec::new(), timeline: Vec::new() }
    }

    /// A random factor around 1, at most `size` away.
    fn noise(&mut self, size: f64) -> f64 {
        1.0 + size * (self.rng.random::<f64>() + self.rng.random::<f64>() - 1.0)
    }

    /// Runs a phase at an offered rate, or in a closed loop where there is none.
    pub(super) fn phase(&mut self, kind: PhaseKind, seconds: u32, offered: Option<f64>, keep_curve: bool) {
        let rate = offered.unwrap_or(self.server.limit_per_s * 0.97);
        let achieved = rate.min(self.server.limit_per_s * 0.98) * self.noise(0.004);
        for second in 0..seconds {
            self.tick(f64::from(second), achieved, offered);
        }
        let response_time_us = self.server.times(rate);
        let slo = |p99: u64| (p99 as f64) < LIMIT_US;
        let with_slo = matches!(kind, PhaseKind::SearchStep | PhaseKind::CurveStep | PhaseKind::Measure);
        self.phases.push(TrialPhase {
            slices: None,
            tls: None,
            kind,
            start_s: self.now_s,
            length_s: f64::from(seconds),
            offered_per_s: offered,
            throughput_per_s: achieved,
            requests: (achieved * f64::from(seconds)) as u64,
            errors: BTreeMap::new(),
            meets_slo: with_slo.then(|| slo(response_time_us.p99)),
            spent: None,
            gave_up_from_us: None,
            service_time_us: self.server.times(rate * 0.6),
            response_time_us,
            response_time_curve_us: if keep_curve { self.server.curve(rate) } else { Vec::new() },
            operations: Vec::new(),
            counters: BTreeMap::new(),
            delayed_ack: None,
            client: ClientHealth {
                utilisation: 0.34 + 0.3 * rate / 200_000.0,
                delay_p99_us: 31,
                delay_us: Some(stats::times::Times {
                    mean: 11.5,
                    p50: 9,
                    p90: 17,
                    p95: 22,
                    p99: 31,
                    p99_9: 74,
                    p99_99: 190,
                    max: 412,
                }),
                stamped: Some(1.0),
                starvation: Some(0.004),
            },
            valid: true,
            reasons: Vec::new(),
        });
        self.now_s += f64::from(seconds) + 0.2;
    }

    /// Adds a warm-up to the timeline: throughput rises to that of a closed loop. It is not a phase.
    pub(super) fn warm_up(&mut self, seconds: u32) {
        let settled = self.server.limit_per_s * 0.95;
        for second in 0..seconds {
            let filled = 1.0 - 0.5_f64.powf(f64::from(second) + 1.0);
            self.tick(f64::from(second), settled * filled, None);
        }
        self.now_s += f64::from(seconds) + 0.2;
    }

    fn tick(&mut self, second: f64, throughput_per_s: f64, offered_per_s: Option<f64>) {
        let throughput_per_s = throughput_per_s * self.noise(0.02);
        let times = self.server.times(throughput_per_s);
        let late = self.noise(0.25);
        self.timeline.push(Tick {
            t_s: self.now_s + second,
            throughput_per_s,
            offered_per_s,
            p50_us: Some(times.p50),
            p99_us: Some((times.p99 as f64 * late) as u64),
            gave_up_from_us: None,
            failed: 0,
        });
    }

    /// Searches the capacity like a bisection, measures there, and adds a curve of lower rates.
    pub(super) fn capacity(&mut self) -> f64 {
        self.warm_up(4);
        self.phase(PhaseKind::ClosedLoop, 4, None, false);
        let capacity = self.server.capacity(LIMIT_US);
        for share in [0.5, 1.1, 0.8, 0.95, 1.03, 0.99, 1.01] {
            self.phase(PhaseKind::SearchStep, 2, Some(capacity * share), false);
        }
        self.phase(PhaseKind::Measure, 10, Some(capacity * 0.995), true);
        for share in [0.1, 0.3, 0.6, 0.8, 0.9, 1.02] {
            self.phase(PhaseKind::CurveStep, 2, Some(capacity * share), false);
        }
        capacity
    }

    /// Ends the trial with a value; `steal` is the share of CPU time that the hypervisor took.
    pub(super) fn finish(
        self,
        place: TrialPlace,
        measured: MeasuredValue,
        steal: f64,
        files: TrialFiles,
    ) -> Trial {
        let gates = gates(steal);
        let failed = gates.iter().filter(|gate| gate.outcome == GateOutcome::Failed);
        let reasons: Vec<String> = failed.map(|gate| gate.message.clone()).collect();
        let requests: u64 = self.phases.iter().map(|phase| phase.requests).sum();
        let steady = SteadyState::Steady { discard: 15, mean: measured.value, effective_observations: 41.0 };
        Trial {
            format: FORMAT,
            number: place.number,
            block: place.block,
            position: place.position,
            variant: place.variant,
            host: None,
            point: place.point,
            started_unix_ms: place.started_unix_ms,
            duration_s: self.now_s + 0.6,
            status: if reasons.is_empty() { TrialStatus::Valid } else { TrialStatus::Invalid },
            failed_elsewhere: false,
            reasons,
            gates,
            measured: Some(measured),
            phases: self.phases,
            background: None,
            warm_up: Some(WarmUpOutcome {
                discarded_s: 1.5,
                interval_s: 0.1,
                throughput: steady.clone(),
                p99: steady,
            }),
            turns: None,
            timeline: self.timeline,
            counts: vec![CountCheck {
                counter: "requests".to_owned(),
                client: requests,
                unanswered: 0,
                server: requests + 64,
            }],
            server: Some(ServerUsage {
                user_cpu_s: 2.9,
                system_cpu_s: 6.8,
                cores: 0.97,
                peak_rss_bytes: 48 << 20,
                processes: 3,
                threads: 52,
                descriptors: 214,
                parts: Vec::new(),
            }),
            cpu_time: None,
            users: None,
            load_numbers: BTreeMap::new(),
            neighbours: None,
            saturated: Some(saturated()),
            power: None,
            files,
        }
    }
}

fn saturated() -> SaturatedResource {
    let usage = |resource: &str, utilisation| ResourceUse { resource: resource.to_owned(), utilisation };
    SaturatedResource {
        resource: "server CPU".to_owned(),
        utilisation: Some(0.97),
        evidence: vec![
            "CPU 0, the server's only one, was busy for 97 % of the measurement: 29 % user, 52 % system, 16 % softirq."
                .to_owned(),
            "The client needed 52 % of CPU 1, and sent with a p99 lag of 31 µs.".to_owned(),
        ],
        candidates: vec![
            usage("server CPU", 0.97),
            usage("client CPU", 0.52),
            usage("memory", 0.18),
            usage("network", 0.09),
            usage("disk", 0.01),
        ],
    }
}

fn gates(steal: f64) -> Vec<Gate> {
    let gate = |id: &str, passed: bool, measured: &str, threshold: &str, message: &str| Gate {
        id: id.to_owned(),
        outcome: if passed { GateOutcome::Passed } else { GateOutcome::Failed },
        measured: measured.to_owned(),
        share: None,
        threshold: threshold.to_owned(),
        message: message.to_owned(),
    };
    let percent = format!("{:.1} %", steal * 100.0);
    let steal_message = format!(
        "the hypervisor took {percent} of the CPU time: run when the machine is less busy, or on another machine"
    );
    vec![
        gate("client-cpu", true, "52 %", "at most 90 %", "the client had capacity left"),
        gate("client-lag", true, "31 µs", "at most 100 µs", "sends were on time"),
        gate("steady-state", true, "1.5 s", "within 30 s", "throughput and p99 are steady"),
        gate("errors", true, "0 %", "at most 1 %", "no operation failed"),
        gate(
            "steal",
            steal <= 0.02,
            &percent,
            "at most 2 %",
            if steal <= 0.02 { "the hypervisor took almost no CPU time" } else { &steal_message },
        ),
        Gate {
            id: "cpu-frequency".to_owned(),
            outcome: GateOutcome::NotApplicable,
            measured: String::new(),
            share: None,
            threshold: "within 3 %".to_owned(),
            message: "a virtual CPU does not report its frequency".to_owned(),
        },
        gate("swap", true, "0 B/s", "none", "no memory was swapped"),
        gate("server-restarts", true, "0", "none", "no process of the server was restarted"),
        gate("clock-jumps", true, "0.1 ms", "at most 10 ms", "the clock did not step"),
        gate("counts", true, "0.01 %", "at most 0.5 %", "the counts of server and client agree"),
    ]
}
