//! Resolves a request, as given on a command line, to a plan that leaves no default open.

use std::time::Duration;

use archive::model::{
    ClientLoad, CpuSplit, FORMAT, FallbackMeasure, LookSpending, Measure, Plan, PlannedBackground,
    PlannedConcurrency, PlannedHost, PlannedStudy, PlannedTurns, RunKind, RunLength, Variant,
};
use host::Host;
use host::knobs::Quieting;
use machine::{HostEntry, knob_value};
use workload::{Catalogue, ServerVariant, Workload};

use crate::plan;
use crate::plan::check::{check, moves_bytes, objective, own_load, why_one_at_a_time};
use crate::plan::error::PlanError;
use crate::plan::fallback;
use crate::plan::fallback::may_fall_back;
use crate::plan::kind_assignment;
use crate::plan::label;
use crate::plan::looks;
use crate::plan::preset::{self, Preset, long_enough_for};
use crate::plan::quiet_host::quieted;
use crate::plan::sweep_axis;
use crate::plan::variant_point::variant_points;

/// Which measure a request asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum MeasureRequest {
    /// The workload's own measure: capacity under its objective, or throughput where a runner makes the load.
    #[default]
    Default,
    /// The workload's own measure in a closed loop, which is sharper in the same time: throughput or bytes, unless its operations
    /// are timed one at a time.
    DefaultInClosedLoop,
    /// Capacity under an objective.
    Capacity,
    /// Operations per second in a closed loop.
    Throughput,
    /// Bytes per second in a closed loop.
    Bytes,
    /// Operations per hour, one at a time.
    OneByOne,
    /// Latency at these rates; without any, at those of the sweep's axis.
    Latency(Vec<f64>),
    /// CPU time of the server for each operation, at this rate or at one that the first block chooses.
    CpuTime(Option<f64>),
    /// Downloads in progress at which the server breaks, by these steps.
    BreakingPoint(PlannedConcurrency),
}

/// The workload whose file is downloaded until servers break, if none is named.
pub const DOWNLOAD: &str = "download";

/// Blocks of a comparison of breaking points: each trial takes a minute, and its value is one of a server that has run out of
/// something, which hardly varies.
const BREAKS: u32 = 6;

/// A request for a comparison or a sweep.
#[derive(Clone, Debug, Default)]
pub struct PlanRequest {
    /// The command line, program name first.
    pub command: Vec<String>,
    /// Whether to explain the servers instead of comparing them.
    pub explains: bool,
    /// The steps of a run of transfers, instead of a comparison.
    pub transfers: Option<PlannedConcurrency>,
    /// Whether an explanation shows slow requests step by step.
    pub slow_requests: bool,
    /// Variants as written: `apache:mpm=event`, `nginx@old`, `old=nginx:sendfile=off`.
    pub variants: Vec<String>,
    /// The machine of the variants that name none.
    pub on: Option<String>,
    /// Whether the run ends where the packages of one server differ between machines.
    pub like_with_like: bool,
    /// What makes this machine quieter while it measures; none leaves it as it is.
    pub quiet_host: Option<Quieting>,
    /// The machines that the user has.
    pub hosts: Vec<HostEntry>,
    /// The names of those that make the load; empty for this machine.
    pub clients: Vec<String>,
    /// Name or path of the workload; if none is given, the one that has these servers.
    pub workload: Option<String>,
    /// The measure.
    pub measure: MeasureRequest,
    /// The objective; the workload's own if none is given.
    pub slo: Option<String>,
    /// Restricts the mix to one operation.
    pub on_op: Option<String>,
    /// Axes as written; a sweep if there are any.
    pub vary: Vec<String>,
    /// The preset; the default one if none is given.
    pub length: Option<RunLength>,
    /// Number of blocks instead of the preset's.
    pub blocks: Option<u32>,
    /// About how long the run may take instead of the preset's number of blocks.
    pub time: Option<Duration>,
    /// The precision with which the run ends, instead of with the first verdict.
    pub within: Option<f64>,
    /// Number of spare blocks instead of half of the blocks.
    pub spare_blocks: Option<u32>,
    /// Number of connections instead of the workload's.
    pub connections: Option<u32>,
    /// A fixed background load.
    pub background: Option<PlannedBackground>,
    /// The seed; a random one if none is given.
    pub seed: Option<u32>,
    /// Tags to find the run by.
    pub tags: Vec<String>,
}

