//! Fleets of each kind of server, and how many of one kind replace another.

use std::fmt::Write as _;

use archive::Run;
use serde::Serialize;
use stats::cost::{FleetRuleError, LifeCost, break_even_ratio};
use stats::quantity::OperationsPerSecond;

use super::capacity::{Capacity, CapacityBasis, capacity};
use super::request::SizeRequest;
use crate::figure::Figure;
use crate::measured::{MeasuredRun, MeasuredVariant, RunError};
use crate::notes;
use crate::pricing::target::{Missing, TargetCosting, keep};
use crate::pricing::watts::VariantPower;
use crate::pricing::{Power, VariantOfRun};
use crate::targets::{NoTarget, Targets};

/// Loads of the curve, as shares of the peak.
const LOADS: [f64; 6] = [0.1, 0.25, 0.5, 1.0, 1.5, 2.0];

/// Why a fleet has no size.
#[derive(Debug, thiserror::Error)]
pub enum SizeError {
    /// Of a run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Of the targets.
    #[error(transparent)]
    Target(#[from] NoTarget),
    /// Of the fleet.
    #[error(transparent)]
    Fleet(#[from] FleetRuleError),
    /// No variant was measured at this objective.
    #[error("nothing was measured that this fleet could be sized from: {0}")]
    NotMeasured(String),
}

/// What `showdown size` prints.
#[derive(Debug, Clone, Serialize)]
pub struct SizeReport {
    /// Operations per second at the peak.
    pub peak_per_s: f64,
    /// The objective.
    pub objective: String,
    /// Share of the measured capacity that stays free.
    pub headroom: f64,
    /// Spare servers.
    pub spares: u32,
    /// Zones, of which one may be lost if there are two or more.
    pub zones: u32,
    /// Currency of all money; null without a file of targets.
    pub currency: Option<String>,
    /// A fleet of each kind.
    pub kinds: Vec<KindSize>,
    /// Pairs of kinds.
    pub replacements: Vec<Replacement>,
    /// Variants that cannot be sized, with the reason.
    pub not_sized: Vec<String>,
    /// What limits these figures.
    pub notes: Vec<String>,
}

/// A fleet of one kind of server.
#[derive(Debug, Clone, Serialize)]
pub struct KindSize {
    /// The run.
    pub run: String,
    /// The variant, in a sweep with its point.
    pub variant: String,
    /// Its machine; null without a file of targets.
    pub target: Option<String>,
    /// What one server sustained within the objective, operations per second.
    pub capacity_per_s: Figure,
    /// Where that is from.
    pub basis: CapacityBasis,
    /// The objective at which the run measured.
    pub measured_objective: String,
    /// What one server is given at most: the lower bound, less the headroom.
    pub usable_per_s: f64,
    /// All servers, spares included.
    pub servers: u64,
    /// Servers that carry the load, in each zone.
    pub servers_in_a_zone: u64,
    /// Height of all of them.
    pub rack_units: Option<f64>,
    /// Power of one server at load.
    pub power_at_load: Option<Power>,
    /// Power of all of them at load, kW, without the site's share.
    pub kilowatts: Option<f64>,
    /// Total cost of all of them over the life.
    pub total_cost: Option<f64>,
    /// Servers and cost over the load.
    pub curve: Vec<LoadPoint>,
    /// Figures that cannot be computed.
    pub missing: Vec<Missing>,
}

/// A fleet at another load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LoadPoint {
    /// Operations per second at the peak.
    pub load_per_s: f64,
    /// All servers, spares included.
    pub servers: u64,
    /// Total cost over the life.
    pub total_cost: Option<f64>,
}

/// How one kind replaces another.
#[derive(Debug, Clone, Serialize)]
pub struct Replacement {
    /// The kind with the higher capacity.
    pub new: VariantOfRun,
    /// The other one.
    pub old: VariantOfRun,
    /// How many of the old kind one of the new kind replaces.
    pub ratio: Figure,
    /// How many it must replace to cost the same for each operation.
    pub break_even: Option<f64>,
    /// Whether it pays.
    pub pays: Pays,
    /// In words.
    pub sentence: String,
}

/// Whether a kind of server pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pays {
    /// The whole interval of the ratio is above the break-even ratio.
    Yes,
    /// It is below it.
    No,
    /// The break-even ratio is in the interval, or a cost is missing.
    Unknown,
}

