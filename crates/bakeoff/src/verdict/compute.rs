//! The verdict of a run from its valid trials: a summary of each variant (in a sweep: at each point), and what follows.
//! `comparison` compares pairs, `curves` has the curves of a sweep, `headline` the answer in one sentence, and `stats`
//! the statistics.

use std::time::{SystemTime, UNIX_EPOCH};

use archive::model::{
    CarriedLoad, Comparison, CpuTimeModes, CpuTimePerOperation, FORMAT, InstanceLoads, Mode, NeighbourEffect,
    PartSummary, PhaseKind, Trial, TrialStatus, TrialValue, UserWalk, VariantSummary, Verdict,
};
use stats::confidence::Confidence;
use stats::describe::Sample;
use stats::modes::{self, Modes};

use crate::gates;
use crate::machines::text::{machine_text, on_machine};
use crate::plan::measure_names::{replaced, wording};
use crate::plan::variant_point::VariantPoint;
use crate::verdict::caveats::caveats;
use crate::verdict::company;
use crate::verdict::comparison::{comparisons, server_failures};
use crate::verdict::counters;
use crate::verdict::curves::curves;
use crate::verdict::fairness;
use crate::verdict::headline::headline;
use crate::verdict::input::VerdictInput;
use crate::verdict::method_budget::method_errors;
use crate::verdict::sustained::PooledCapacity;

/// Computes the verdict.
pub fn verdict(input: &VerdictInput<'_>) -> Verdict {
    let plan = input.plan;
    let wording = wording(&plan.measure);
    let summaries = summaries(input);
    let comparisons = comparisons(input, &summaries);
    let machine = machine_text(plan, input.facts);
    let planned = input.variant_points.len() * plan.blocks as usize;
    Verdict {
        format: FORMAT,
        reached_unix_ms: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64),
        sentence: company::beside(
            on_machine(
                server_failures::with_starts(
                    input,
                    &(0..input.variant_points.len()).collect::<Vec<_>>(),
                    headline(plan, &summaries, &comparisons, &wording),
                ),
                machine.as_deref(),
            ),
            input.trials.all(),
        ),
        machine,
        metric: wording.what,
        unit: wording.unit.to_owned(),
        higher_is_better: wording.higher_is_better,
        replaced: plan.replaced.as_ref().map(|before| replaced(&plan.measure, before)),
        complete: input.look.is_some()
            || input.trials.all().filter(|t| t.status != TrialStatus::Interrupted).count() >= planned,
        settled_after_blocks: input.look,
        interrupted: Some(input.interrupted),
        comparisons,
        curves: curves(input, &summaries),
        variants: summaries,
        fairness: fairness::differences(plan, input.facts),
        caveats: caveats(plan, input.facts, input.trials),
        method: method_errors(plan, input.facts, input.trials),
        refusals: gates::refusals(company::exposure(plan, input.trials.all())),
    }
}

/// The comparisons of all pairs, without the rest of the verdict.
pub fn comparisons_so_far(input: &VerdictInput<'_>) -> Vec<Comparison> {
    comparisons(input, &summaries(input))
}

fn summaries(input: &VerdictInput<'_>) -> Vec<VariantSummary> {
    (0..input.variant_points.len()).map(|index| summary(input, index)).collect()
}

