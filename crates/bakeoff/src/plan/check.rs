//! Checks a plan before anything is started, also a plan that the user wrote. What runs use is the result: a [`CheckedPlan`].

use archive::model::{FORMAT, Measure, Plan, RunKind, Variant, Vary};
use host::knobs::{self, Knob, KnobValues};
use load::inputs::slo::Slo;
use workload::{Catalogue, ServerVariant, VariantError, Workload};

use crate::plan;
use crate::plan::cpus::RunCpus;
use crate::plan::error::PlanError;
use crate::plan::fallback::may_fall_back;
use crate::plan::hosts::CheckedHosts;
use crate::plan::kind::PlannedKind;
use crate::plan::variant_point::{VariantPoint, variant_points};

/// A plan that can be run, with what its texts mean. [`check`] alone makes one, so nothing after it reads a text of the plan again.
#[derive(Clone, Debug)]
pub struct CheckedPlan<'p> {
    /// The plan.
    pub plan: &'p Plan,
    /// Its kind.
    pub kind: PlannedKind<'p>,
    /// Its workload.
    pub workload: Workload,
    /// The objective of its measure, if that has one.
    pub objective: Option<Slo>,
    /// The hosts that it names.
    pub hosts: CheckedHosts,
    /// The CPUs of this machine.
    pub cpus: RunCpus,
    /// Its variants at their points.
    pub points: Vec<VariantPoint>,
    /// The variant of each point, as the workload has it.
    pub variants: Vec<ServerVariant>,
}

/// Checks that a plan can be run.
pub fn check(plan: &Plan) -> Result<CheckedPlan<'_>, PlanError> {
    if plan.format != FORMAT {
        return Err(PlanError::Format(plan.format));
    }
    plan::limits::check(plan)?;
    let hosts = plan::hosts::check(plan)?;
    let workload = Catalogue::default().find(&plan.workload)?;
    if workload.load.is_runner() {
        if !plan.hosts.is_empty() {
            return Err(PlanError::OwnLoadOnHost(workload.name));
        }
        check_own_load(plan, &workload)?;
    } else if let Measure::OneByOne { .. } = plan.measure {
        return Err(PlanError::NotOneByOne(workload.name));
    }
    let kind = PlannedKind::of(plan)?;
    match kind {
        PlannedKind::Explain(_) => check_explanation(plan, &workload)?,
        PlannedKind::Compare | PlannedKind::Sweep | PlannedKind::Concurrency(_) => {}
    }
    let has_users = workload.load.has_users(plan.on_op.as_deref());
    if plan.measure.is_of_users() && !has_users {
        return Err(PlanError::NoUsers(workload.name));
    }
    if !has_users && plan.varies(&Vary::Users) {
        return Err(PlanError::NoUsersToVary(workload.name));
    }
    if has_users && workload.load.visits.is_some() && !plan.measure.is_of_users() {
        return Err(PlanError::VisitsAtRate(workload.name));
    }
    // Rates of other loads, and shares of a throughput, would be visits of users who do not leave.
    let needs_rates = !(plan.measure.is_closed_loop() || plan.measure.is_of_users())
        || plan.background.is_some()
        || plan.power.as_ref().is_some_and(|power| power.levels.iter().any(|share| *share < 1.0));
    if has_users && needs_rates {
        return Err(PlanError::UsersAtRate(workload.name));
    }
    let objective = check_measure(plan)?;
    check_breaking_point(plan)?;
    if plan.fallback.is_some() && !may_fall_back(plan, &workload) {
        return Err(PlanError::Fallback);
    }
    if plan.turns.is_some()
        && let Some(why) = why_one_at_a_time(plan, &workload)
    {
        return Err(PlanError::Turns(why));
    }
    let cpus = RunCpus::of(plan)?;
    if let Some(operation) = &plan.on_op {
        workload.only(operation)?;
    }
    let points = variant_points(plan);
    let variants = server_variants(plan, &workload, &points)?;
    check_connections(plan, &points, &variants)?;
    for (point, variant) in points.iter().zip(&variants) {
        workload.for_variant(variant, point.connections(plan))?;
    }
    Ok(CheckedPlan { plan, kind, workload, objective, hosts, cpus, points, variants })
}

/// The variant of each point, as the workload has it.
pub fn server_variants(
    plan: &Plan,
    workload: &Workload,
    points: &[VariantPoint],
) -> Result<Vec<ServerVariant>, PlanError> {
    points.iter().map(|point| Ok(server_variant(workload, &point.variant(plan))?)).collect()
}

