//! Trials on machines that are lost at a certain call: a trial fails with the machine's line, and nothing stays.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use archive::model::{Measure, Plan, PlannedTurns, TrialStatus, VariantFacts};
use host::process::{CpuUsed, LogText};
use host::telemetry::Recording;
use host::{CpuSet, HostFacts};
use load::clock::Nanos;
use load::drivers::ProtocolSpec;
use load::drivers::http::{HttpOperation, HttpSpec};
use load::engine::RunContext;
use load::spec::LoadSpec;
use machine::{
    CpuMeter, CpuReading, LeftSettings, Machine, MachineError, RecordedServer, Recorder, Room, Sampling,
    ServerOrder, ServerSqueeze, SystemUnderTest,
};
use profile::{
    Activity, CpuSamplerOptions, Stacks, ThreadSamplerOptions, ThreadStates, WaitSamplerOptions, Waits,
};
use workload::{Catalogue, OperationCount, ServerVariant, Workload};

use super::MachineLab;
use crate::lab::FinishedRun;
use crate::plan_variant::server_variant;
use crate::run::run_blocks;
use crate::run::tests::{PLAN, planned_host};
use crate::run_machines::{RunMachine, RunMachines};
use crate::run_plan_error::RunPlanError;
use crate::variant_point::{VariantPoint, variant_points};

/// The call at which the machine is lost.
#[derive(Clone, Copy, Debug, PartialEq)]
enum LostAt {
    Nowhere,
    Facts,
    Start,
    Prepare,
    RecordingBegins,
    IdleCheck,
    Memory,
    CpuTimeOfSlice,
    RecordingEnds,
}

#[derive(Clone)]
struct ScriptedMachine {
    lost_at: LostAt,
    /// Answers requests of HTTP.
    address: SocketAddr,
    log: Arc<Mutex<MachineLog>>,
}

#[derive(Default)]
struct MachineLog {
    orders: Vec<ServerOrder>,
    stopped: usize,
    removed: Vec<u32>,
}

const LINE: &str = "host old was lost: no answer for 10 s: check the host and the network to it";

impl ScriptedMachine {
    fn lost_at(lost_at: LostAt) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                thread::spawn(move || reply(connection));
            }
        });
        Ok(Self { lost_at, address, log: Arc::default() })
    }

    fn unless_lost<T>(&self, at: LostAt, value: T) -> Result<T, MachineError> {
        let (reason, remedy) = ("no answer for 10 s", "check the host and the network to it");
        let error =
            || MachineError::Lost { host: "old".into(), reason: reason.into(), remedy: remedy.into() };
        if self.lost_at == at { Err(error()) } else { Ok(value) }
    }

    fn log(&self, change: impl FnOnce(&mut MachineLog)) {
        change(&mut self.log.lock().expect("no thread panics with it"));
    }
}

/// Answers the requests of one connection, which come one at a time.
fn reply(mut connection: TcpStream) {
    let mut buffer = [0; 4096];
    while matches!(connection.read(&mut buffer), Ok(1..)) {
        if connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err() {
            return;
        }
    }
}

/// Trials ask for no study.
fn not_studied() -> MachineError {
    MachineError::OnlyHere { host: "scripted".to_owned(), what: "a study" }
}

impl Machine for ScriptedMachine {
    fn facts(&self) -> Result<HostFacts, MachineError> {
        self.unless_lost(LostAt::Facts, HostFacts::default())
    }

    fn open_kernel_settings(&self, _variants: &[ServerVariant]) -> Result<LeftSettings, MachineError> {
        Ok(LeftSettings::default())
    }

    fn try_kernel_settings(&self, _variants: &[ServerVariant]) -> Result<(), MachineError> {
        Ok(())
    }

    fn close_kernel_settings(&self) -> Vec<String> {
        Vec::new()
    }

    fn ensure_servers(&self, _workload: &Workload, _servers: &[&str]) -> Result<(), MachineError> {
        Ok(())
    }

    fn start(
        &self,
        _workload: &Workload,
        order: &ServerOrder,
    ) -> Result<Box<dyn SystemUnderTest>, MachineError> {
        self.log(|log| log.orders.push(order.clone()));
        self.unless_lost(LostAt::Start, Box::new(self.clone()) as Box<dyn SystemUnderTest>)
    }