/// A kind with what its fleet and its comparisons are computed from.
struct Sized<'r> {
    run: &'r MeasuredRun<'r>,
    variant: &'r MeasuredVariant<'r>,
    capacity: Capacity,
    life_cost: Option<LifeCost>,
    size: KindSize,
}

/// Sizes a fleet of each variant.
pub fn size(
    runs: &[Run],
    targets: Option<&Targets>,
    request: &SizeRequest<'_>,
) -> Result<SizeReport, SizeError> {
    let runs = MeasuredRun::all(runs)?;
    let mut sized = Vec::new();
    let mut not_sized = Vec::new();
    for run in &runs {
        for variant in &run.variants {
            match capacity(run, variant, &request.objective) {
                Ok(capacity) => sized.push(Sized::of(run, variant, capacity, targets, request)?),
                Err(why) => not_sized.push(why),
            }
        }
    }
    not_sized.dedup();
    if sized.is_empty() {
        return Err(SizeError::NotMeasured(not_sized.join("; ")));
    }
    let replacements = pairs(&sized);
    let mut notes = assumptions(&sized, request);
    let is_estimate =
        |sized: &Sized<'_>| sized.size.power_at_load.as_ref().is_some_and(|power| power.is_estimate);
    notes.extend(notes::of_runs(&runs, sized.iter().any(is_estimate)));
    Ok(SizeReport {
        peak_per_s: request.peak.value(),
        objective: request.objective.text.clone(),
        headroom: request.headroom,
        spares: request.spares,
        zones: request.zones,
        currency: targets.map(|targets| targets.currency.code().to_owned()),
        kinds: sized.into_iter().map(|sized| sized.size).collect(),
        replacements,
        not_sized,
        notes,
    })
}

impl<'r> Sized<'r> {
    fn of(
        run: &'r MeasuredRun<'r>,
        variant: &'r MeasuredVariant<'r>,
        capacity: Capacity,
        targets: Option<&Targets>,
        request: &SizeRequest<'_>,
    ) -> Result<Self, SizeError> {
        let lower = OperationsPerSecond::new(capacity.lower);
        let fleet = request.rule.servers(request.peak, lower)?;
        let mut missing = Vec::new();
        let target = targets.map(|targets| targets.of(run.id, &variant.summary.name)).transpose()?;
        let measured = VariantPower::of(run, variant);
        let measured = measured.as_ref().map(|power| &power.median);
        let costing =
            target.zip(targets).map(|(target, targets)| TargetCosting { target, targets, measured });
        let life_cost =
            costing.as_ref().and_then(|costing| keep("total cost", costing.life_cost(), &mut missing));
        let power = costing.as_ref().and_then(|costing| keep("kilowatts", costing.at_load(), &mut missing));
        let units = target.map(|target| {
            target.rack_units.ok_or_else(|| format!("target {} has no rack_units", target.name))
        });
        let units = units.and_then(|units| keep("rack units", units, &mut missing));
        let cost_of = |servers: u64| life_cost.map(|cost| cost.total().value() * servers as f64);
        let mut curve = Vec::new();
        for share in LOADS {
            let load = request.peak * share;
            let servers = request.rule.servers(load, lower)?.servers;
            curve.push(LoadPoint { load_per_s: load.value(), servers, total_cost: cost_of(servers) });
        }
        let servers = fleet.servers as f64;
        let size = KindSize {
            run: run.id.to_owned(),
            variant: variant.label(),
            target: target.map(|target| target.name.clone()),
            capacity_per_s: capacity.figure,
            basis: capacity.basis,
            measured_objective: capacity.measured_objective.clone(),
            usable_per_s: request.rule.usable(lower).value(),
            servers: fleet.servers,
            servers_in_a_zone: fleet.in_a_zone,
            rack_units: units.map(|units| units.value() * servers),
            power_at_load: power.map(Power::from),
            kilowatts: power.map(|power| power.watts.value() * servers / 1e3),
            total_cost: cost_of(fleet.servers),
            curve,
            missing,
        };
        Ok(Self { run, variant, capacity, life_cost, size })
    }
}

