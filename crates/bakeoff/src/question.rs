//! From what a user asks on a command line to a plan that is resolved to the last default; and the check that
//! every plan passes, also one that a user wrote.

use archive::model::{
    Background, CpuSplit, FORMAT, Kind, KnobValue, Length, Load, Measure, Plan, Variant, Vary,
};
use host::{CpuSet, Host};
use load::inputs::slo::Slo;
use workload::{Catalogue, Workload};

use crate::cell::cells;
use crate::preset::{Preset, long_enough_for};
use crate::vary::{self, VaryError};

/// Under this no interval exists, and a comparison has no verdict.
pub const FEWEST_BLOCKS: u32 = 3;
/// More are a slip of the finger: they would take days.
pub const MOST_BLOCKS: u32 = 1_000;

/// What is to be measured, as asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Asked {
    /// What the workload is for: capacity under its objective, or throughput where the load is a runner's.
    #[default]
    Usual,
    /// What a sweep of the workload is for: throughput, unless its operations are timed one by one.
    UsualSweep,
    /// Capacity under an objective.
    Capacity,
    /// Throughput of a closed loop.
    Throughput,
    /// Bytes a second of a closed loop.
    Bytes,
    /// Operations an hour, one at a time.
    OneByOne,
    /// Latency at these rates.
    Latency(Vec<f64>),
}

/// A question as asked.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// The command line, program name first.
    pub command: Vec<String>,
    /// Variants as written: `apache:mpm=event`.
    pub variants: Vec<String>,
    /// The workload's name or path; found by its servers if none is given.
    pub workload: Option<String>,
    /// What is to be measured.
    pub asked: Asked,
    /// The objective; the workload's own if none is given.
    pub slo: Option<String>,
    /// Restricts the mix to one operation.
    pub on_op: Option<String>,
    /// Axes as written; a sweep if there are any.
    pub vary: Vec<String>,
    /// Which preset; the default one if none is given.
    pub length: Option<Length>,
    /// Another number of blocks than the preset's.
    pub blocks: Option<u32>,
    /// Another number of spare blocks than half of the blocks.
    pub spare_blocks: Option<u32>,
    /// Another number of connections than the workload's.
    pub connections: Option<u32>,
    /// A fixed load beside the measured one.
    pub background: Option<Background>,
    /// The seed; a new one if none is given.
    pub seed: Option<u32>,
    /// Words to find the run by.
    pub tags: Vec<String>,
}