/// The plan that explains the servers of another plan, under the same load. `command` is the command line, program name first.
pub fn explaining(plan: &Plan, command: &[String], slow_requests: bool) -> Result<Plan, PlanError> {
    let explaining = Plan {
        showdown: env!("CARGO_PKG_VERSION").to_owned(),
        command: host::secrets::mask(command.iter().map(String::as_str)),
        measure: Measure::MaxThroughput,
        replaced: None,
        background: None,
        power: None,
        concurrency: None,
        study: Some(PlannedStudy { slow_requests, ..preset::study(plan.length) }),
        sweep: Vec::new(),
        ..of_one_block(plan.clone(), RunKind::Explain)
    };
    check(&explaining)?;
    Ok(explaining)
}

/// The plan with levels of load at which watts are measured: the full load, or all of [`preset::LOAD_LEVELS`]; and active idle.
pub fn measuring_power(plan: &Plan, all_levels: bool) -> Result<Plan, PlanError> {
    let measuring = Plan { power: Some(preset::power(plan.length, all_levels)), ..plan.clone() };
    check(&measuring)?;
    Ok(measuring)
}

/// The plan of a run of transfers with one server: no trials, and what belongs to them.
fn of_transfers(plan: Plan, steps: &PlannedConcurrency) -> Plan {
    Plan { concurrency: Some(steps.clone()), ..of_one_block(plan, RunKind::Concurrency) }
}

/// The plan of a run of this kind that compares nothing: it has one block, no looks, and no turns.
fn of_one_block(plan: Plan, kind: RunKind) -> Plan {
    Plan {
        kind,
        blocks: 1,
        spare_blocks: 0,
        looks: Vec::new(),
        interrupted_looks: Vec::new(),
        spending: LookSpending::Late,
        within: None,
        fail_if: None,
        fallback: None,
        turns: None,
        ..plan
    }
}

/// The hosts of clients, as a plan has them.
pub fn hosts_of_clients(known: &[HostEntry], clients: &[String]) -> Result<Vec<PlannedHost>, PlanError> {
    plan::hosts::used(known, &[], clients)
}

/// How many blocks a run has, and when it may end.
struct RunBlocks {
    /// With how many it is expected to end.
    expected: u32,
    most: u32,
    looks: Vec<u32>,
    spending: LookSpending,
    /// Time under load of each server in a block.
    turns: Duration,
}

impl RunBlocks {
    /// As asked for, or as the preset has it.
    fn of(request: &PlanRequest, preset: &Preset, kind: RunKind, variants: usize, points: usize) -> Self {
        let breaks = matches!(request.measure, MeasureRequest::BreakingPoint(_));
        let (blocks, turns) = match (request.blocks, request.time) {
            (Some(blocks), _) => (blocks, preset.turns),
            (None, None) if breaks => (BREAKS, preset.turns),
            (None, Some(time)) => preset.blocks_for(time, number(points)),
            (None, None) if preset.goes_on => {
                let first = looks::early(preset.blocks, variants);
                let (looks, spending) = (vec![first], LookSpending::Early);
                return Self { expected: first, most: 2 * first, looks, spending, turns: preset.turns };
            }
            (None, None) => (preset.blocks, preset.turns),
        };
        let (looks, spending) = looks::planned(kind, blocks);
        Self { expected: blocks, most: blocks, looks, spending, turns }
    }
}

