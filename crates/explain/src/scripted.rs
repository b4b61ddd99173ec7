//! A scripted server for tests: figures as planted, and a throughput that follows each resource by a known elasticity.

use std::collections::BTreeMap;
use std::time::Duration;

use host::telemetry::{OtherProgram, Recording, TelemetryColumn, TelemetrySample};
use machine::ServerSqueeze;
use profile::threads::{ThreadGroup, ThreadStates, Wait, WaitKind};
use rand_distr::{Distribution, Normal};
use rand_pcg::Pcg64;
use workload::ObservedChange;

use crate::delays::DelayedCall;
use crate::figures::{self, Figures, Plain};
use crate::perturbable_loop::{LoopError, LoopFacts, PerturbableLoop, Perturbation, SliceReading};
use crate::profile_shares::{Watched, WatchedCpu, WatchedWaits};

/// Pages that its plain slices read again for each operation.
const REFAULTS_PER_OPERATION: f64 = 0.1;

/// A server with CPUs 0 and 1, and a client with CPUs 2 and 3. By itself nothing of it is saturated.
pub(crate) struct Scripted {
    pub(crate) facts: LoopFacts,
    /// How throughput follows the value of a knob.
    pub(crate) knob_elasticity: f64,
    /// How throughput follows the speed of calls.
    pub(crate) delay_elasticities: BTreeMap<DelayedCall, f64>,
    /// How throughput follows the server's memory, and what its disk reads.
    pub(crate) squeeze_elasticity: f64,
    /// How throughput follows the CPUs of the server, those of the client, and the connections.
    pub(crate) elasticities: [f64; 3],
    /// The share of its CPUs that the server needs for the throughput that something else limits; 1 where they limit.
    pub(crate) needs_cpus: f64,
    /// Columns of the telemetry.
    pub(crate) columns: BTreeMap<String, f64>,
    pub(crate) statistics: BTreeMap<String, ObservedChange>,
    pub(crate) statistics_problem: Option<String>,
    pub(crate) threads: Option<ThreadStates>,
    pub(crate) others: Vec<OtherProgram>,
    /// What profiles and waits say of it.
    pub(crate) watched: Watched,
    pub(crate) client_utilisation: f64,
    pub(crate) server_cores: f64,
    pub(crate) failed_share: f64,
    /// The share of the time that a connection waits for the client.
    pub(crate) client_delay: f64,
    /// Relative noise of a slice's throughput: the largest of it.
    pub(crate) noise: f64,
    /// Where the noise comes from: of no generator, a fixed sequence; else normal with `noise` as its standard deviation.
    pub(crate) random: Option<Pcg64>,
    /// The share of what it is told to burn that the burner gets.
    pub(crate) burner_gets: f64,
    /// The least length of a slice.
    pub(crate) shortest: Duration,
    /// After this number of slices the server ends.
    pub(crate) ends_after: usize,
    /// How often it was started once more, and how it follows its resources from then on.
    pub(crate) restarts: u32,
    pub(crate) elasticities_of_restarts: Option<[f64; 3]>,
    /// What was asked of it: perturbations in order.
    pub(crate) asked: Vec<Option<Perturbation>>,
    /// The lengths of these slices.
    pub(crate) lengths: Vec<Duration>,
}

impl Scripted {
    pub(crate) fn new() -> Self {
        let mut columns = BTreeMap::new();
        for cpu in 0..4 {
            for (state, cores) in [
                ("idle", 0.5),
                ("iowait", 0.0),
                ("irq", 0.0),
                ("softirq", 0.05),
                ("steal", 0.0),
                ("user", 0.2),
            ] {
                columns.insert(format!("cpu.{cpu}.{state}"), cores);
            }
        }
        let plain = [
            ("server.cpu.user", 0.5),
            ("server.cpu.system", 0.3),
            ("server.switches.voluntary", 100.0),
            ("server.switches.involuntary", 10.0),
            ("programs.others", 0.02),
            ("pressure.cpu.some", 0.1),
            ("pressure.io.some", 0.0),
            ("pressure.memory.some", 0.0),
            ("tcp.listen_overflows", 0.0),
            ("tcp.syn_drops", 0.0),
            ("tcp.retransmits", 0.0),
            ("tcp.segments_sent", 2000.0),
            ("tcp.passive_opens", 0.0),
            ("softnet.dropped", 0.0),
            ("softnet.squeezed", 0.0),
            ("disk.vda.busy", 0.01),
            ("disk.vda.queue", 0.01),
            ("disk.vda.reads", 0.0),
            ("disk.vda.read_bytes", 0.0),
            ("disk.vda.writes", 1.0),
            ("disk.vdb.busy", 0.0),
            ("net.eth0.sent_bytes", 1e6),
            ("net.eth0.received_bytes", 2e6),
            ("swap.in", 0.0),
            ("swap.out", 0.0),
            ("memory.major_faults", 0.0),
            ("cpu.throttles", 0.0),
        ];
        columns.extend(plain.map(|(name, value)| (name.to_owned(), value)));
        Self {
            facts: LoopFacts {
                variant: "nginx".to_owned(),
                connections: 16,
                server_cpus: "0-1".parse().expect("CPUs"),
                client_cpus: Some("2-3".parse().expect("CPUs")),
                is_root: true,
                knobs: Vec::new(),
                makes_own_load: false,
                mean_delay_s: 0.0,
                can_be_probed: true,
            },
            knob_elasticity: 0.0,
            delay_elasticities: BTreeMap::new(),
            squeeze_elasticity: 0.0,
            needs_cpus: 1.0,
            elasticities: [0.0; 3],
            columns,
            statistics: BTreeMap::new(),
            statistics_problem: None,
            threads: Some(threads(0.4, &[(WaitKind::Events, 0.55)])),
            others: Vec::new(),
            watched: Watched::default(),
            client_utilisation: 0.4,
            server_cores: 0.8,
            failed_share: 0.0,
            client_delay: 0.0,
            noise: 0.02,
            random: None,
            burner_gets: 0.95,
            shortest: Duration::ZERO,
            ends_after: usize::MAX,
            restarts: 0,
            elasticities_of_restarts: None,
            asked: Vec::new(),
            lengths: Vec::new(),
        }
    }

