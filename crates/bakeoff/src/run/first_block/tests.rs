//! When the first block replaces the measure, and what it says.

use std::collections::BTreeMap;

use archive::model::{
    ClientHealth, CpuTimePerOperation, Facts, FallbackMeasure, Gate, GateOutcome, KnobValue, Measure,
    PhaseKind, Plan, SweepPoint, Times, Trial, TrialPhase, TrialStatus, TrialTurns,
};

use super::{
    at_lower_rate, leaves_rate, measured_rate, mixes_turns, one_at_a_time, replacement,
    replacement_before_gains,
};
use crate::gates::OTHERS;
use crate::plan::trial_order::ScheduledTrial;
use crate::plan::variant_point::VariantPoint;
use crate::testing::plan::PLAN;
use crate::trial::blank;
use crate::verdict::company::tests::gate_of_share;

/// The plan of a comparison of capacities, whose first block may replace them.
fn plan() -> Plan {
    let plan: Plan = PLAN.parse().expect("a plan");
    let measure = Measure::Capacity { slo: "p99<5ms".to_owned() };
    Plan { blocks: 6, spare_blocks: 0, fallback: Some(FallbackMeasure::CpuTime), measure, ..plan }
}

/// The closed loop of a warm-up.
pub fn closed_loop(throughput_per_s: f64, utilisation: f64) -> TrialPhase {
    let times = Times { mean: 1.0, p50: 1, p90: 1, p95: 1, p99: 1, p99_9: 1, p99_99: 1, max: 1 };
    TrialPhase {
        kind: PhaseKind::ClosedLoop,
        start_s: 0.5,
        length_s: 1.0,
        slices: None,
        offered_per_s: None,
        throughput_per_s,
        requests: throughput_per_s as u64,
        errors: BTreeMap::new(),
        response_time_us: times.clone(),
        gave_up_from_us: None,
        service_time_us: times,
        response_time_curve_us: Vec::new(),
        operations: Vec::new(),
        tls: None,
        counters: BTreeMap::new(),
        delayed_ack: None,
        client: ClientHealth { utilisation, ..ClientHealth::default() },
        meets_slo: None,
        spent: None,
        valid: true,
        reasons: Vec::new(),
    }
}

/// The gate of a client that was the limit.
pub fn client_gate() -> Gate {
    Gate {
        id: "client".to_owned(),
        outcome: GateOutcome::Failed,
        measured: "1 rule broken".to_owned(),
        share: None,
        threshold: "0 rules broken".to_owned(),
        message: "the client was the limit".to_owned(),
    }
}

/// A trial of the first block that the gate of the client refused.
fn refused(variant: usize, throughput_per_s: f64, utilisation: f64) -> Trial {
    let number = variant as u32 + 1;
    let scheduled = ScheduledTrial { number, block: 1, position: number, variant_point: variant };
    let variant_point = VariantPoint { variant, point: SweepPoint::new() };
    Trial {
        status: TrialStatus::Invalid,
        gates: vec![client_gate()],
        phases: vec![closed_loop(throughput_per_s, utilisation)],
        ..blank(&plan(), &scheduled, &variant_point)
    }
}

fn valid(trial: Trial) -> Trial {
    Trial { status: TrialStatus::Valid, gates: Vec::new(), ..trial }
}

#[test]
fn a_client_without_spare_cpu_replaces_the_measure_at_a_third_of_the_slower_servers_throughput() {
    let (nginx, apache) = (refused(0, 100_000.0, 0.95), valid(refused(1, 60_000.0, 0.7)));
    let (measure, replaced) =
        replacement(&plan(), &Facts::default(), &[&nginx, &apache]).expect("another measure");
    assert_eq!(measure, Measure::CpuTime { rate_per_s: Some(20_000.0) });
    assert_eq!(replaced.metric, "capacity at p99 < 5 ms");
    assert_eq!(replaced.why, "the client was the limit for nginx: it needed 95 % of its cores");
}

#[test]
fn a_client_that_is_nearly_the_limit_replaces_a_closed_loop() {
    let near = valid(refused(0, 100_000.0, 0.89));
    let closed_loops = Plan { measure: Measure::MaxThroughput, ..plan() };
    let (_, replaced) = replacement(&closed_loops, &Facts::default(), &[&near]).expect("another measure");
    assert_eq!(replaced.why, "the client was nearly the limit for nginx: it needed 89 % of its cores");
    assert!(replacement(&closed_loops, &Facts::default(), &[&valid(refused(0, 1e5, 0.84))]).is_none());
    assert!(
        replacement(&plan(), &Facts::default(), &[&near]).is_none(),
        "the closed loop before a search takes what it gets"
    );
}