/// Every pair, the kind with the higher capacity first.
fn pairs(sized: &[Sized<'_>]) -> Vec<Replacement> {
    let mut found = Vec::new();
    for (number, one) in sized.iter().enumerate() {
        for other in &sized[number + 1..] {
            let one_is_higher = one.capacity.figure.value >= other.capacity.figure.value;
            let (new, old) = if one_is_higher { (one, other) } else { (other, one) };
            found.extend(ratio(new, old).map(|ratio| replacement(new, old, ratio)));
        }
    }
    found
}

/// The ratio of two capacities: within blocks where one run measured both at this objective. `None` for other work or
/// objectives, which say nothing about each other.
fn ratio(new: &Sized<'_>, old: &Sized<'_>) -> Option<Figure> {
    let same_objective = new.capacity.measured_objective == old.capacity.measured_objective;
    if new.run.other_work(old.run).is_some() || !same_objective {
        return None;
    }
    let alone = || {
        let value = new.capacity.figure.value / old.capacity.figure.value;
        Figure { value, low: None, high: None }
    };
    let is_of_verdict = [new, old].iter().all(|sized| sized.capacity.basis != CapacityBasis::Curve);
    if !is_of_verdict {
        return Some(alone());
    }
    if new.run.id == old.run.id {
        return new.run.ratio(new.variant.summary, old.variant.summary);
    }
    Some(new.variant.ratio_to(old.variant).unwrap_or_else(alone))
}

fn replacement(new: &Sized<'_>, old: &Sized<'_>, ratio: Figure) -> Replacement {
    let break_even = new.life_cost.zip(old.life_cost).and_then(|(new, old)| break_even_ratio(new, old));
    let pays = match (break_even, ratio.interval()) {
        (Some(break_even), Some(interval)) if interval.low > break_even => Pays::Yes,
        (Some(break_even), Some(interval)) if interval.high < break_even => Pays::No,
        _ => Pays::Unknown,
    };
    let is_one_run = new.run.id == old.run.id;
    let name = |sized: &Sized<'_>| {
        let run = if is_one_run { String::new() } else { format!(" of {}", sized.size.run) };
        format!("{}{run}", sized.size.variant)
    };
    let interval = match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => format!("95 % CI {low:.2}–{high:.2}"),
        _ => "no interval".to_owned(),
    };
    let (new_name, old_name) = (name(new), name(old));
    let mut sentence = format!("1 {new_name} replaces {:.2} {old_name} ({interval})", ratio.value);
    if let Some(break_even) = break_even {
        let verdict = match pays {
            Pays::Yes => "it pays",
            Pays::No => "it does not pay",
            Pays::Unknown => "whether it pays is open",
        };
        let _ = write!(sentence, "; it costs the same for each operation at {break_even:.2}: {verdict}");
    }
    let of =
        |sized: &Sized<'_>| VariantOfRun { run: sized.size.run.clone(), variant: sized.size.variant.clone() };
    Replacement { new: of(new), old: of(old), ratio, break_even, pays, sentence }
}

/// What was not measured and is assumed.
fn assumptions(sized: &[Sized<'_>], request: &SizeRequest<'_>) -> Vec<String> {
    let mut notes = vec![
        "One server was measured. That a fleet carries as many times more is an assumption: its load balancer, network and shared data were not measured"
            .to_owned(),
    ];
    for sized in sized {
        let KindSize { variant, run, measured_objective, .. } = &sized.size;
        match sized.capacity.basis {
            CapacityBasis::Measured => {}
            CapacityBasis::StricterObjective => notes.push(format!(
                "{variant} in {run} was measured at the stricter {measured_objective}: at {} fewer servers may do",
                request.objective.text
            )),
            CapacityBasis::Curve => notes.push(format!(
                "{variant} in {run} was measured at {measured_objective}; for {} its size follows from the highest rate of the measured curve that meets it. The true capacity is between that and the next rate",
                request.objective.text
            )),
        }
    }
    notes
}

#[cfg(test)]
mod tests;