    /// The figures of a server of which everything is known that can be known.
    pub(crate) fn all_figures() -> Figures {
        let statistics = ["lock_waiters", "log_waits", "connections_refused", "gc_time", "evictions"];
        let mut server = statistics
            .iter()
            .fold(Self::new(), |server, name| server.statistic(name, 1.0, true, None))
            .statistic("workers_busy", 1.0, false, Some(2.0));
        server.others = vec![OtherProgram { command: "cc1".into(), pid: 812, cpu: Duration::from_secs(1) }];
        server.watched = Watched {
            cpu: Some(WatchedCpu {
                allocator: 0.1,
                collector: 0.1,
                call: Some(("getrandom".to_owned(), 0.1)),
            }),
            waits: Some(WatchedWaits { blocked_us: 10.0, ..WatchedWaits::default() }),
        };
        let (facts, watched) = (server.facts.clone(), server.watched.clone());
        let reading = server.slice(None, Duration::from_secs(1)).expect("a slice");
        figures::of(&Plain { facts: &facts, readings: &[reading], watched: &watched })
    }

    /// With these columns of the telemetry.
    pub(crate) fn with(mut self, columns: &[(&str, f64)]) -> Self {
        self.columns.extend(columns.iter().map(|(name, value)| ((*name).to_owned(), *value)));
        self
    }

    /// With the server's CPUs as busy as that.
    pub(crate) fn busy(self, each: [f64; 2]) -> Self {
        let mut server = self.with(&[("cpu.0.idle", 1.0 - each[0]), ("cpu.1.idle", 1.0 - each[1])]);
        server.server_cores = each[0] + each[1] - 0.1;
        server
    }

    pub(crate) fn follows(mut self, elasticities: [f64; 3]) -> Self {
        self.elasticities = elasticities;
        self
    }

    pub(crate) fn statistic(mut self, name: &str, value: f64, is_counter: bool, limit: Option<f64>) -> Self {
        let (unit, about) = (String::new(), format!("planted {name}"));
        self.statistics.insert(name.to_owned(), ObservedChange { value, is_counter, unit, about, limit });
        self
    }

    fn recording(&self) -> Recording {
        let column =
            |name: &String| TelemetryColumn { name: name.clone(), unit: "1".into(), help: "".into() };
        let values: Vec<Option<f64>> = self.columns.values().map(|value| Some(*value)).collect();
        let sample = |t_us| TelemetrySample { t_us, unix_ms: 0, values: values.clone() };
        Recording {
            columns: self.columns.keys().map(column).collect(),
            samples: vec![sample(500_000), sample(1_000_000)],
            others: self.others.clone(),
            ..Recording::default()
        }
    }
}

/// A group of sixteen threads that run for this share of the time, and wait.
pub(crate) fn threads(running: f64, waits: &[(WaitKind, f64)]) -> ThreadStates {
    let wait = |(kind, share): &(WaitKind, f64)| Wait {
        kind: *kind,
        call: String::new(),
        kernel_function: String::new(),
        is_uninterruptible: false,
        share: *share,
    };
    let waited: f64 = waits.iter().map(|(_, share)| share).sum();
    let group = ThreadGroup {
        name: "worker".to_owned(),
        threads: 16,
        samples: 400,
        time: Duration::from_secs(16),
        running: running / 16.0,
        runnable: (1.0 - running / 16.0 - waited).max(0.0),
        waits: waits.iter().map(wait).collect(),
        busiest_thread: running.min(1.0),
    };
    ThreadStates {
        length: Duration::from_secs(1),
        groups: vec![group],
        rounds: 25,
        has_schedstat: true,
        cost: Duration::ZERO,
    }
}

impl PerturbableLoop for Scripted {
    fn facts(&self) -> LoopFacts {
        self.facts.clone()
    }