#[test]
fn a_client_that_is_nearly_the_limit_at_a_capacity_replaces_it() {
    let searched = |utilisation| {
        let mut trial = valid(refused(0, 150_000.0, 0.95));
        let at_capacity = closed_loop(140_000.0, utilisation);
        trial.phases.push(TrialPhase { kind: PhaseKind::Measure, ..at_capacity });
        trial
    };
    let (_, replaced) = replacement(&plan(), &Facts::default(), &[&searched(0.86)]).expect("another measure");
    assert_eq!(replaced.why, "the client was nearly the limit for nginx: it needed 86 % of its cores");
    assert!(replacement(&plan(), &Facts::default(), &[&searched(0.78)]).is_none());
}

#[test]
fn a_search_for_gains_replaces_the_measure_before_a_faster_server_would_have_the_client_as_its_limit() {
    let facts = Facts::default();
    let (near, far) = (valid(refused(0, 100_000.0, 0.8)), valid(refused(1, 60_000.0, 0.5)));
    assert!(replacement(&plan(), &facts, &[&near, &far]).is_none(), "a comparison has room");
    let (measure, replaced) =
        replacement_before_gains(&plan(), &facts, &[&near, &far]).expect("another measure");
    assert_eq!(measure, Measure::CpuTime { rate_per_s: Some(20_000.0) });
    assert_eq!(
        replaced.why,
        "the client would be the limit for a faster server: for nginx it needs 80 % of its cores"
    );
    assert!(replacement_before_gains(&plan(), &facts, &[&far]).is_none());
    let (_, replaced) =
        replacement_before_gains(&plan(), &facts, &[&refused(0, 1e5, 0.95)]).expect("another measure");
    assert_eq!(replaced.why, "the client was the limit for nginx: it needed 95 % of its cores");
}

#[test]
fn a_trial_that_something_else_refused_does_not_replace_the_measure() {
    let by_others = Trial { gates: Vec::new(), ..refused(0, 90_000.0, 0.95) };
    assert!(replacement(&plan(), &Facts::default(), &[&by_others]).is_none());
}

#[test]
fn other_programs_replace_a_capacity_at_once_and_a_closed_loop_where_they_use_a_twentieth_of_the_cpus() {
    let beside = |share| {
        let gates = vec![gate_of_share(OTHERS, GateOutcome::Noted, share)];
        Trial { gates, ..valid(refused(0, 30_000.0, 0.4)) }
    };
    let replaced = |measure, share| {
        let plan = Plan { measure, ..plan() };
        replacement(&plan, &Facts::default(), &[&beside(share)]).map(|(_, replaced)| replaced.why)
    };
    assert_eq!(replaced(plan().measure, 0.04).as_deref(), Some("other programs used 4 % of the CPUs"));
    assert_eq!(replaced(Measure::MaxThroughput, 0.04), None);
    assert_eq!(
        replaced(Measure::MaxThroughput, 0.45).as_deref(),
        Some("other programs used 45 % of the CPUs")
    );
}

#[test]
fn other_programs_that_starve_the_client_do_not_replace_the_measure() {
    let starved = refused(0, 20_000.0, 0.4);
    assert!(replacement(&plan(), &Facts::default(), &[&starved]).is_none());
    let mut on_one_cpu = plan();
    on_one_cpu.cpus.client = "0".to_owned();
    let (_, replaced) = replacement(&on_one_cpu, &Facts::default(), &[&starved]).expect("another measure");
    assert_eq!(replaced.why, "the client was the limit for nginx: it shares its CPUs with the server");
}

#[test]
fn an_objective_that_the_user_named_is_replaced_only_where_a_trial_was_refused() {
    let named = Plan { fallback: Some(FallbackMeasure::CpuTimeIfRefused), ..plan() };
    let others = || gate_of_share(OTHERS, GateOutcome::Noted, 0.6);
    let answered = Trial { gates: vec![others()], ..valid(refused(0, 30_000.0, 0.4)) };
    assert!(replacement(&named, &Facts::default(), &[&answered]).is_none());
    assert!(replacement(&plan(), &Facts::default(), &[&answered]).is_some());
    let starved = Trial { gates: vec![client_gate(), others()], ..refused(0, 30_000.0, 0.4) };
    let (measure, replaced) = replacement(&named, &Facts::default(), &[&starved]).expect("another measure");
    assert_eq!(measure, Measure::CpuTime { rate_per_s: Some(10_000.0) });
    assert_eq!(
        replaced.why,
        "other programs used 60 % of the CPUs: to measure it all the same, pass --measure capacity"
    );
    let limited = refused(0, 1e5, 0.95);
    assert!(replacement(&named, &Facts::default(), &[&limited]).is_some());
}