/// A plan's variant as the workload has it. For a checked plan this does not fail.
fn server_variant(workload: &Workload, variant: &Variant) -> Result<ServerVariant, VariantError> {
    let knobs: Vec<(String, String)> =
        variant.knobs.iter().map(|(name, value)| (name.clone(), value.written())).collect();
    let knobs = knobs.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    match variant.host {
        None => workload.variant(&variant.server, knobs),
        Some(_) => workload.variant_elsewhere(&variant.server, knobs),
    }
}

/// Checks that the servers of a plan can be loaded, all at the same time.
fn check_explanation(plan: &Plan, workload: &Workload) -> Result<(), PlanError> {
    match why_one_at_a_time(plan, workload) {
        Some(why) if plan.variants.len() > 1 => Err(PlanError::ExplainedTogether(why)),
        _ => Ok(()),
    }
}

/// Whether users do something beside their mix, all the time.
fn has_users_beside(plan: &Plan, workload: &Workload) -> bool {
    workload.load.has_users(plan.on_op.as_deref()) && !workload.load.outside.beside.is_empty()
}

/// Why the servers of this plan cannot be up together; none if they can.
pub fn why_one_at_a_time(plan: &Plan, workload: &Workload) -> Option<&'static str> {
    if workload.load.is_runner() {
        Some("a program that makes its own load has the machine to itself: remove it")
    } else if has_users_beside(plan, workload) {
        Some("operations of users beside their mix go on while others are measured: remove it")
    } else if plan.background.is_some()
        || matches!(plan.measure, Measure::OneByOne { .. } | Measure::BreakingPoint)
    {
        Some(
            "a background load, operations one at a time, and the breaking point need one server at a time: remove it",
        )
    } else if keeps_kernel_of_another(plan, workload) {
        Some(
            "a kernel setting of a variant has effects that last, and the servers of its machine need to run one at a time: remove it",
        )
    } else {
        None
    }
}

/// Whether a kernel setting of a variant that lasts would reach a variant with another value: on its machine, or on that of the client. What
/// all of them have alike, no server changes for another one.
fn keeps_kernel_of_another(plan: &Plan, workload: &Workload) -> bool {
    let points = variant_points(plan);
    let mut kernels: Vec<KnobValues> = Vec::new();
    for point in &points {
        let variant = server_variant(workload, &point.variant(plan));
        kernels.push(variant.map(|variant| variant.kernel).unwrap_or_default());
    }
    let host_of = |point: &VariantPoint| plan.variants[point.variant].host.as_ref();
    let reaches = |from: &VariantPoint, to: &VariantPoint| {
        plan.is_here(&plan.variants[from.variant]) || host_of(from) == host_of(to)
    };
    points.iter().zip(&kernels).any(|(point, kernel)| {
        let mut lasting = kernel.iter().filter(|(knob, _)| !knobs::takes_effect_at_once(knob));
        let others: Vec<&KnobValues> = points
            .iter()
            .zip(&kernels)
            .filter(|(to, _)| reaches(point, to))
            .map(|(_, kernel)| kernel)
            .collect();
        lasting.any(|(knob, value)| others.iter().any(|other| other.get(knob) != Some(value)))
    })
}

impl CheckedPlan<'_> {
    /// Checks that it only sets kernel settings that are usual in comparisons, or that the user allowed.
    pub fn check_kernel_settings(&self, allowed: &[Knob]) -> Result<(), PlanError> {
        let is_allowed = |knob: &Knob| {
            knobs::usual_purpose(knob).is_some() || allowed.iter().any(|other| other.path() == knob.path())
        };
        match self.variants.iter().flat_map(|variant| variant.kernel.keys()).find(|knob| !is_allowed(knob)) {
            Some(knob) => Err(PlanError::KernelSetting(knob.clone())),
            None => Ok(()),
        }
    }
}