    fn restart(&mut self, _needed: &[Perturbation]) -> Result<(), LoopError> {
        self.restarts += 1;
        self.elasticities = self.elasticities_of_restarts.unwrap_or(self.elasticities);
        Ok(())
    }

    fn slice(
        &mut self,
        perturbation: Option<&Perturbation>,
        length: Duration,
    ) -> Result<SliceReading, LoopError> {
        if self.asked.len() >= self.ends_after {
            return Err(LoopError::ServerEnded("killed by signal 9".to_owned()));
        }
        self.asked.push(perturbation.cloned());
        self.lengths.push(length);
        let (left, elasticity, connections) = match perturbation {
            None => (1.0, 0.0, self.facts.connections),
            Some(Perturbation::Knob { from, to, .. }) => {
                (*to as f64 / *from as f64, self.knob_elasticity, self.facts.connections)
            }
            Some(Perturbation::Delay { call, share, .. }) => {
                let elasticity = self.delay_elasticities.get(call).copied().unwrap_or_default();
                (1.0 - share, elasticity, self.facts.connections)
            }
            Some(Perturbation::Squeeze(
                ServerSqueeze::Memory { share } | ServerSqueeze::DiskReads { share, .. },
            )) => (1.0 - share, self.squeeze_elasticity, self.facts.connections),
            Some(Perturbation::Burn { cpus, share }) => {
                let is_server = cpus.iter().any(|cpu| self.facts.server_cpus.contains(cpu));
                (
                    1.0 - share * self.burner_gets,
                    self.elasticities[usize::from(!is_server)],
                    self.facts.connections,
                )
            }
            Some(Perturbation::Connections { share }) => {
                let connections = (f64::from(self.facts.connections) * share).round();
                (connections / f64::from(self.facts.connections), self.elasticities[2], connections as u32)
            }
        };
        let noise = match &mut self.random {
            Some(random) => Normal::new(0.0, self.noise).expect("a standard deviation").sample(random),
            // No value repeats, and neighbours differ.
            None => self.noise * (self.asked.len() as f64 * 2.399_963).sin(),
        };
        let missed = match perturbation {
            Some(Perturbation::Burn { .. }) => (left / self.needs_cpus).min(1.0),
            _ => left,
        };
        let ended_per_s = 1000.0 * missed.powf(elasticity) * (1.0 + noise);
        let kept = match perturbation {
            Some(Perturbation::Squeeze(ServerSqueeze::Memory { .. })) => left,
            _ => 1.0,
        };
        self.columns.insert("memory.refaults".to_owned(), ended_per_s * REFAULTS_PER_OPERATION / kept);
        let length_s = length.max(self.shortest).as_secs_f64();
        let operations = (ended_per_s * length_s).round();
        Ok(SliceReading {
            operations: operations as u64,
            failed: (operations * self.failed_share) as u64,
            length_s,
            throughput_per_s: ended_per_s * (1.0 - self.failed_share),
            mean_response_s: (1.0 - self.client_delay) * f64::from(connections) / ended_per_s,
            connections,
            resource_left: left,
            client_utilisation: Some(self.client_utilisation),
            server_cpu_s: self.server_cores * length_s,
            telemetry: self.recording(),
            statistics: self.statistics.clone(),
            statistics_problem: self.statistics_problem.clone(),
            threads: self.threads.clone(),
        })
    }
}

/// Columns that a machine has only with some hardware, kernel or traffic; their other names must then be there too.
const OPTIONAL: [&str; 6] = ["pressure.", "swap.", "disk.", "net.", "cpu.throttles", "server."];

#[test]
fn scripted_columns_have_the_names_of_telemetry() {
    // At least one tick, however busy the machine is.
    let sampler = host::Host::local().sample(Vec::new(), Duration::from_millis(10)).expect("a sampler");
    let recording = sampler.stop();
    let has = |name: &str| recording.columns.iter().any(|column| column.name == name);
    for name in Scripted::new().columns.keys() {
        let optional = OPTIONAL.iter().find(|family| name.starts_with(*family));
        let is_family_there =
            |family: &str| recording.columns.iter().any(|column| column.name.starts_with(family));
        let is_named =
            ["pressure.", "swap."].iter().any(|family| name.starts_with(family) && is_family_there(family));
        // A machine of the tests may have one CPU only.
        let is_expected =
            optional.is_none() && !["cpu.1.", "cpu.2.", "cpu.3."].iter().any(|cpu| name.starts_with(cpu));
        if is_expected || is_named {
            assert!(has(name), "telemetry has no column {name}");
        }
    }
    let of_disks: Vec<&str> = recording
        .columns
        .iter()
        .filter_map(|column| column.name.strip_prefix("disk.")?.rsplit_once('.').map(|(_, what)| what))
        .collect();
    if !of_disks.is_empty() {
        for what in ["busy", "queue", "reads", "read_bytes", "writes"] {
            assert!(of_disks.contains(&what), "telemetry of disks has no {what}: {of_disks:?}");
        }
    }
}
