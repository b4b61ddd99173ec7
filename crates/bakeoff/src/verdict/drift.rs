//! Whether the ratio of a pair still moved while it was measured: what each trial recorded round by round.
//!
//! Of closed loops that is the throughput of each slice, which every run in the archive has in its time line; of CPU time, what an
//! operation cost in each slice. A capacity has no value in each round: its rates change on purpose.

use archive::model::{Measure, PhaseKind, Plan, RatioDrift, RunLength, Trial};
use stats::confidence::Confidence;

use crate::verdict::input::FinishedTrials;

/// A smaller change is of no use to know, however sure it is.
const LEAST: f64 = 0.01;

/// The drift of the ratio of two variants at their points; none where their rounds are not recorded.
pub fn drift(
    measure: &Measure,
    trials: &FinishedTrials,
    (a, b): (usize, usize),
    confidence: Confidence,
) -> Option<RatioDrift> {
    let rounds = |index: usize, block: u32| {
        let trial = trials.in_block(index, block)?;
        trial.valid_value().and_then(|_| values_of_rounds(measure, trial))
    };
    let of_block = |block: u32| {
        let (a, b) = rounds(a, block).zip(rounds(b, block))?;
        // Where a round is missing, nobody knows which.
        (a.len() == b.len()).then(|| a.iter().zip(&b).map(|(a, b)| a.ln() - b.ln()).collect())
    };
    let blocks: Vec<Vec<f64>> = trials.blocks().filter_map(of_block).collect();
    let found = stats::drift::drift(&blocks, confidence)?;
    let relative = |log: f64| log.exp_m1();
    Some(RatioDrift {
        per_block: relative(found.per_block),
        low: relative(found.interval.low),
        high: relative(found.interval.high),
        blocks: found.blocks as u32,
        is_shown: found.is_shown(LEAST),
    })
}

/// The value of a trial in each of its rounds.
fn values_of_rounds(measure: &Measure, trial: &Trial) -> Option<Vec<f64>> {
    match measure {
        Measure::MaxThroughput | Measure::MaxBytes => {
            let phase = trial.phases.iter().find(|phase| phase.kind == PhaseKind::Measure)?;
            let slices = phase.slices?;
            // A slice has one tick, at its begin.
            let end = phase.start_s + slices.span_s;
            let is_inside = |t_s: f64| (phase.start_s - 1e-6..end).contains(&t_s);
            let ticks = trial.timeline.iter().filter(|tick| is_inside(tick.t_s));
            let values: Vec<f64> = ticks.map(|tick| tick.throughput_per_s).collect();
            (values.len() == slices.count as usize).then_some(values)
        }
        Measure::CpuTime { .. } | Measure::UserCpuTime => {
            let cpu_time = trial.cpu_time.as_ref()?;
            (!cpu_time.slices_us.is_empty()).then(|| cpu_time.slices_us.clone())
        }
        Measure::OneByOne { .. }
        | Measure::Capacity { .. }
        | Measure::LatencyCurve { .. }
        | Measure::UserLatency
        | Measure::BreakingPoint => None,
    }
}

/// That a ratio still moves, and what to do about it; none where that is not shown.
pub fn drift_clause(plan: &Plan, drift: Option<&RatioDrift>) -> Option<String> {
    let drift = drift.filter(|drift| drift.is_shown)?;
    let remedy = match plan.length {
        RunLength::Quick | RunLength::Default => "measure for longer (--thorough)",
        RunLength::Thorough => "measure for longer (`load` in the plan)",
    };
    Some(format!("still moving by {:.0} % a block: {remedy}", drift.per_block.abs() * 100.0))
}

#[cfg(test)]
mod tests {
    use archive::model::{CpuTimePerOperation, MeasuredValue, PhaseSlices, Tick, TrialPhase, TrialStatus};

    use super::*;
    use crate::plan::trial_order::ScheduledTrial;
    use crate::plan::variant_point::variant_points;
    use crate::run::first_block::tests::closed_loop;
    use crate::testing::plan::PLAN;
    use crate::trial::blank;

    fn plan() -> Plan {
        PLAN.parse().expect("a plan")
    }