/// Checks a plan whose program under test makes the load: it has no rate and no connections that could be set.
fn check_own_load(plan: &Plan, workload: &Workload) -> Result<(), PlanError> {
    let has_rate = matches!(plan.measure, Measure::LatencyCurve { .. } | Measure::CpuTime { .. });
    let lacks = if plan.sweep.iter().any(|axis| !matches!(axis.vary, Vary::Knob(_))) {
        "has no connections or rate to vary"
    } else if plan.measure.slo().is_some() || has_rate {
        "has no rate to set, nor a capacity"
    } else if plan.measure == Measure::MaxBytes && !moves_bytes(workload, plan.on_op.as_deref()) {
        "reports no bytes that its operations move (bytes in [metrics])"
    } else if plan.background.is_some() {
        "has no server that a background load could be sent to"
    } else if plan.load.connections != 1 || plan.load.threads != 1 {
        "has no connections or client threads to set"
    } else {
        return Ok(());
    };
    Err(own_load(workload, lacks))
}

/// The error for a request that a workload with its own load cannot meet.
pub fn own_load(workload: &Workload, lacks: &'static str) -> PlanError {
    PlanError::OwnLoad { workload: workload.name.clone(), lacks }
}

/// Whether the operations are measured by the bytes that they move.
pub fn moves_bytes(workload: &Workload, on_op: Option<&str>) -> bool {
    let is_measured_in_bytes = |name: &str| workload.metrics.bytes.iter().any(|known| known == name);
    on_op.map_or_else(
        || workload.load.names.iter().all(|name| is_measured_in_bytes(name)),
        is_measured_in_bytes,
    )
}

/// Checks the measure, and reads its objective.
fn check_measure(plan: &Plan) -> Result<Option<Slo>, PlanError> {
    let objective = objective(&plan.measure)?;
    let varies = plan.varies(&Vary::Rate);
    let is_at_rates = match &plan.measure {
        Measure::LatencyCurve { rates_per_s, .. } => rates_per_s.is_empty(),
        Measure::CpuTime { .. } => true,
        Measure::MaxThroughput
        | Measure::MaxBytes
        | Measure::OneByOne { .. }
        | Measure::Capacity { .. }
        | Measure::UserCpuTime
        | Measure::UserLatency
        | Measure::BreakingPoint => false,
    };
    if varies && !is_at_rates {
        return Err(PlanError::SweptRate);
    }
    if let Measure::CpuTime { rate_per_s } = plan.measure {
        if plan.background.is_some() {
            return Err(PlanError::CpuTimeWithBackground);
        } else if plan.kind == RunKind::Sweep && rate_per_s.is_some() == varies {
            // The first block has a part of a sweep's points only, so it cannot choose for all of them.
            return Err(PlanError::CpuTimeOfSweep);
        }
    }
    Ok(objective)
}

/// The objective of a measure, if it has one. Plans are read here alone: a bad objective has one answer.
pub fn objective(measure: &Measure) -> Result<Option<Slo>, PlanError> {
    Ok(measure.slo().map(str::parse).transpose()?)
}

/// Checks that a plan has steps of transfers if its trials measure the breaking point, and nothing that these do not have.
fn check_breaking_point(plan: &Plan) -> Result<(), PlanError> {
    let is_measured = plan.measure == Measure::BreakingPoint;
    match &plan.concurrency {
        Some(steps) if is_measured && steps.url.is_some() => {
            Err(PlanError::BreakingPoint("the file is that of the workload: remove concurrency.url"))
        }
        None if is_measured => Err(PlanError::BreakingPoint("it needs the table concurrency: add it")),
        Some(_) if !is_measured && plan.kind != RunKind::Concurrency => {
            Err(PlanError::BreakingPoint("only trials that measure it have the table concurrency: remove it"))
        }
        _ if !is_measured => Ok(()),
        _ if plan.kind != RunKind::Compare => {
            Err(PlanError::BreakingPoint("only a comparison measures it: leave out --vary"))
        }
        _ if !plan.hosts.is_empty() || !plan.clients.is_empty() => Err(PlanError::BreakingPoint(
            "servers and clients are on this machine: leave out hosts and --clients",
        )),
        _ if plan.background.is_some() || plan.power.is_some() => Err(PlanError::BreakingPoint(
            "a background load and levels of load for watts need another measure: leave them out",
        )),
        _ => Ok(()),
    }
}

/// Checks that every copy of every server gets a connection.
fn check_connections(
    plan: &Plan,
    points: &[VariantPoint],
    variants: &[ServerVariant],
) -> Result<(), PlanError> {
    for (variant_point, variant) in points.iter().zip(variants) {
        let (instances, connections) = (variant.instances(), variant_point.connections(plan));
        if u32::from(instances) > connections {
            let name = variant_point.name(plan);
            return Err(PlanError::IdleInstances { name, instances, connections });
        }
    }
    Ok(())
}
