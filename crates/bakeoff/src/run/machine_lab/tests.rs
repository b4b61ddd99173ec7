//! Trials on a machine: whether they share it, and what stays of them where it is lost at a certain call.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use archive::RunWriter;
use archive::model::{Measure, Plan, PlannedTurns, TrialStatus, TrialTurns};
use load::engine::RunContext;
use workload::Catalogue;

use super::MachineLab;
use crate::machines::of_run::{RunMachine, RunMachines};
use crate::plan::check::{objective, server_variants};
use crate::plan::hosts::CheckedHosts;
use crate::plan::trial_order::ScheduledTrial;
use crate::plan::variant_point::variant_points;
use crate::run::error::RunPlanError;
use crate::run::execute::run_blocks;
use crate::run::lab::{FinishedRun, Lab, TrialSlot};
use crate::testing::plan::{PLAN, planned_host};
use crate::testing::scripted_machine::{LINE, LostAt, ScriptedMachine};

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
    let context = RunContext::default();
    let mut lab = lab_on(machine, others, plan, &context);
    run_blocks(plan, &mut lab, runs, &AtomicBool::new(false), &mut |_| {})
}

fn lab_on<'a>(
    machine: &'a ScriptedMachine,
    others: &[(&str, &'a ScriptedMachine)],
    plan: &Plan,
    context: &'a RunContext,
) -> MachineLab<'a> {
    let workload = Catalogue::default().find("static-web").expect("a built-in workload");
    let variants = server_variants(plan, &workload, &variant_points(plan)).expect("servers of the workload");
    MachineLab {
        workload,
        objective: objective(&plan.measure).expect("an objective"),
        machines: RunMachines::new(
            plan,
            &CheckedHosts::read(plan).expect("good hosts"),
            RunMachine { name: None, machine, server_cpus: "0".parse().expect("a CPU") },
            others.iter().map(|(name, machine)| RunMachine {
                name: Some((*name).to_owned()),
                machine: *machine,
                server_cpus: "0-3".parse().expect("CPUs"),
            }),
            "1".parse().expect("a CPU"),
        ),
        variants,
        shallow_idle: None,
        context,
        power: None,
        breaking_point: None,
        one_at_a_time: None,
    }
}

#[test]
fn a_trial_without_others_is_in_slices_too_unless_its_run_is_one_at_a_time()
-> Result<(), Box<dyn std::error::Error>> {
    let machine = ScriptedMachine::lost_at(LostAt::Nowhere)?;
    let (plan, context, runs) = (short_plan(true), RunContext::default(), tempfile::tempdir()?);
    let points = variant_points(&plan);
    let run = RunWriter::create(runs.path(), &plan, SystemTime::now())?;
    let scheduled = ScheduledTrial { number: 1, block: 2, position: 1, variant_point: 0 };
    for why in [None, Some("nginx used 5.0 % of a core while it was not loaded")] {
        let mut lab = lab_on(&machine, &[], &plan, &context);
        if let Some(why) = why {
            lab.run_one_at_a_time(why);
        }
        let writer = run.begin_trial(scheduled.number, "nginx")?;
        let (variant_point, warm_up_loop) = (&points[0], plan.phases.closed_loop);
        let slot = TrialSlot {
            scheduled: &scheduled,
            variant_point,
            writer: &writer,
            search_start: None,
            warm_up_loop,
        };
        let turns = lab.run_trials(&plan, &[slot], &mut |_| {}).remove(0)?.trial.turns;
        let is_in_slices = matches!(&turns, Some(TrialTurns::InTurns { trials, .. }) if *trials == [1]);
        let is_alone = turns == why.map(|why| TrialTurns::OneAtATime { why: why.to_owned() });
        assert!(if why.is_some() { is_alone } else { is_in_slices }, "{turns:?}");
    }
    Ok(())
}

#[test]
fn servers_that_are_up_together_have_their_own_kernel_settings_while_they_are_loaded()
-> Result<(), Box<dyn std::error::Error>> {
    const SETTING: &str = "net.ipv4.tcp_autocorking";
    let machine = ScriptedMachine::lost_at(LostAt::Nowhere)?;
    let mut plan = short_plan(true);
    plan.variants[0].knobs.insert(SETTING.to_owned(), "0".into());
    run(&machine, &plan)?;
    let log = machine.log.lock().expect("no thread panics with it");
    let values: Vec<Option<&str>> =
        log.settings.iter().map(|settings| settings.values().next().map(String::as_str)).collect();
    let of = |wanted: Option<&str>| values.iter().filter(|value| **value == wanted).count();
    assert!(
        of(Some("0")) > 2 && of(Some("0")) == of(None),
        "one warm-up and several slices each: {values:?}"
    );
    Ok(())
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
                // What was recorded before the load failed is kept, as far as all machines still give it.
                let was_loaded =
                    !is_lost || !matches!(lost_at, At::Start | At::Prepare | At::RecordingBegins);
                let is_recorded = was_loaded && (!is_lost || lost_at != At::RecordingEnds);
                assert_eq!(trial.files.client_telemetry.is_some(), is_recorded, "{lost_at:?}");
                assert_eq!(!trial.phases.is_empty(), was_loaded, "{lost_at:?}");
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