/// Why a question makes no plan, or a plan cannot be held. The user can mend all of these.
#[derive(Debug, thiserror::Error)]
pub enum QuestionError {
    /// Workloads, servers, knobs or values that do not exist.
    #[error(transparent)]
    Lookup(#[from] workload::LookupError),
    /// The same, in a plan.
    #[error(transparent)]
    Variant(#[from] workload::VariantError),
    /// An axis.
    #[error(transparent)]
    Vary(#[from] VaryError),
    /// An objective.
    #[error("slo: {0}")]
    Slo(#[from] load::inputs::units::UnitError),
    /// Nothing to compare with.
    #[error(
        "a comparison needs two variants, such as `showdown compare nginx apache` or `apache:mpm=event apache:mpm=prefork`"
    )]
    OneVariant,
    /// Something in the plan that cannot be held.
    #[error("{0}")]
    Plan(String),
    /// The CPUs of this machine cannot be read.
    #[error("the CPUs of this machine cannot be read: {0}")]
    Cpus(std::io::Error),
}

/// Makes the plan.
pub fn plan(question: &Question, host: &Host) -> Result<Plan, QuestionError> {
    let length = question.length.unwrap_or(Length::Default);
    let sweep = question.vary.iter().map(|text| vary::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let kind = if sweep.is_empty() { Kind::Compare } else { Kind::Sweep };
    let (workload, contenders) =
        Catalogue::default().resolve(question.workload.as_deref(), &question.variants)?;
    let preset = if kind == Kind::Sweep { Preset::of_sweep(length) } else { Preset::of(length) };
    let allowed = host.allowed_cpus().map_err(QuestionError::Cpus)?;
    let own = workload.load.is_runner();
    let (cpus, threads) = if own {
        // The program under test makes the load: there is nobody to share the CPUs with.
        (CpuSplit { server: allowed.to_string(), client: allowed.to_string() }, 1)
    } else {
        let split = host::affinity::split(&host.cores(&allowed));
        let cpus = CpuSplit { server: split.server.to_string(), client: split.client.to_string() };
        (cpus, split.client.len() as u32)
    };
    let on_op = question.on_op.clone().or_else(|| workload.load.default_operation.clone());
    let brings_bytes = brings_bytes(&workload, on_op.as_deref());
    let slo = question.slo.clone().or_else(|| workload.slo().map(ToString::to_string));
    let needed = || slo.clone().ok_or_else(|| QuestionError::Plan(of_own(&workload, "has no capacity")));
    let blocks = question.blocks.unwrap_or(preset.blocks);
    let mut plan = Plan {
        format: FORMAT,
        showdown: env!("CARGO_PKG_VERSION").to_owned(),
        command: question.command.clone(),
        kind,
        workload: workload.reference(),
        on_op,
        length,
        seed: question.seed.unwrap_or_else(rand::random),
        blocks,
        spare_blocks: question.spare_blocks.unwrap_or_else(|| blocks.div_ceil(2)),
        tags: question.tags.clone(),
        measure: match &question.asked {
            Asked::Usual | Asked::UsualSweep if workload.load.is_one_by_one => {
                Measure::OneByOne { operations: preset.operations }
            }
            Asked::OneByOne => Measure::OneByOne { operations: preset.operations },
            Asked::Usual | Asked::UsualSweep if brings_bytes && question.slo.is_none() => Measure::MaxBytes,
            Asked::Bytes => Measure::MaxBytes,
            Asked::Usual if own && question.slo.is_none() => Measure::MaxThroughput,
            Asked::Usual | Asked::Capacity => Measure::Capacity { slo: needed()? },
            Asked::Throughput | Asked::UsualSweep => Measure::MaxThroughput,
            Asked::Latency(rates) => {
                Measure::LatencyCurve { rates_per_s: rates.clone(), slo: Some(needed()?) }
            }
        },
        load: Load { connections: question.connections.unwrap_or_else(|| workload.connections()), threads },
        background: question.background,
        cpus,
        warm_up: preset.warm_up,
        phases: preset.phases,
        variants: unique(contenders),
        sweep,
    };
    if let Measure::Capacity { slo } = &plan.measure
        && let Some(limit_us) = slo.parse().ok().and_then(|slo: Slo| slo.latency_limit_us())
    {
        plan.phases = long_enough_for(limit_us, &plan.phases);
    }
    check(&plan)?;
    Ok(plan)
}

/// Gives each variant a name of its own: one that is there twice is compared with itself, as `nginx` and `nginx#2`.
fn unique(contenders: Vec<workload::ServerVariant>) -> Vec<Variant> {
    let mut named: Vec<Variant> = Vec::new();
    for sut in contenders {
        let written = sut.to_string();
        let earlier =
            named.iter().filter(|v| v.name == written || v.name.starts_with(&format!("{written}#"))).count();
        let name = if earlier == 0 { written } else { format!("{written}#{}", earlier + 1) };
        let knobs = sut.knobs.iter().map(|(name, value)| (name.clone(), knob_value_of(value)));
        let kernel = sut.kernel.iter().map(|(name, text)| (name.to_string(), text.as_str().into()));
        let knobs = knobs.chain(kernel).collect();
        named.push(Variant { name, server: sut.server, knobs });
    }
    named
}

/// A knob's value as plans hold it.
pub(crate) fn knob_value_of(value: &workload::TypedValue) -> KnobValue {
    match value {
        workload::TypedValue::Switch(on) => KnobValue::Flag(*on),
        workload::TypedValue::Integer(number) => KnobValue::Integer(*number),
        workload::TypedValue::Number(number) => KnobValue::Number(*number),
        workload::TypedValue::Text(text) => KnobValue::Text(text.clone()),
    }
}

/// A plan's variant as the workload has it. Every cell of a checked plan has one.
pub(crate) fn variant_of(
    workload: &Workload,
    variant: &Variant,
) -> Result<workload::ServerVariant, QuestionError> {
    let text = |setting: &KnobValue| match setting {
        KnobValue::Flag(on) => if *on { "on" } else { "off" }.to_owned(),
        other => other.to_string(),
    };
    let knobs: Vec<(String, String)> =
        variant.knobs.iter().map(|(name, setting)| (name.clone(), text(setting))).collect();
    let knobs = knobs.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    Ok(workload.variant(&variant.server, knobs)?)
}

/// What a workload whose load is a runner's cannot be asked, in a line.
fn of_own(workload: &Workload, cannot: &str) -> String {
    format!(
        "workload {} makes its load by itself and {cannot}: ask for --measure throughput, and vary its knobs",
        workload.name
    )
}

/// Whether the bytes that operations move are what they are about.
fn brings_bytes(workload: &Workload, on_op: Option<&str>) -> bool {
    let of_bytes = |name: &str| workload.metrics.bytes.iter().any(|known| known == name);
    on_op.map_or_else(|| workload.load.names.iter().all(|name| of_bytes(name)), of_bytes)
}

fn check_own(plan: &Plan, workload: &Workload) -> Result<(), QuestionError> {
    let cannot = if plan.measure.slo().is_some() || matches!(plan.measure, Measure::LatencyCurve { .. }) {
        "has no rate that could be given, nor a capacity"
    } else if plan.measure == Measure::MaxBytes && !brings_bytes(workload, plan.on_op.as_deref()) {
        "tells of no bytes that its operations move (bytes in [metrics])"
    } else if plan.background.is_some() {
        "has nothing that another load could be sent to"
    } else if plan.load.connections != 1 || plan.load.threads != 1 {
        "has no connections or threads of ours"
    } else if plan.sweep.iter().any(|axis| !matches!(axis.vary, Vary::Knob(_))) {
        "has no connections or rate that could be varied"
    } else {
        return Ok(());
    };
    Err(QuestionError::Plan(of_own(workload, cannot)))
}

/// Holds a plan against what there is, so that nothing is started that must fail.
pub fn check(plan: &Plan) -> Result<(), QuestionError> {
    let refused = |what: String| Err(QuestionError::Plan(what));
    if plan.format != FORMAT {
        return refused(format!(
            "the plan is of format {}: this showdown reads format {FORMAT}",
            plan.format
        ));
    }
    let workload = Catalogue::default().find(&plan.workload)?;
    if plan.kind == Kind::Compare && plan.variants.len() < 2 {
        return Err(QuestionError::OneVariant);
    }
    if plan.kind == Kind::Compare && plan.blocks < FEWEST_BLOCKS {
        return refused(format!(
            "{} blocks cannot give a verdict: ask for {FEWEST_BLOCKS} or more",
            plan.blocks
        ));
    }
    if plan.blocks == 0 || plan.load.connections == 0 || plan.load.threads == 0 {
        return refused("blocks, connections and threads must be 1 or more".to_owned());
    }
    if plan.blocks > MOST_BLOCKS || plan.spare_blocks > MOST_BLOCKS {
        return refused(format!("blocks and spare_blocks: at most {MOST_BLOCKS} each"));
    }
    if let Some(Background { rate_per_s, connections }) = plan.background
        && (connections == 0 || !rate_per_s.is_finite() || rate_per_s <= 0.0)
    {
        return refused("background: give a rate above 0 and 1 connection or more".to_owned());
    }
    for (name, length) in [
        ("closed_loop", plan.phases.closed_loop),
        ("measure", plan.phases.measure),
        ("search_step", plan.phases.search_step),
    ] {
        if length.is_zero() {
            return refused(format!("phases.{name} is zero: give it some time, such as 2s"));
        }
    }
    if workload.load.is_runner() {
        check_own(plan, &workload)?;
    } else if let Measure::OneByOne { .. } = plan.measure {
        let name = &workload.name;
        return refused(format!(
            "workload {name} has servers, which are loaded: ask for capacity or throughput"
        ));
    }
    if plan.measure == (Measure::OneByOne { operations: 0 }) {
        return refused("measure.operations must be 1 or more".to_owned());
    }
    if let Some(slo) = plan.measure.slo() {
        slo.parse::<Slo>()?;
    }
    if let Measure::LatencyCurve { rates_per_s, .. } = &plan.measure
        && (rates_per_s.is_empty() || rates_per_s.iter().any(|rate| !rate.is_finite() || *rate <= 0.0))
    {
        return refused("measure.rates_per_s: give rates above 0".to_owned());
    }
    for cpus in [&plan.cpus.server, &plan.cpus.client] {
        if cpus.parse::<CpuSet>().map_or(true, |set| set.is_empty()) {
            return refused(format!("cpus: {cpus:?} is no list of CPUs: write one such as 0 or 0-3,8"));
        }
    }
    if let Some(operation) = &plan.on_op {
        workload
            .load
            .only(operation)
            .map_err(|why| QuestionError::Plan(format!("workload {} {why}", workload.name)))?;
    }
    if plan
        .sweep
        .iter()
        .any(|axis| axis.vary == Vary::Connections && axis.values.contains(&KnobValue::Integer(0)))
    {
        return refused("connections must be 1 or more".to_owned());
    }
    for cell in cells(plan) {
        let (instances, connections) =
            (variant_of(&workload, &cell.variant(plan))?.instances(), cell.connections(plan));
        if u32::from(instances) > connections {
            return refused(format!(
                "{} has more instances ({instances}) than connections ({connections}), so some would have no \
                 load: give more connections",
                cell.name(plan)
            ));
        }
    }
    Ok(())
}