/// Makes the plan and checks it.
pub fn plan(request: &PlanRequest, host: &Host) -> Result<Plan, PlanError> {
    let length = request.length.unwrap_or(RunLength::Default);
    let sweep = request.vary.iter().map(|text| sweep_axis::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let kind = if sweep.is_empty() { RunKind::Compare } else { RunKind::Sweep };
    let (labels, without_labels) = label::split_all(&request.variants)?;
    let written = plan::hosts::on_hosts(&without_labels, request.on.as_deref());
    let steps = match &request.measure {
        MeasureRequest::BreakingPoint(steps) => Some(steps.clone()),
        _ => None,
    };
    let usual = steps.as_ref().map(|_| DOWNLOAD);
    let named = request.workload.as_deref().or(usual);
    let (workload, variants) = Catalogue::default().resolve(named, &written)?;
    let variants = plan_variants(variants.into_iter().zip(plan::hosts::names(&written)));
    let variants = label::named_by(variants, labels)?;
    let mut hosts = plan::hosts::used(&request.hosts, &variants, &request.clients)?;
    let has_servers_here = variants.iter().any(|variant| {
        // A kind is of other machines.
        variant.kind().is_none()
            && hosts
                .iter()
                .find(|host| Some(&host.name) == variant.host.as_ref())
                .is_none_or(|host| host.ssh.is_none() || plan::hosts::leads_back(host))
    });
    let preset = if kind == RunKind::Sweep { Preset::of_sweep(length) } else { Preset::of(length) };
    let (cpus, threads) = cpu_split(&workload, has_servers_here, host)?;
    plan::hosts::divide_this_machine(&mut hosts, &request.clients, &cpus);
    let threads = threads_of_clients(request).unwrap_or(threads);
    let on_op = request.on_op.clone().or_else(|| workload.load.default_operation.clone());
    let measure = measure(request, &workload, on_op.as_deref(), preset.operations)?;
    // A user who names a measure wants that one. Who names an objective wants a capacity, if one can be found.
    let is_default = matches!(request.measure, MeasureRequest::Default | MeasureRequest::DefaultInClosedLoop);
    let is_free = is_default && request.slo.is_none();
    let is_short = is_free && request.time.is_none();
    let quicker = if is_short { fallback::in_place_of(&measure, length) } else { None };
    let (measure, replaced) = quicker.map_or((measure, None), |(measure, before)| (measure, Some(before)));
    check_time(request, &measure)?;
    let preset = suited(preset, &measure, kind, &workload);
    let points = variants.len() * sweep.iter().map(|axis| axis.values.len()).product::<usize>();
    let RunBlocks { expected, most, looks, spending, turns } =
        RunBlocks::of(request, &preset, kind, variants.len(), points);
    let mut plan = Plan {
        format: FORMAT,
        showdown: env!("CARGO_PKG_VERSION").to_owned(),
        command: host::secrets::mask(request.command.iter().map(String::as_str)),
        kind,
        workload: workload.reference(),
        on_op,
        length,
        seed: request.seed.unwrap_or_else(rand::random),
        blocks: most,
        // Repeating a trial in which the server did not break gives the same result: no spare blocks.
        spare_blocks: request.spare_blocks.unwrap_or(if steps.is_some() { 0 } else { most.div_ceil(2) }),
        looks,
        interrupted_looks: Vec::new(),
        spending,
        within: request.within,
        fail_if: None,
        tags: request.tags.clone(),
        confirms: None,
        fallback: None,
        measure,
        replaced,
        load: ClientLoad {
            connections: request.connections.unwrap_or_else(|| workload.connections()),
            threads,
        },
        background: request.background,
        cpus,
        warm_up: preset.warm_up,
        phases: preset.phases,
        turns: None,
        power: None,
        study: None,
        concurrency: steps,
        like_with_like: request.like_with_like,
        quiet_host: false,
        one_sided: Vec::new(),
        hosts,
        clients: request.clients.clone(),
        variants,
        sweep,
    };
    fit_sets_of_machines(&mut plan, expected);
    if plan.measure.is_capacity()
        && let Some(limit_us) = objective(&plan.measure)?.and_then(|slo| slo.latency_limit_us())
    {
        plan.phases = long_enough_for(limit_us, &plan.phases);
    }
    if let Some(quieting) = &request.quiet_host {
        plan = quieted(plan, quieting)?;
    }
    let has_others = points > 1 && why_one_at_a_time(&plan, &workload).is_none();
    plan.turns = has_others.then_some(PlannedTurns { load: turns });
    let fallback = if is_free { FallbackMeasure::CpuTime } else { FallbackMeasure::CpuTimeIfRefused };
    plan.fallback = (is_default && may_fall_back(&plan, &workload)).then_some(fallback);
    if let Some(steps) = &request.transfers {
        plan = of_transfers(plan, steps);
    }
    if request.explains {
        return explaining(&plan, &request.command, request.slow_requests);
    }
    check(&plan)?;
    Ok(plan)
}

/// Gives each set of machines of a kind as many blocks as the others, which no look may cut off.
fn fit_sets_of_machines(plan: &mut Plan, expected: u32) {
    if let Some(sets) = kind_assignment::sets(plan) {
        plan.blocks = expected.next_multiple_of(sets);
        plan.spare_blocks = plan.spare_blocks.next_multiple_of(sets);
        (plan.looks, plan.spending) = (Vec::new(), LookSpending::Late);
    }
}

/// The preset as it suits what is measured.
fn suited(preset: Preset, measure: &Measure, kind: RunKind, workload: &Workload) -> Preset {
    match &workload.load.users {
        Some(users) if measure.is_of_users() => preset.of_users(Duration::from_secs_f64(users.mean_delay())),
        _ if measure.is_closed_loop() && kind == RunKind::Compare => preset.of_closed_loops(),
        _ if measure.is_capacity() => preset.of_capacities(),
        _ => preset,
    }
}

/// About how long the shortest run of this plan takes that can end in a verdict: it is what a shorter time gets.
pub fn shortest_run(plan: &Plan) -> Duration {
    Preset { warm_up: plan.warm_up.clone(), ..Preset::of(plan.length) }
        .shortest_run(number(variant_points(plan).len()))
}

/// Variants as the plan has them, each with a name of its own: the second `nginx` is `nginx#2`. Each may have the name of its
/// machine, which is then in its name.
fn plan_variants(variants: impl IntoIterator<Item = (ServerVariant, Option<String>)>) -> Vec<Variant> {
    let mut named: Vec<Variant> = Vec::new();
    for (variant, host) in variants {
        let written = match &host {
            None => variant.to_string(),
            Some(host) => {
                variant.to_string().replacen(&variant.server, &format!("{}@{host}", variant.server), 1)
            }
        };
        let earlier =
            named.iter().filter(|v| v.name == written || v.name.starts_with(&format!("{written}#"))).count();
        let name = if earlier == 0 { written } else { format!("{written}#{}", earlier + 1) };
        let knobs = variant.knobs.iter().map(|(name, value)| (name.clone(), knob_value(value)));
        let kernel = variant.kernel.iter().map(|(name, text)| (name.to_string(), text.as_str().into()));
        let knobs = knobs.chain(kernel).collect();
        named.push(Variant { name, server: variant.server, host, knobs });
    }
    named
}

/// A number of variants, points or CPUs.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The number of blocks follows from a time only where it is known how long a trial takes.
fn check_time(request: &PlanRequest, measure: &Measure) -> Result<(), PlanError> {
    match (request.time, measure) {
        (Some(_), Measure::OneByOne { .. }) => Err(PlanError::NoTimeLimit),
        _ => Ok(()),
    }
}

/// The CPUs of server and client on this machine, and the number of client threads. A program that makes its own load gets all
/// CPUs, and so does the client where all servers are on other machines.
fn cpu_split(workload: &Workload, has_servers: bool, host: &Host) -> Result<(CpuSplit, u32), PlanError> {
    let allowed = host.allowed_cpus().map_err(PlanError::Cpus)?;
    if !has_servers {
        let cpus = CpuSplit { server: String::new(), client: allowed.to_string() };
        return Ok((cpus, number(allowed.len())));
    }
    if workload.load.is_runner() {
        return Ok((CpuSplit { server: allowed.to_string(), client: allowed.to_string() }, 1));
    }
    let split = host::affinity::split(&host.cores(&allowed));
    let cpus = CpuSplit { server: split.server.to_string(), client: split.client.to_string() };
    Ok((cpus, number(split.client.len())))
}

/// The threads of each client, as many as the smallest has CPUs in the hosts file; none where this machine makes the load.
/// How many CPUs a client has is known only when it is reached: without `cpus`, one thread.
fn threads_of_clients(request: &PlanRequest) -> Option<u32> {
    let clients = request.hosts.iter().filter(|host| request.clients.contains(&host.name));
    clients.map(|host| host.cpus.as_ref().map_or(1, |cpus| number(cpus.len()))).min()
}

fn measure(
    request: &PlanRequest,
    workload: &Workload,
    on_op: Option<&str>,
    operations: u32,
) -> Result<Measure, PlanError> {
    use MeasureRequest as Asked;
    let slo = request.slo.clone().or_else(|| workload.slo().map(ToString::to_string));
    let slo = || slo.clone().ok_or_else(|| own_load(workload, "has no capacity"));
    let has_slo = request.slo.is_some();
    let has_users = workload.load.has_users(on_op);
    let waits = workload.load.users.as_ref().is_some_and(|users| users.mean_delay() > 0.0);
    let is_paced = has_users && (waits || workload.load.visits.is_some());
    let measure = match &request.measure {
        Asked::Default | Asked::DefaultInClosedLoop if workload.load.is_one_by_one => {
            Measure::OneByOne { operations }
        }
        Asked::OneByOne => Measure::OneByOne { operations },
        Asked::Default | Asked::DefaultInClosedLoop if moves_bytes(workload, on_op) && !has_slo => {
            Measure::MaxBytes
        }
        Asked::Bytes => Measure::MaxBytes,
        Asked::Default if workload.load.is_runner() && !has_slo => Measure::MaxThroughput,
        // The throughput of users who wait between operations is that of their delays, whatever the server can.
        Asked::Default | Asked::DefaultInClosedLoop if is_paced && !has_slo => Measure::UserCpuTime,
        Asked::Default if has_users && !has_slo => Measure::MaxThroughput,
        Asked::CpuTime(None) if has_users => Measure::UserCpuTime,
        Asked::Latency(rates) if has_users && rates.is_empty() && !has_slo => Measure::UserLatency,
        Asked::Default | Asked::Capacity => Measure::Capacity { slo: slo()? },
        Asked::Throughput | Asked::DefaultInClosedLoop => Measure::MaxThroughput,
        Asked::CpuTime(rate_per_s) => Measure::CpuTime { rate_per_s: *rate_per_s },
        Asked::BreakingPoint(_) => Measure::BreakingPoint,
        Asked::Latency(rates) if rates.is_empty() => {
            Measure::LatencyCurve { rates_per_s: Vec::new(), slo: slo().ok() }
        }
        Asked::Latency(rates) => Measure::LatencyCurve { rates_per_s: rates.clone(), slo: Some(slo()?) },
    };
    let has_objective = matches!(measure, Measure::Capacity { .. } | Measure::LatencyCurve { .. });
    if has_slo && !has_objective { Err(PlanError::UnusedSlo) } else { Ok(measure) }
}
