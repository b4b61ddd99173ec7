//! Makes up a comparison: interleaved trials of nginx and Apache httpd, and their verdict.

use super::{
    common, explanation, facts,
    server::MadeUpServer,
    telemetry,
    trial::{self, TrialBuilder, TrialPlace},
};
use crate::{
    error::Result,
    id::RunId,
    layout,
    model::{
        Comparison, ConfidenceInterval, FORMAT, Measure, MeasuredValue, Plan, Trial, TrialFiles, TrialStatus,
        TrialValue, Variant, VariantSummary, Verdict,
    },
    writer::{RunWriter, TrialWriter},
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use stats::{
    describe::Sample,
    means::ratio_of_means,
    power::smallest_difference,
    verdict::{VerdictRule, compare},
};
use std::{collections::BTreeMap, path::Path, time::SystemTime};

const SLO: &str = "p99<5ms";
const NAMES: [&str; 2] = ["nginx", "apache"];

/// A server after a restart. Each restart changes its performance slightly.
fn restarted(variant: &str, rng: &mut StdRng) -> MadeUpServer {
    let restart = 1.0 + 0.05 * (rng.random::<f64>() - 0.5);
    match variant {
        "nginx" => MadeUpServer {
            limit_per_s: 131_000.0 * restart,
            idle_us: 74.0,
            wait_us: 11.0,
            outlier_us: 3_100.0,
        },
        _ => MadeUpServer {
            limit_per_s: 82_500.0 * restart,
            idle_us: 131.0,
            wait_us: 22.0,
            outlier_us: 7_900.0,
        },
    }
}

fn plan(blocks: u32) -> Plan {
    let command = ["showdown", "compare", "nginx", "apache", "--slo", SLO, "--tag", "made-up"];
    let variant = |name: &str| Variant {
        name: name.to_owned(),
        server: name.to_owned(),
        host: None,
        knobs: BTreeMap::new(),
    };
    Plan {
        command: command.map(str::to_owned).to_vec(),
        variants: NAMES.map(variant).to_vec(),
        ..common::plan(Measure::Capacity { slo: SLO.to_owned() }, blocks)
    }
}

fn measured(value: f64) -> MeasuredValue {
    MeasuredValue {
        metric: format!("capacity at {SLO}"),
        value,
        unit: "/s".to_owned(),
        higher_is_better: true,
    }
}

/// The random order of the variants in each block, as block, position and name.
fn order(blocks: u32, rng: &mut StdRng) -> Vec<(u32, u32, &'static str)> {
    let block = |block| {
        let [first, second] = if rng.random() { [NAMES[0], NAMES[1]] } else { [NAMES[1], NAMES[0]] };
        [(block, 1, first), (block, 2, second)]
    };
    (1..=blocks).flat_map(block).collect()
}

pub(super) fn write(root: &Path, blocks: u32, started: SystemTime) -> Result<RunId> {
    let rng = &mut StdRng::seed_from_u64(7);
    let plan = plan(blocks);
    let run = RunWriter::create(root, &plan, started)?;
    let order = order(blocks, rng);
    let first = |name: &str| order.iter().position(|(.., variant)| *variant == name).unwrap_or(0) as u32 + 1;
    run.facts(&facts::of(&plan.variants, common::unix_ms(started), first))?;
    let mut trials: Vec<Trial> = Vec::new();
    for (number, (block, position, variant)) in (1..).zip(&order) {
        let server = restarted(variant, rng);
        let steal = if number == 7 { 0.061 } else { 0.003 };
        let folder = run.begin_trial(number, variant)?;
        let elapsed: f64 = trials.iter().map(|trial| trial.duration_s).sum();
        let place = TrialPlace {
            number,
            block: *block,
            position: *position,
            variant: (*variant).to_owned(),
            point: BTreeMap::new(),
            started_unix_ms: common::unix_ms(started) + 1_500 + (elapsed * 1e3) as u64,
        };
        let mut builder = TrialBuilder::new(server, rng);
        let capacity = builder.capacity() * (1.0 - 2.0 * steal);
        let files = files_of(&folder, variant)?;
        let trial = builder.finish(place, measured(capacity), steal, files);
        folder.telemetry(&telemetry::of(&trial, server.limit_per_s, steal))?;
        folder.finish(&trial)?;
        trials.push(trial);
    }
    let ended = trials.iter().map(|trial| trial.duration_s).sum::<f64>() * 1e3;
    let ended = common::unix_ms(started) + ended as u64;
    run.verdict(&verdict(&trials, ended))?;
    run.explanation(&explanation::of_trials(ended))?;
    Ok(run.id().clone())
}

fn files_of(folder: &TrialWriter, server: &str) -> Result<TrialFiles> {
    let (name, text) = facts::config(server);
    let log = format!("{server}: made up; started and stopped without an error\n");
    Ok(TrialFiles {
        load_log: None,
        telemetry: Some(folder.name(layout::TELEMETRY)),
        client_telemetry: None,
        clients_telemetry: BTreeMap::new(),
        power: None,
        concurrency: None,
        config: vec![folder.write(&format!("{}/{name}", layout::CONFIG), text.as_bytes())?],
        logs: vec![folder.write(layout::SERVER_LOG, log.as_bytes())?],
        logs_left_out_bytes: 0,
    })
}

/// A run with a complete verdict whose trials have no files.
pub(super) fn write_small(root: &Path, number: u32, started: SystemTime) -> Result<RunId> {
    let rng = &mut StdRng::seed_from_u64(u64::from(number));
    let run = RunWriter::create(root, &plan(10), started)?;
    let mut trials = Vec::new();
    for (number, (block, position, variant)) in (1..).zip(order(10, rng)) {
        let server = restarted(variant, rng);
        let place = TrialPlace {
            number,
            block,
            position,
            variant: variant.to_owned(),
            point: BTreeMap::new(),
            started_unix_ms: common::unix_ms(started),
        };
        let value = measured(server.capacity(trial::LIMIT_US));
        trials.push(TrialBuilder::new(server, rng).finish(place, value, 0.0, TrialFiles::default()));
    }
    run.verdict(&verdict(&trials, common::unix_ms(started) + 600_000))?;
    Ok(run.id().clone())
}

fn verdict(trials: &[Trial], reached_unix_ms: u64) -> Verdict {
    let value = |block: u32, name: &str| {
        trials.iter().find(|t| t.block == block && t.variant == name).and_then(Trial::valid_value)
    };
    let blocks = trials.iter().map(|trial| trial.block).max().unwrap_or(0);
    let complete: Vec<_> =
        (1..=blocks).filter_map(|block| value(block, NAMES[0]).zip(value(block, NAMES[1]))).collect();
    let rule = VerdictRule::default();
    let found = compare(&complete, &rule);
    let sentence = found.estimate.as_ref().map_or_else(
        || "inconclusive: too few complete blocks".to_owned(),
        |ratio| {
            format!(
                "nginx carries {:.2} × apache's load at p99 < 5 ms (95 % CI {:.2}–{:.2}, {} blocks)",
                ratio.ratio, ratio.low, ratio.high, ratio.blocks
            )
        },
    );
    let smallest = found
        .estimate
        .as_ref()
        .and_then(|estimate| smallest_difference(estimate.blocks, estimate.log_sd, &rule, 0.8));
    Verdict {
        settled_after_blocks: None,
        replaced: None,
        format: FORMAT,
        reached_unix_ms,
        machine: None,
        sentence: sentence.clone(),
        metric: format!("capacity at {SLO}"),
        unit: "/s".to_owned(),
        higher_is_better: true,
        complete: true,
        interrupted: Some(false),
        comparisons: vec![Comparison {
            a: NAMES[0].to_owned(),
            b: NAMES[1].to_owned(),
            point: BTreeMap::new(),
            estimate: found.estimate.map(Into::into),
            means: ratio_of_means(&complete, rule.confidence).map(Into::into),
            odd_starts: Vec::new(),
            drift: None,
            verdict: found.verdict.into(),
            smallest_difference: smallest,
            sentence,
        }],
        variants: NAMES.iter().map(|name| summary(name, trials)).collect(),
        curves: Vec::new(),
        fairness: facts::differences(),
        caveats: common::caveats(),
        method: Vec::new(),
        refusals: Vec::new(),
    }
}

/// The summary of a variant over some of its trials.
pub(super) fn summary<'a>(name: &str, trials: impl IntoIterator<Item = &'a Trial>) -> VariantSummary {
    let own: Vec<&Trial> = trials.into_iter().filter(|trial| trial.variant == name).collect();
    let values: Vec<TrialValue> = own
        .iter()
        .filter_map(|trial| {
            let value = trial.measured.as_ref()?.value;
            Some(TrialValue { trial: trial.number, value, valid: trial.status == TrialStatus::Valid })
        })
        .collect();
    let valid: Vec<f64> = own.iter().filter_map(|trial| trial.valid_value()).collect();
    let sample = Sample::new(&valid).ok();
    VariantSummary {
        name: name.to_owned(),
        point: own.first().map(|trial| trial.point.clone()).unwrap_or_default(),
        median: sample.as_ref().map(Sample::median),
        // A stand-in: `bakeoff` computes the real interval of the median.
        interval: sample
            .as_ref()
            .map(|sample| ConfidenceInterval { low: sample.quantile(0.2), high: sample.quantile(0.8) }),
        valid: valid.len() as u32,
        invalid: (values.len() - valid.len()) as u32,
        failed_starts: 0,
        values,
        modes: Vec::new(),
        counters_per_s: BTreeMap::new(),
        cpu_time_us: None,
        parts: Vec::new(),
        users_per_core: None,
        users: None,
        neighbours: None,
        response_time_curve_us: Vec::new(),
        gave_up_from_us: None,
    }
}