    fn record(&self, _: &[RecordedServer], _: Duration) -> Result<Box<dyn Recorder>, MachineError> {
        self.unless_lost(LostAt::RecordingBegins, Box::new(self.clone()) as Box<dyn Recorder>)
    }

    fn stolen_under_load(&self, _cpus: &CpuSet, _length: Duration) -> Result<Option<f64>, MachineError> {
        Ok(None)
    }

    fn available_memory_share(&self) -> Result<Option<f64>, MachineError> {
        self.unless_lost(LostAt::Memory, None)
    }

    fn room(&self) -> Option<Room> {
        None
    }

    fn sample_cpu(&self, _: u32, _: &CpuSamplerOptions) -> Result<Box<dyn Sampling<Stacks>>, MachineError> {
        Err(not_studied())
    }

    fn sample_threads(
        &self,
        _: u32,
        _: &ThreadSamplerOptions,
    ) -> Result<Box<dyn Sampling<ThreadStates>>, MachineError> {
        Err(not_studied())
    }

    fn sample_waits(&self, _: u32, _: &WaitSamplerOptions) -> Result<Box<dyn Sampling<Waits>>, MachineError> {
        Err(not_studied())
    }

    fn sample_activity(
        &self,
        _: u32,
        _: &WaitSamplerOptions,
        _: &[u16],
    ) -> Result<Box<dyn Sampling<Activity>>, MachineError> {
        Err(not_studied())
    }

    fn burn(&self, _: &CpuSet, _: f64) -> Result<Box<dyn Sampling<f64>>, MachineError> {
        Err(not_studied())
    }

    fn squeeze(&self, _: u32, _: ServerSqueeze) -> Result<Box<dyn Sampling<f64>>, MachineError> {
        Err(not_studied())
    }

    fn remove_data(&self, trial: u32) {
        self.log(|log| log.removed.push(trial));
    }
}

impl SystemUnderTest for ScriptedMachine {
    fn prepare(&mut self) -> Result<(), MachineError> {
        self.unless_lost(LostAt::Prepare, ())
    }

    fn load_spec(&self) -> Result<LoadSpec, MachineError> {
        let http =
            HttpSpec { authority: self.address.to_string(), operations: vec![HttpOperation::get("/")] };
        Ok(LoadSpec::closed(ProtocolSpec::Http(http), self.address, 1))
    }

    fn count(&mut self) -> Result<Option<OperationCount>, MachineError> {
        Ok(None)
    }

    fn facts(&self) -> Result<VariantFacts, MachineError> {
        Ok(VariantFacts::default())
    }

    fn configuration(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    fn cpu_meter(&self) -> Box<dyn CpuMeter> {
        Box::new(self.clone())
    }

    fn check_alive(&self) -> Result<(), MachineError> {
        Ok(())
    }

    fn logs(&self) -> Vec<(String, LogText)> {
        Vec::new()
    }

    fn stop(&mut self) {
        self.log(|log| log.stopped += 1);
    }
}

impl CpuMeter for ScriptedMachine {
    fn used(&self) -> Result<CpuUsed, MachineError> {
        self.unless_lost(LostAt::CpuTimeOfSlice, CpuUsed::default())
    }

    fn of_running(&self) -> Result<CpuReading, MachineError> {
        self.unless_lost(LostAt::IdleCheck, CpuReading { at: Nanos::now(), time: Duration::ZERO })
    }
}

impl Recorder for ScriptedMachine {
    fn began(&self) -> Instant {
        Instant::now()
    }

