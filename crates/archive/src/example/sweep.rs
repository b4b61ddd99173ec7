//! Makes up a sweep of memcached over threads and connections. Each curve follows the universal scalability law.

use super::{
    common,
    comparison::summary,
    facts,
    server::MadeUpServer,
    trial::{TrialBuilder, TrialPlace},
};
use crate::{
    error::Result,
    id::RunId,
    model::{
        Axis, CurvePoint, FORMAT, KnobValue, Measure, MeasuredValue, PhaseKind, RunKind, Scalability,
        SweepCurve, SweepPoint, Trial, TrialFiles, Variant, Vary, Verdict,
    },
    writer::RunWriter,
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use stats::{describe::Sample, usl};
use std::{collections::BTreeMap, path::Path, time::SystemTime};

const BLOCKS: u32 = 3;
const NAME: &str = "memcached";

fn law(threads: i64, connections: i64) -> f64 {
    let n = connections as f64;
    let (alpha, beta) = if threads == 1 { (0.062, 0.000_021) } else { (0.031, 0.000_034) };
    15_300.0 * n / (1.0 + alpha * (n - 1.0) + beta * n * (n - 1.0))
}

fn point(threads: i64, connections: i64) -> SweepPoint {
    [("threads", threads), ("connections", connections)]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), KnobValue::Integer(value)))
        .collect()
}

pub(super) fn write(root: &Path, started: SystemTime) -> Result<RunId> {
    let rng = &mut StdRng::seed_from_u64(11);
    let connections: Vec<i64> = (0..=10).map(|power| 1 << power).collect();
    let command = "showdown sweep memcached --vary threads=1,2 --vary connections=1..1024 --tag made-up";
    let axis = |vary, values: &[i64]| Axis {
        vary,
        values: values.iter().map(|value| KnobValue::Integer(*value)).collect(),
    };
    let mut plan = common::plan(Measure::MaxThroughput, BLOCKS);
    plan.command = command.split(' ').map(str::to_owned).collect();
    plan.kind = RunKind::Sweep;
    plan.workload = "cache".into();
    plan.variants =
        vec![Variant { name: NAME.to_owned(), server: NAME.to_owned(), host: None, knobs: BTreeMap::new() }];
    plan.sweep = vec![axis(Vary::Knob("threads".to_owned()), &[1, 2]), axis(Vary::Connections, &connections)];
    let run = RunWriter::create(root, &plan, started)?;
    run.facts(&facts::of(&plan.variants, common::unix_ms(started), |_| 1))?;

    let mut points: Vec<(i64, i64)> =
        [1, 2].iter().flat_map(|threads| connections.iter().map(move |n| (*threads, *n))).collect();
    let mut trials: Vec<Trial> = Vec::new();
    for block in 1..=BLOCKS {
        // Fisher–Yates shuffle.
        for last in (1..points.len()).rev() {
            points.swap(last, rng.random_range(0..=last));
        }
        for (position, (threads, connections)) in (1..).zip(&points) {
            let number = trials.len() as u32 + 1;
            let value = law(*threads, *connections) * (1.0 + 0.03 * (rng.random::<f64>() - 0.5));
            let place = TrialPlace {
                number,
                block,
                position,
                variant: NAME.to_owned(),
                point: point(*threads, *connections),
                started_unix_ms: common::unix_ms(started) + u64::from(number) * 9_000,
            };
            let trial = one(value, *connections, place, rng);
            run.begin_trial(number, NAME)?.finish(&trial)?;
            trials.push(trial);
        }
    }
    run.verdict(&verdict(&trials, &connections, common::unix_ms(started) + 600_000))?;
    Ok(run.id().clone())
}

fn one(value: f64, connections: i64, place: TrialPlace, rng: &mut StdRng) -> Trial {
    let idle_us = connections as f64 / value * 1e6;
    let server = MadeUpServer { limit_per_s: value / 0.97, idle_us, wait_us: 0.2, outlier_us: 900.0 };
    let mut builder = TrialBuilder::new(server, rng);
    builder.warm_up(3);
    builder.phase(PhaseKind::ClosedLoop, 4, None, true);
    let metric = "throughput in a closed loop".to_owned();
    let measured = MeasuredValue { metric, value, unit: "/s".to_owned(), higher_is_better: true };
    builder.finish(place, measured, 0.0, TrialFiles::default())
}

fn verdict(trials: &[Trial], connections: &[i64], reached_unix_ms: u64) -> Verdict {
    let at = |threads, n| trials.iter().filter(move |trial| trial.point == point(threads, n));
    let curve = |threads: i64| {
        let points: Vec<CurvePoint> = connections
            .iter()
            .filter_map(|n| {
                let values: Vec<f64> = at(threads, *n).filter_map(Trial::valid_value).collect();
                let sample = Sample::new(&values).ok()?;
                let ascending = sample.ascending();
                let (min, max) = (ascending[0], ascending[ascending.len() - 1]);
                Some(CurvePoint { at: *n as f64, median: sample.median(), min, max })
            })
            .collect();
        let loads = points.iter().map(|p| usl::LoadPoint { load: p.at, throughput: p.median });
        SweepCurve {
            variant: NAME.to_owned(),
            axis: "connections".to_owned(),
            fixed: [("threads".to_owned(), KnobValue::Integer(threads))].into(),
            usl: Some(usl::fit(&loads.collect::<Vec<_>>()).into()),
            points,
        }
    };
    let curves = [1, 2].map(curve);
    let peaks: Vec<String> = (1..)
        .zip(&curves)
        .filter_map(|(threads, curve)| match &curve.usl {
            Some(Scalability::Fitted(fit)) => {
                let plural = if threads == 1 { "" } else { "s" };
                Some(format!("with {threads} thread{plural} at {:.0}", fit.peak_load))
            }
            _ => None,
        })
        .collect();
    let pairs = [1, 2].into_iter().flat_map(|threads| connections.iter().map(move |n| (threads, *n)));
    Verdict {
        settled_after_blocks: None,
        replaced: None,
        format: FORMAT,
        reached_unix_ms,
        machine: None,
        sentence: format!("memcached's throughput peaks {} connections", peaks.join(", ")),
        metric: "throughput in a closed loop".to_owned(),
        unit: "/s".to_owned(),
        higher_is_better: true,
        complete: true,
        interrupted: Some(false),
        comparisons: Vec::new(),
        variants: pairs.map(|(threads, n)| summary(NAME, at(threads, n))).collect(),
        curves: curves.to_vec(),
        fairness: Vec::new(),
        caveats: common::caveats(),
        method: Vec::new(),
        refusals: Vec::new(),
    }
}