fn summary(input: &VerdictInput<'_>, index: usize) -> VariantSummary {
    let trials: Vec<&Trial> = input.trials.of(index).collect();
    let VariantPoint { variant, point } = &input.variant_points[index];
    let value = |trial: &&Trial| {
        let value = trial.measured.as_ref()?.value;
        Some(TrialValue { trial: trial.number, value, valid: trial.status == TrialStatus::Valid })
    };
    let valid: Vec<(u32, f64)> = trials.iter().filter_map(|t| Some((t.number, t.valid_value()?))).collect();
    let values: Vec<f64> = valid.iter().map(|(_, value)| *value).collect();
    let modes = match modes::detect(&values) {
        Modes::Two { low, high } => [low, high]
            .into_iter()
            .map(|mode| Mode {
                centre: mode.centre,
                trials: mode.members.iter().map(|&m| valid[m].0).collect(),
            })
            .collect(),
        Modes::One | Modes::Undetermined { .. } => Vec::new(),
    };
    let sample = Sample::new(&values).ok();
    let mut median = sample.as_ref().map(Sample::median);
    let mut interval = sample.as_ref().and_then(Sample::median_interval);
    // A capacity is of all blocks together.
    if input.plan.measure.is_capacity() {
        let valid: Vec<&Trial> =
            trials.iter().copied().filter(|trial| trial.valid_value().is_some()).collect();
        if let Some(capacity) = PooledCapacity::of(&valid) {
            (median, interval) = (capacity.rate_per_s(), capacity.interval(Confidence::P95));
        }
    }
    let users_per_core = if input.plan.measure.is_of_users() { users_per_core(&trials) } else { None };
    VariantSummary {
        name: input.plan.variants[*variant].name.clone(),
        point: point.clone(),
        values: trials.iter().filter_map(value).collect(),
        median,
        interval: interval.map(Into::into),
        valid: values.len() as u32,
        invalid: (trials.len() - values.len()) as u32,
        failed_starts: server_failures::count(input, index).0 as u32,
        modes,
        counters_per_s: counters::per_s(&trials),
        cpu_time_us: cpu_time_modes(&valid_cpu_times(&trials)),
        parts: parts_summary(&trials),
        users_per_core,
        users: UserWalk::merged(
            trials
                .iter()
                .filter(|trial| trial.valid_value().is_some())
                .filter_map(|trial| trial.users.as_ref()),
        ),
        neighbours: neighbour_effect(&trials),
        response_time_curve_us: input.curves.get(index).cloned().unwrap_or_default(),
        gave_up_from_us: gave_up_from(&trials),
    }
}

/// The least time after which an operation was given up in the measurements of the valid trials.
fn gave_up_from(trials: &[&Trial]) -> Option<u64> {
    let valid = trials.iter().filter(|trial| trial.valid_value().is_some());
    let measured = valid.flat_map(|trial| &trial.phases).filter(|phase| phase.kind == PhaseKind::Measure);
    measured.filter_map(|phase| phase.gave_up_from_us).min()
}

fn valid_cpu_times<'t>(trials: &[&'t Trial]) -> Vec<&'t CpuTimePerOperation> {
    let valid = trials.iter().filter(|trial| trial.valid_value().is_some());
    valid.filter_map(|trial| trial.cpu_time.as_ref()).collect()
}

/// The median of CPU time an operation over these trials, divided as the ticks of all of them are: those of one trial are few.
fn cpu_time_modes(trials: &[&CpuTimePerOperation]) -> Option<CpuTimeModes> {
    let each: Vec<f64> = trials.iter().map(|cpu| cpu.each_us()).collect();
    let median = Sample::new(&each).ok()?.median();
    let sum = |of: fn(&CpuTimePerOperation) -> f64| -> f64 {
        trials.iter().map(|cpu| of(cpu) * cpu.operations as f64).sum()
    };
    let (user, system) = (sum(|cpu| cpu.user_us), sum(|cpu| cpu.system_us));
    let user = median * user / (user + system).max(f64::MIN_POSITIVE);
    Some(CpuTimeModes { user, system: median - user })
}

/// The users of whom a core would carry as many: the median, over the valid trials, of the users who were there ÷ cores that they used.
fn users_per_core(trials: &[&Trial]) -> Option<f64> {
    let of_trial = |trial: &&Trial| {
        let (cpu, walk) = (trial.cpu_time.as_ref()?, trial.users.as_ref()?);
        // Of visits, the slots are not users. By Little's law as many were there.
        let cores = cpu.rate_per_s * cpu.each_us() / 1e6;
        Some(walk.count_by_littles_law? / cores).filter(|users| users.is_finite())
    };
    let valid = trials.iter().filter(|trial| trial.valid_value().is_some());
    let each: Vec<f64> = valid.filter_map(of_trial).collect();
    Some(Sample::new(&each).ok()?.median())
}