#[test]
fn a_measure_that_the_user_named_and_valid_trials_stay() {
    let explicit = Plan { fallback: None, ..plan() };
    assert!(replacement(&explicit, &Facts::default(), &[&refused(0, 1e5, 0.95)]).is_none());
    assert!(replacement(&plan(), &Facts::default(), &[&valid(refused(0, 1e5, 0.95))]).is_none());
    assert!(replacement(&plan(), &Facts::default(), &[]).is_none());
}

#[test]
fn the_first_trial_of_cpu_time_has_the_rate() {
    let cpu_time = CpuTimePerOperation {
        rate_per_s: 20_000.0,
        cpu_s: 1.0,
        operations: 9,
        user_us: 5.0,
        system_us: 9.0,
        between_s: 0.0,
        slices_us: Vec::new(),
        stolen_s: 0.0,
        others_cores: None,
        parts: Vec::new(),
    };
    let measured = Trial { cpu_time: Some(cpu_time), ..refused(0, 1e5, 0.3) };
    let empty = refused(1, 0.0, 0.3);
    assert_eq!(measured_rate([&empty, &measured]), Some(20_000.0));
    assert_eq!(measured_rate([&empty]), None, "nothing was measured");
}

#[test]
fn a_plan_leaves_its_rate_to_the_first_block_where_it_neither_has_nor_varies_one() {
    let with_measure = |measure: &str| {
        PLAN.replace(r#"{ metric = "max_throughput" }"#, measure).parse::<Plan>().expect("a plan")
    };
    let open = with_measure(r#"{ metric = "cpu_time" }"#);
    assert!(leaves_rate(&open));
    assert!(!leaves_rate(&plan()), "a capacity has no rate");
    assert!(!leaves_rate(&with_measure(r#"{ metric = "cpu_time", rate_per_s = 5000.0 }"#)));
    let axis =
        archive::model::Axis { vary: archive::model::Vary::Rate, values: vec![KnobValue::Integer(5_000)] };
    assert!(!leaves_rate(&Plan { sweep: vec![axis], ..open }), "each point has its rate");
}

#[test]
fn a_server_that_carries_less_than_twice_the_rate_lowers_it() {
    let (nginx, apache) = (valid(refused(0, 90_000.0, 0.5)), valid(refused(1, 59_000.0, 0.5)));
    assert_eq!(at_lower_rate(29_000.0, &[&nginx, &apache]), None, "both have room");
    let (measure, replaced) = at_lower_rate(30_000.0, &[&nginx, &apache]).expect("another rate");
    assert_eq!(measure, Measure::CpuTime { rate_per_s: Some(19_000.0) });
    assert_eq!(replaced.metric, "CPU time an operation at 30,000/s");
    assert_eq!(replaced.why, "apache carries only 59,000/s in a closed loop");
    let without_operations = refused(1, 0.0, 0.5);
    assert_eq!(at_lower_rate(30_000.0, &[&nginx, &without_operations]), None, "no rate suits it");
}

#[test]
fn a_first_block_with_servers_in_turns_and_one_at_a_time_is_mixed_until_later_blocks_follow() {
    let trial = |block, turns| Trial { block, turns: Some(turns), ..refused(0, 1e5, 0.3) };
    let in_turns = |block| {
        trial(block, TrialTurns::InTurns { trials: vec![1], slice_s: 0.05, rounds: 9, idle_cores: None })
    };
    let alone = |block| trial(block, TrialTurns::OneAtATime { why: "it works".to_owned() });
    assert!(mixes_turns(&[&in_turns(1), &alone(1)]));
    assert!(!mixes_turns(&[&in_turns(1), &in_turns(1)]) && !mixes_turns(&[&alone(1), &alone(1)]));
    assert!(!mixes_turns(&[&in_turns(1), &alone(1), &alone(2)]), "an earlier release went on");
    assert!(!mixes_turns(&[]) && !mixes_turns(&[&refused(0, 1e5, 0.3)]), "a plan without turns");
    assert_eq!(one_at_a_time([&in_turns(1), &alone(1), &alone(2)]), Some("it works"));
    assert_eq!(one_at_a_time([&in_turns(1)]), None);
}

#[test]
fn other_programs_that_keep_the_client_from_its_cpus_replace_a_closed_loop() {
    let closed_loops = Plan { measure: Measure::MaxThroughput, ..plan() };
    let others = || gate_of_share(OTHERS, GateOutcome::Noted, 0.04);
    let starved = Trial { gates: vec![client_gate(), others()], ..refused(0, 30_000.0, 0.4) };
    let (_, replaced) = replacement(&closed_loops, &Facts::default(), &[&starved]).expect("another measure");
    assert_eq!(replaced.why, "other programs used 4 % of the CPUs");
    let of_others = Trial { gates: vec![others()], ..refused(0, 30_000.0, 0.4) };
    assert!(
        replacement(&closed_loops, &Facts::default(), &[&of_others]).is_none(),
        "something else refused the trial"
    );
}
