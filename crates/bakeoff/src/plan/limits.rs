//! Checks a plan against its limits, before anything is computed from its numbers.

use std::time::Duration;

use archive::model::{Axis, Measure, Plan, PlannedBackground, RunKind, Vary};
use load::inputs::limits::{LONGEST, MOST_CONNECTIONS, MOST_THREADS, is_rate};

use crate::limits::{
    FEWEST_BLOCKS, LEAST_LEVEL, MOST_BLOCKS, MOST_OPERATIONS, MOST_POINTS, MOST_SLICES, MOST_VALUES,
    SHORTEST_SLICE,
};
use crate::plan::error::PlanError;

/// Checks the numbers of variants, blocks, connections and threads, the rates, and the lengths of the phases.
pub fn check(plan: &Plan) -> Result<(), PlanError> {
    check_blocks(plan)?;
    check_points(plan)?;
    check_load(plan)?;
    check_lengths(plan)?;
    check_study(plan)?;
    check_power(plan)?;
    plan.sweep.iter().try_for_each(check_axis)?;
    match &plan.measure {
        Measure::OneByOne { operations } if !(1..=MOST_OPERATIONS).contains(operations) => {
            Err(PlanError::Operations(MOST_OPERATIONS))
        }
        Measure::LatencyCurve { rates_per_s, .. } if rates_per_s.is_empty() && !plan.varies(&Vary::Rate) => {
            Err(PlanError::NoRates)
        }
        Measure::LatencyCurve { rates_per_s, .. }
            if rates_per_s.len() > MOST_VALUES || !rates_per_s.iter().all(|rate| is_rate(*rate)) =>
        {
            Err(PlanError::Rates { most: MOST_VALUES })
        }
        Measure::CpuTime { rate_per_s: Some(rate) } if !is_rate(*rate) => Err(PlanError::CpuTimeRate),
        _ => Ok(()),
    }
}

fn check_blocks(plan: &Plan) -> Result<(), PlanError> {
    if plan.kind == RunKind::Compare && plan.variants.len() < 2 {
        return Err(PlanError::OneVariant);
    }
    if plan.kind == RunKind::Explain {
        if !(1..=2).contains(&plan.variants.len()) || !plan.sweep.is_empty() {
            return Err(PlanError::ExplainedVariants);
        }
        if let Some(variant) = plan.variants.iter().find(|variant| !plan.is_here(variant)) {
            return Err(PlanError::ExplainedElsewhere(variant.name.clone()));
        }
    }
    if plan.kind == RunKind::Compare && plan.blocks < FEWEST_BLOCKS {
        return Err(PlanError::TooFewBlocks { blocks: plan.blocks, fewest: FEWEST_BLOCKS });
    }
    let is_share = |within: f64| within > 0.0 && within <= 1.0;
    if plan.within.is_some_and(|within| !is_share(within)) {
        return Err(PlanError::Within);
    }
    let rises = plan.looks.windows(2).all(|pair| pair[0] < pair[1]);
    let (first, last) = (plan.looks.first(), plan.looks.last());
    if !rises
        || first.is_some_and(|look| *look < FEWEST_BLOCKS)
        || last.is_some_and(|look| *look >= plan.blocks)
    {
        return Err(PlanError::Looks);
    }
    if plan.blocks > MOST_BLOCKS || plan.spare_blocks > MOST_BLOCKS {
        return Err(PlanError::TooManyBlocks(MOST_BLOCKS));
    }
    Ok(())
}

/// Checks how many points there are, without listing them.
fn check_points(plan: &Plan) -> Result<(), PlanError> {
    let lengths = plan.sweep.iter().map(|axis| axis.values.len());
    let points = lengths.fold(plan.variants.len(), usize::saturating_mul);
    match points {
        1..=MOST_POINTS => Ok(()),
        _ => Err(PlanError::Points { most: MOST_POINTS }),
    }
}

fn check_load(plan: &Plan) -> Result<(), PlanError> {
    if plan.blocks == 0 || plan.load.connections == 0 || plan.load.threads == 0 {
        return Err(PlanError::NoLoad);
    }
    if plan.load.connections > MOST_CONNECTIONS {
        return Err(PlanError::Connections { key: "load.connections", most: MOST_CONNECTIONS });
    }
    if plan.load.threads > MOST_THREADS {
        return Err(PlanError::Threads(MOST_THREADS));
    }
    match plan.background {
        Some(PlannedBackground { rate_per_s, connections })
            if !is_rate(rate_per_s) || !(1..=MOST_CONNECTIONS).contains(&connections) =>
        {
            Err(PlanError::Background { most: MOST_CONNECTIONS })
        }
        _ => Ok(()),
    }
}