/// What copies lose to their neighbours, over the valid trials.
fn neighbour_effect(trials: &[&Trial]) -> Option<NeighbourEffect> {
    let valid = trials.iter().filter(|trial| trial.valid_value().is_some());
    let measured: Vec<_> = valid.filter_map(|trial| trial.neighbours.as_ref()).collect();
    let copies = || measured.iter().flat_map(|measured| &measured.instances);
    let median = |of: &dyn Fn(&InstanceLoads) -> Option<f64>| {
        let values: Vec<f64> = copies().filter_map(of).collect();
        Sample::new(&values).ok().map(|sample| sample.median())
    };
    let p99 = |load: &CarriedLoad| load.p99_us.map(|us| us as f64);
    let limited = measured.iter().filter(|measured| !measured.client_reasons.is_empty());
    Some(NeighbourEffect {
        alone_per_s: median(&|copy| Some(copy.alone.throughput_per_s))?,
        beside_per_s: median(&|copy| Some(copy.beside.throughput_per_s))?,
        slowed: median(&InstanceLoads::slowed)?,
        alone_p99_us: median(&|copy| p99(&copy.alone)),
        beside_p99_us: median(&|copy| p99(&copy.beside)),
        gave_up_from_us: copies()
            .flat_map(|copy| [&copy.alone, &copy.beside])
            .filter_map(|load| load.gave_up_from_us)
            .min(),
        client_limited: limited.count() as u32,
    })
}

/// What the parts of a server of several processes used over its valid trials, in the order of their start; empty for a server of one part.
fn parts_summary(trials: &[&Trial]) -> Vec<PartSummary> {
    let valid: Vec<&Trial> = trials.iter().copied().filter(|trial| trial.valid_value().is_some()).collect();
    let mut names: Vec<&str> = Vec::new();
    for part in valid.iter().filter_map(|trial| trial.server.as_ref()).flat_map(|server| &server.parts) {
        if !names.contains(&part.part.as_str()) {
            names.push(&part.part);
        }
    }
    let cpu_s: Vec<f64> = names.iter().map(|name| part_cpu_s(&valid, name)).collect();
    let whole_s = cpu_s.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let each: Vec<f64> =
        valid.iter().filter_map(|trial| trial.cpu_time.as_ref()).map(CpuTimePerOperation::each_us).collect();
    // The median, as that of the whole server, divided as the CPU time of all trials is.
    let median_us = Sample::new(&each).ok().map(|sample| sample.median());
    let mut parts = Vec::new();
    for (name, used_s) in names.into_iter().zip(cpu_s) {
        let usage = valid.iter().filter_map(|trial| trial.server.as_ref()).flat_map(|server| &server.parts);
        let usage: Vec<_> = usage.filter(|part| part.part == name).collect();
        let cores: Vec<f64> = usage.iter().map(|part| part.cores).collect();
        let cpu_share = used_s / whole_s;
        parts.push(PartSummary {
            part: name.to_owned(),
            cpu_share,
            cpu_us: median_us.map(|us| us * cpu_share),
            cores: Sample::new(&cores).map_or(0.0, |sample| sample.median()),
            peak_rss_bytes: usage.iter().map(|part| part.peak_rss_bytes).max().unwrap_or(0),
        });
    }
    parts
}

/// The CPU time of a part: of its operations where slices were metered, and otherwise of the telemetry.
fn part_cpu_s(trials: &[&Trial], name: &str) -> f64 {
    let is_metered =
        trials.iter().any(|trial| trial.cpu_time.as_ref().is_some_and(|cpu| !cpu.parts.is_empty()));
    let mut sum_s = 0.0;
    for trial in trials {
        if let Some(cpu) = &trial.cpu_time {
            let of_part = cpu.parts.iter().filter(|part| part.part == name);
            sum_s += of_part.map(|part| part.each_us).sum::<f64>() * cpu.operations as f64 / 1e6;
        }
        if !is_metered && let Some(server) = &trial.server {
            let of_part = server.parts.iter().filter(|part| part.part == name);
            sum_s += of_part.map(|part| part.user_cpu_s + part.system_cpu_s).sum::<f64>();
        }
    }
    sum_s
}

#[cfg(test)]
mod tests {
    use archive::model::{ComparisonVerdict, MeasuredValue, Plan, TrialPhase, TrialStatus};

    use super::*;
    use crate::plan::trial_order::ScheduledTrial;
    use crate::plan::variant_point::variant_points;
    use crate::run::first_block::tests::{client_gate, closed_loop};
    use crate::testing::plan::PLAN;
    use crate::trial::blank;
    use crate::verdict::input::FinishedTrials;