    fn stop(self: Box<Self>) -> Result<Recording, MachineError> {
        self.unless_lost(LostAt::RecordingEnds, Recording::default())
    }
}

/// A plan with the shortest phases, with its servers in turns or one at a time.
fn short_plan(in_turns: bool) -> Plan {
    let mut plan: Plan = PLAN.parse().expect("a plan");
    let short = Duration::from_millis(100);
    (plan.warm_up.min, plan.warm_up.max, plan.phases.closed_loop) = (short, short, short);
    plan.measure = Measure::CpuTime { rate_per_s: Some(200.0) };
    plan.load.connections = 2;
    plan.phases.search_step = short / 10;
    plan.turns = in_turns.then_some(PlannedTurns { load: short });
    (plan.blocks, plan.spare_blocks) = (1, 0);
    plan
}

fn run(machine: &ScriptedMachine, plan: &Plan) -> Result<FinishedRun, RunPlanError> {
    let runs = tempfile::tempdir().expect("a directory");
    run_on(machine, &[], plan, runs.path())
}

/// Runs a plan with this machine as the client's, and others with their names.
fn run_on(
    machine: &ScriptedMachine,
    others: &[(&str, &ScriptedMachine)],
    plan: &Plan,
    runs: &std::path::Path,
) -> Result<FinishedRun, RunPlanError> {
    let workload = Catalogue::default().find("static-web").expect("a built-in workload");
    let variant = |point: &VariantPoint| {
        server_variant(&workload, &point.variant(plan)).expect("a server of the workload")
    };
    let variants = variant_points(plan).iter().map(variant).collect();
    let context = RunContext::default();
    let mut lab = MachineLab {
        guess: None,
        workload,
        machines: RunMachines::new(
            plan,
            RunMachine { name: None, machine, server_cpus: "0".parse().expect("a CPU") },
            others.iter().map(|(name, machine)| RunMachine {
                name: Some((*name).to_owned()),
                machine: *machine,
                server_cpus: "0-3".parse().expect("CPUs"),
            }),
            "1".parse().expect("a CPU"),
        ),
        variants,
        context: &context,
        power: None,
        breaking_point: None,
        one_at_a_time: None,
    };
    run_blocks(plan, &mut lab, runs, &AtomicBool::new(false), &mut |_| {})
}

#[test]
fn a_lost_machine_fails_its_trials_with_its_line_whenever_that_is() -> std::io::Result<()> {
    use LostAt as At;
    let of_turns = [At::IdleCheck, At::Memory];
    let of_all = [At::Start, At::Prepare, At::RecordingBegins, At::CpuTimeOfSlice, At::RecordingEnds];
    let cases = of_all.iter().flat_map(|at| [(*at, true), (*at, false)]);
    for (lost_at, in_turns) in cases.chain(of_turns.map(|at| (at, true))) {
        let machine = ScriptedMachine::lost_at(lost_at)?;
        let finished = run(&machine, &short_plan(in_turns)).expect("the trials have their records");
        let stopped = finished.stopped.unwrap_or_default();
        assert!(stopped.contains(LINE), "{lost_at:?}, in turns: {in_turns}: {stopped:?}");
        let log = machine.log.lock().expect("no thread panics with it");
        let ordered: Vec<u32> = log.orders.iter().map(|order| order.trial).collect();
        assert_eq!(log.removed, ordered, "{lost_at:?}: no data stays");
        let running = if lost_at == At::Start { 0 } else { ordered.len() };
        assert_eq!(log.stopped, running, "{lost_at:?}: all servers are stopped");
    }
    Ok(())
}

#[test]
fn a_machine_without_facts_ends_the_run() -> std::io::Result<()> {
    let machine = ScriptedMachine::lost_at(LostAt::Facts)?;
    let error = run(&machine, &short_plan(true)).expect_err("no facts").to_string();
    assert_eq!(error, LINE);
    Ok(())
}

#[test]
fn an_order_has_all_that_a_server_is_started_with() -> std::io::Result<()> {
    let machine = ScriptedMachine::lost_at(LostAt::Prepare)?;
    let mut plan = short_plan(true);
    plan.on_op = Some("get-1k".to_owned());
    run(&machine, &plan).expect("the trials have their records");
    let mut log = machine.log.lock().expect("no thread panics with it");
    log.orders.sort_by(|a, b| a.name.cmp(&b.name));
    let [apache, nginx] = &log.orders[..] else { panic!("{:?}", log.orders) };
    assert_eq!((apache.name.as_str(), apache.variant.server.as_str()), ("apache", "apache"));
    assert_eq!((nginx.cpus.to_string(), nginx.connections, nginx.seed), ("0".to_owned(), 2, 1));
    assert_eq!(nginx.on_op.as_deref(), Some("get-1k"));
    assert_ne!(nginx.trial, apache.trial, "each has a name of its own");
    Ok(())
}

/// The plan with its first variant on the host `old`, and the second on `new`.
fn on_two_hosts(mut plan: Plan) -> Plan {
    for (variant, (name, address)) in plan.variants.iter_mut().zip([("old", "10.1.0.5"), ("new", "10.1.0.6")])
    {
        variant.host = Some(name.to_owned());
        plan.hosts.push(planned_host(name, address));
    }
    plan
}

#[test]
fn a_lost_host_fails_its_own_trials_and_the_others_go_on() -> Result<(), Box<dyn std::error::Error>> {
    use LostAt as At;
    for lost_at in
        [At::Start, At::Prepare, At::RecordingBegins, At::IdleCheck, At::CpuTimeOfSlice, At::RecordingEnds]
    {
        for in_turns in [true, false] {
            let [here, new] =
                [ScriptedMachine::lost_at(At::Nowhere)?, ScriptedMachine::lost_at(At::Nowhere)?];
            let old = ScriptedMachine::lost_at(lost_at)?;
            let plan = on_two_hosts(Plan { spare_blocks: 0, ..short_plan(in_turns) });
            if lost_at == At::IdleCheck && !in_turns {
                continue;
            }
            let runs = tempfile::tempdir()?;
            let finished = run_on(&here, &[("old", &old), ("new", &new)], &plan, runs.path())?;
            let run = archive::Run::open(&finished.dir)?;
            for record in &run.trials {
                let trial = &record.trial;
                let is_lost = plan.variants[0].name == trial.variant;
                let reasons = trial.reasons.join("; ");
                let lines = reasons.matches(LINE).count();
                assert_eq!(lines, usize::from(is_lost), "{lost_at:?}, in turns: {in_turns}: {reasons}");
                assert_eq!(trial.status == TrialStatus::Failed, is_lost, "{lost_at:?}: {reasons}");
                let files = &trial.files;
                assert_eq!(files.client_telemetry.is_some(), !is_lost, "that of the client is beside it");
            }
        }
    }
    Ok(())
}

#[test]
fn a_host_with_servers_only_gives_them_all_its_cpus() -> Result<(), Box<dyn std::error::Error>> {
    let [here, old, new] = [LostAt::Nowhere, LostAt::Prepare, LostAt::Prepare].map(ScriptedMachine::lost_at);
    let [here, old, new] = [here?, old?, new?];
    let runs = tempfile::tempdir()?;
    let finished =
        run_on(&here, &[("old", &old), ("new", &new)], &on_two_hosts(short_plan(true)), runs.path())?;
    let facts = archive::Run::open(&finished.dir)?.facts.ok_or("facts")?;
    assert_eq!(facts.hosts.keys().collect::<Vec<_>>(), ["new", "old"]);
    let log = old.log.lock().expect("no thread panics with it");
    let [order, ..] = &log.orders[..] else { panic!("{:?}", log.orders) };
    assert_eq!(
        (order.cpus.to_string(), order.address.to_string()),
        ("0-3".to_owned(), "10.1.0.5".to_owned())
    );
    assert!(here.log.lock().expect("no thread panics with it").orders.is_empty(), "the client only");
    Ok(())
}

#[test]
fn blocks_of_kinds_take_their_machines_in_turns() -> Result<(), Box<dyn std::error::Error>> {
    let [here, a, b, other] = [(); 4].map(|()| ScriptedMachine::lost_at(LostAt::Prepare));
    let (here, a, b, other) = (here?, a?, b?, other?);
    let mut plan = on_two_hosts(Plan { spare_blocks: 0, ..short_plan(true) });
    for (host, kind) in plan.hosts.iter_mut().zip(["small", "small"]) {
        host.kind = Some(kind.to_owned());
    }
    plan.hosts.push(planned_host("other", "10.1.0.7"));
    for variant in &mut plan.variants {
        variant.host = Some("kind:small".to_owned());
    }
    let runs = tempfile::tempdir()?;
    let finished = run_on(&here, &[("old", &a), ("new", &b), ("other", &other)], &plan, runs.path())?;
    let run = archive::Run::open(&finished.dir)?;
    let mut used: Vec<(u32, String)> = run
        .trials
        .iter()
        .map(|record| (record.trial.block, record.trial.host.clone().unwrap_or_default()))
        .collect();
    used.sort();
    used.dedup();
    let blocks: Vec<u32> = used.iter().map(|(block, _)| *block).collect();
    assert_eq!(
        blocks,
        (1..=used.len() as u32).collect::<Vec<_>>(),
        "both variants of a block share a machine"
    );
    assert!(used.windows(2).all(|pair| pair[0].1 != pair[1].1), "{used:?}");
    assert!(used.iter().all(|(_, host)| host != "other"), "{used:?}");
    Ok(())
}