fn check_lengths(plan: &Plan) -> Result<(), PlanError> {
    let (phases, warm_up) = (&plan.phases, &plan.warm_up);
    let needed: [(&str, Duration); 3] = [
        ("phases.closed_loop", phases.closed_loop),
        ("phases.measure", phases.measure),
        ("phases.search_step", phases.search_step),
    ];
    if let Some((key, _)) = needed.iter().find(|(_, length)| length.is_zero()) {
        return Err(PlanError::EmptyPhase(key));
    }
    let others = [
        ("phases.curve_step", phases.curve_step),
        ("warm_up.min", warm_up.min),
        ("warm_up.max", warm_up.max),
    ];
    if let Some(turns) = plan.turns
        && !(Duration::from_millis(1)..=LONGEST).contains(&turns.load)
    {
        return Err(PlanError::Turns("give turns.load a length from 1ms to 7 days"));
    }
    match needed.iter().chain(&others).find(|(_, length)| *length > LONGEST) {
        Some((key, _)) => Err(PlanError::LongPhase(key)),
        None => Ok(()),
    }
}

fn check_study(plan: &Plan) -> Result<(), PlanError> {
    let study = match (&plan.study, plan.kind) {
        (Some(study), RunKind::Explain) => study,
        (None, RunKind::Compare | RunKind::Sweep | RunKind::Concurrency) => return Ok(()),
        (None, RunKind::Explain) => {
            return Err(PlanError::Study("an explanation needs this table".to_owned()));
        }
        (Some(_), _) => return Err(PlanError::Study("only an explanation has this table".to_owned())),
    };
    let counts = [
        ("plain_slices", study.plain_slices, 1),
        ("experiments", study.experiments, 0),
        ("pairs", study.pairs, 2),
        ("profiled_rounds", study.profiled_rounds, 0),
    ];
    if let Some((key, _, least)) =
        counts.into_iter().find(|(_, count, least)| !(*least..=MOST_SLICES).contains(count))
    {
        return Err(PlanError::Study(format!("give {key} a number from {least} to {MOST_SLICES}")));
    }
    let slices = [("slice", study.slice), ("profiled_slice", study.profiled_slice)];
    match slices.into_iter().find(|(_, length)| !(SHORTEST_SLICE..=LONGEST).contains(length)) {
        Some((key, _)) => Err(PlanError::Study(format!("give {key} a length from 10ms to 7 days"))),
        None => Ok(()),
    }
}

fn check_power(plan: &Plan) -> Result<(), PlanError> {
    let Some(power) = &plan.power else { return Ok(()) };
    let falls = power.levels.windows(2).all(|pair| pair[0] > pair[1]);
    let are_shares = power.levels.iter().all(|share| (LEAST_LEVEL..=1.0).contains(share));
    match () {
        () if !plan.kind.has_trials() => Err(PlanError::Power("only trials have this table: remove it")),
        () if !falls || !are_shares || power.levels.is_empty() => {
            Err(PlanError::Power("give levels falling shares of the full load, from 1 to 0.01"))
        }
        () if power.measure.is_zero() || power.measure > LONGEST || power.settle > LONGEST => {
            Err(PlanError::Power("give measure a length from 1ms, and measure and settle at most 7 days"))
        }
        () => Ok(()),
    }
}

/// Checks the values of an axis. Those of a knob are checked by the knob.
fn check_axis(axis: &Axis) -> Result<(), PlanError> {
    if axis.values.len() > MOST_VALUES {
        return Err(PlanError::AxisValues { axis: axis.vary.to_string(), most: MOST_VALUES });
    }
    let mut numbers = axis.values.iter().map(|value| value.as_f64().unwrap_or(f64::NAN));
    match axis.vary {
        Vary::Connections | Vary::Users => {
            let key = if axis.vary == Vary::Users { "users" } else { "connections" };
            let is_count = |n: f64| n.fract() == 0.0 && (1.0..=f64::from(MOST_CONNECTIONS)).contains(&n);
            if !numbers.all(is_count) {
                return Err(PlanError::Connections { key, most: MOST_CONNECTIONS });
            }
        }
        Vary::Rate if !numbers.all(is_rate) => return Err(PlanError::Rates { most: MOST_VALUES }),
        Vary::Rate | Vary::Knob(_) => {}
    }
    Ok(())
}