    /// Four blocks of ten rounds, in which the first variant gets this much faster from round to round.
    fn trials(growth: f64, complete: impl Fn(Trial, Vec<f64>) -> Trial) -> FinishedTrials {
        let (plan, mut trials) = (plan(), FinishedTrials::default());
        for block in 1..=4 {
            for (index, point) in variant_points(&plan).iter().enumerate() {
                let scheduled = ScheduledTrial { number: block, block, position: 1, variant_point: index };
                let growth = if index == 0 { growth } else { 0.0 };
                let noise = |round: u32| 1.0 + 0.001 * f64::from((round * 7 + block * 3) % 5);
                let values = (0..10).map(|round| 100.0 * (1.0 + growth * f64::from(round)) * noise(round));
                let measured = MeasuredValue {
                    metric: String::new(),
                    value: 100.0,
                    unit: "/s".to_owned(),
                    higher_is_better: true,
                };
                let valid = Trial {
                    status: TrialStatus::Valid,
                    measured: Some(measured),
                    ..blank(&plan, &scheduled, point)
                };
                trials.push(index, complete(valid, values.collect()));
            }
        }
        trials
    }

    fn in_time_line(trial: Trial, values: Vec<f64>) -> Trial {
        let slices = Some(PhaseSlices { count: 10, span_s: 0.95 });
        let phase = TrialPhase { kind: PhaseKind::Measure, start_s: 2.0, slices, ..closed_loop(100.0, 0.5) };
        let tick = |t_s: f64, throughput_per_s: f64| Tick { t_s, throughput_per_s, ..Tick::default() };
        let warm_up = (0..20).map(|at| tick(f64::from(at) * 0.1, 5.0));
        let slices = (0..).zip(values).map(|(at, value)| tick(2.0 + 0.1 * f64::from(at), value));
        Trial { timeline: warm_up.chain(slices).collect(), phases: vec![phase], ..trial }
    }

    fn in_cpu_time(trial: Trial, slices_us: Vec<f64>) -> Trial {
        let cpu_time = CpuTimePerOperation {
            rate_per_s: 1.0,
            cpu_s: 1.0,
            operations: 1,
            user_us: 1.0,
            system_us: 1.0,
            between_s: 0.0,
            slices_us,
            stolen_s: 0.0,
            others_cores: None,
            parts: Vec::new(),
        };
        Trial { cpu_time: Some(cpu_time), ..trial }
    }

    #[test]
    fn a_server_that_still_warms_up_is_seen_in_its_time_line() {
        let of = |trials: &FinishedTrials| drift(&Measure::MaxThroughput, trials, (0, 1), Confidence::P95);
        let found = of(&trials(0.01, in_time_line)).expect("rounds");
        assert!(found.is_shown && (0.08..0.1).contains(&found.per_block), "{found:?}");
        let clause = drift_clause(&plan(), Some(&found));
        assert_eq!(clause.as_deref(), Some("still moving by 9 % a block: measure for longer (--thorough)"));
        let steady = of(&trials(0.0, in_time_line)).expect("rounds");
        assert!(!steady.is_shown && drift_clause(&plan(), Some(&steady)).is_none(), "{steady:?}");
    }

    #[test]
    fn cpu_time_has_a_value_in_each_slice_and_a_capacity_has_none() {
        let measure = Measure::CpuTime { rate_per_s: None };
        let found = drift(&measure, &trials(-0.005, in_cpu_time), (0, 1), Confidence::P95).expect("rounds");
        assert!(found.is_shown && found.per_block < -0.03, "{found:?}");
        let capacity = Measure::Capacity { slo: "p99<5ms".to_owned() };
        assert_eq!(drift(&capacity, &trials(0.01, in_time_line), (0, 1), Confidence::P95), None);
    }

    #[test]
    fn a_trial_of_an_earlier_version_or_with_a_missing_slice_has_no_rounds() {
        let cut = |trial: Trial, values: Vec<f64>| in_time_line(trial, values[1..].to_vec());
        assert_eq!(drift(&Measure::MaxThroughput, &trials(0.01, cut), (0, 1), Confidence::P95), None);
        let none = |trial: Trial, _| in_cpu_time(trial, Vec::new());
        let measure = Measure::CpuTime { rate_per_s: None };
        assert_eq!(drift(&measure, &trials(0.01, none), (0, 1), Confidence::P95), None);
    }
}