    /// The verdict on values of nginx and apache, block by block. A client was the limit where a value is followed by `true`.
    fn verdict_on(blocks: &[[(f64, bool); 2]]) -> Verdict {
        let plan: Plan = PLAN.parse().expect("a plan");
        let points = variant_points(&plan);
        let mut trials = FinishedTrials::default();
        let mut number = 0;
        for (block, values) in (1..).zip(blocks) {
            for (index, (value, is_limited)) in values.iter().enumerate() {
                number += 1;
                let scheduled =
                    ScheduledTrial { number, block, position: index as u32 + 1, variant_point: index };
                let measured = MeasuredValue {
                    metric: "throughput".to_owned(),
                    value: *value,
                    unit: "/s".to_owned(),
                    higher_is_better: true,
                };
                let status = if *is_limited { TrialStatus::Invalid } else { TrialStatus::Valid };
                let gates = is_limited.then(client_gate).into_iter().collect();
                let point = &points[index];
                let trial =
                    Trial { status, gates, measured: Some(measured), ..blank(&plan, &scheduled, point) };
                trials.push(index, trial);
            }
        }
        verdict(&VerdictInput {
            plan: &plan,
            facts: &archive::model::Facts::default(),
            variant_points: &points,
            trials: &trials,
            look: None,
            interrupted: false,
            curves: &[],
        })
    }

    #[test]
    fn a_bound_of_all_blocks_is_an_answer_where_the_ratio_of_the_few_valid_ones_is_not() {
        let valid = [(150.0, false), (100.0, false)];
        let [slow, slower] = [120.0, 105.0].map(|value| [(value, false), (100.0, false)]);
        let limited = |value| [(value, true), (100.0, false)];
        let capped = [160.0, 161.0, 159.0, 160.0].map(limited);
        let few = verdict_on(&[&[valid, slow, slower], &capped[..]].concat());
        let found = &few.comparisons[0];
        assert!(matches!(found.verdict, ComparisonVerdict::Difference { .. }), "{}", found.sentence);
        assert!(found.estimate.is_none() && found.sentence.contains("has at least 1."), "{}", found.sentence);
        let alone = &verdict_on(&[valid, slow, slower]).comparisons[0];
        assert!(alone.verdict.is_inconclusive() && alone.estimate.is_some(), "{}", alone.sentence);
    }

    #[test]
    fn a_curve_is_a_lower_bound_from_the_first_operation_on_that_a_valid_trial_gave_up() {
        let plan: Plan = PLAN.parse().expect("a plan");
        let scheduled = ScheduledTrial { number: 1, block: 1, position: 1, variant_point: 0 };
        let trial = |status, kind, gave_up_from_us| {
            let measured = MeasuredValue {
                metric: "throughput".to_owned(),
                value: 1.0,
                unit: "/s".to_owned(),
                higher_is_better: true,
            };
            let phases = vec![TrialPhase { kind, gave_up_from_us, ..closed_loop(1.0, 0.5) }];
            let blank = blank(&plan, &scheduled, &variant_points(&plan)[0]);
            Trial { status, measured: Some(measured), phases, ..blank }
        };
        let (valid, measure) = (TrialStatus::Valid, PhaseKind::Measure);
        let trials = [
            trial(valid, measure, None),
            trial(valid, measure, Some(2_000_000)),
            trial(valid, measure, Some(1_000_000)),
            trial(TrialStatus::Invalid, measure, Some(1)),
            trial(valid, PhaseKind::SearchStep, Some(2)),
        ];
        assert_eq!(gave_up_from(&trials.each_ref()), Some(1_000_000));
        assert_eq!(gave_up_from(&[&trials[0]]), None);
    }

    #[test]
    fn both_modes_of_cpu_time_add_up_to_the_median_of_the_trials() {
        let trial = |user_us, system_us| CpuTimePerOperation {
            rate_per_s: 9.0,
            cpu_s: 1.0,
            operations: 10,
            user_us,
            system_us,
            between_s: 0.0,
            slices_us: Vec::new(),
            stolen_s: 0.0,
            others_cores: None,
            parts: Vec::new(),
        };
        let trials = [trial(0.0, 18.0), trial(10.0, 10.0), trial(10.0, 12.0)];
        let modes = cpu_time_modes(&trials.iter().collect::<Vec<_>>()).expect("modes");
        assert!((modes.user + modes.system - 20.0).abs() < 1e-9, "{modes:?}");
        assert!((modes.user - 20.0 / 3.0).abs() < 1e-9, "a third of all ticks: {modes:?}");
        assert!(cpu_time_modes(&[]).is_none());
    }
}
