//! The caveat of a run beside other programs: what it rests on, and whether servers that were loaded in turns met them alike, by what was
//! read in the slices of each side. Servers that were up one at a time are left to [`between_sides`](super::between_sides).

use archive::model::{Caveat, Measure, Plan, Trial, TrialTurns};

use crate::plan::cpus::RunCpus;
use crate::plan::variant_point::{VariantPoint, variant_points};
use crate::verdict::company::between_sides::{ComparedShares, TakenShares, compare};
use crate::verdict::company::{of_valid, who};
use crate::verdict::input::FinishedTrials;

/// Heading of its entry in `docs/BIAS.md`.
pub const OTHERS: &str = "others";

/// The caveat; none where nobody took more from a trial that counts than the limits allow.
pub fn caveat(plan: &Plan, trials: &FinishedTrials) -> Option<Caveat> {
    of_valid(trials.all())?;
    let all: Vec<&Trial> = trials.all().collect();
    let mut sentences = vec![format!(
        "{} used CPU time during trials that count. The interval of the ratio has the scatter of that. What one server carries is that of a \
         disturbed machine.",
        capital(who(&all))
    )];
    if is_of_tail(plan) {
        sentences.push(
            "Late operations are also those of the other programs: the ratio of capacities or response times is of servers beside them, \
             and a quiet machine may have another."
                .to_owned(),
        );
    }
    sentences.extend(in_turns(plan, trials));
    Some(Caveat { id: OTHERS.to_owned(), text: sentences.join(" ") })
}

/// Whether the measure depends on late operations, which are the neighbours' on a busy machine.
fn is_of_tail(plan: &Plan) -> bool {
    matches!(plan.measure, Measure::Capacity { .. } | Measure::LatencyCurve { .. } | Measure::UserLatency)
}

/// What was read in the slices of servers in turns: one sentence for each thing that differs between two sides, or one that nothing does.
/// None where it was not read.
fn in_turns(plan: &Plan, trials: &FinishedTrials) -> Vec<String> {
    let points = variant_points(plan);
    let server_cpus = cpus_of_server_alone(plan);
    let servers = compared(plan, &points, trials, |trial| taken_in_slices(trial, server_cpus?));
    let clients = compared(plan, &points, trials, client_wait);
    if servers.is_empty() && clients.is_empty() {
        return Vec::new();
    }
    let effect = if plan.measure.is_cpu_time() {
        "CPU time an operation depends on that through the caches only"
    } else {
        "the ratio may be off by as much, which its interval does not contain"
    };
    let of_servers = first_unequal(&servers).map(|(a, b, TakenShares { a: of_a, b: of_b })| {
        format!(
            "One side met more of it: {:.0} % of the server's CPUs in slices of {a}, and {:.0} % in those of {b}; {effect}.",
            of_a * 100.0,
            of_b * 100.0
        )
    });
    let of_clients = first_unequal(&clients).map(|(a, b, TakenShares { a: of_a, b: of_b })| {
        format!(
            "The client waited for a CPU for {:.1} % of its time in slices of {a}, and {:.1} % in those of {b}; {effect}.",
            of_a * 100.0,
            of_b * 100.0
        )
    });
    let differing: Vec<String> = of_servers.into_iter().chain(of_clients).collect();
    match servers.first() {
        Some((a, b, ComparedShares { shares, .. })) if differing.is_empty() => vec![format!(
            "The servers met it alike in their slices: {:.0} % of the server's CPUs for {a} and {:.0} % for {b}.",
            shares.a * 100.0,
            shares.b * 100.0
        )],
        _ => differing,
    }
}

/// Two sides with their names.
type NamedPair = (String, String, ComparedShares);

/// The pairs at the same point, with this share of each side's trials.
fn compared(
    plan: &Plan,
    points: &[VariantPoint],
    trials: &FinishedTrials,
    share: impl Fn(&Trial) -> Option<f64>,
) -> Vec<NamedPair> {
    let mut pairs = Vec::new();
    for (a, of_a) in points.iter().enumerate() {
        for (b, of_b) in points.iter().enumerate().skip(a + 1).filter(|(_, of_b)| of_b.point == of_a.point) {
            let found =
                compare(trials, (a, b), |trial| if counts_in_turns(trial) { share(trial) } else { None });
            pairs.extend(found.map(|found| (of_a.name(plan), of_b.name(plan), found)));
        }
    }
    pairs
}

fn first_unequal(pairs: &[NamedPair]) -> Option<(&str, &str, TakenShares)> {
    let (a, b, found) = pairs.iter().find(|(_, _, found)| found.is_unequal)?;
    Some((a, b, found.shares))
}

fn counts_in_turns(trial: &Trial) -> bool {
    trial.valid_value().is_some() && matches!(trial.turns, Some(TrialTurns::InTurns { .. }))
}

/// The number of CPUs of the servers; none where the client uses them, too, or where they are of another machine.
fn cpus_of_server_alone(plan: &Plan) -> Option<f64> {
    let cpus = RunCpus::of(plan).ok().filter(|cpus| !cpus.server.is_empty() && !cpus.are_shared())?;
    Some(cpus.server.len() as f64)
}

/// The share of the server's CPUs that others used in its slices.
fn taken_in_slices(trial: &Trial, server_cpus: f64) -> Option<f64> {
    Some(trial.cpu_time.as_ref()?.others_cores? / server_cpus)
}

/// The share of its time for which the client waited for a CPU in the slices of a trial.
fn client_wait(trial: &Trial) -> Option<f64> {
    let sliced = trial.phases.iter().filter(|phase| phase.slices.is_some());
    let (mut waited_s, mut length_s) = (0.0, 0.0);
    for phase in sliced {
        waited_s += phase.client.starvation? * phase.length_s;
        length_s += phase.length_s;
    }
    (length_s > 0.0).then(|| waited_s / length_s)
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use archive::model::{GateOutcome, MeasuredValue, PhaseSlices, TrialStatus};

    use super::*;
    use crate::gates;
    use crate::plan::trial_order::ScheduledTrial;
    use crate::run::first_block::tests::closed_loop;
    use crate::testing::plan::PLAN;
    use crate::testing::scripted_lab::cpu_time;
    use crate::trial::blank;
    use crate::verdict::company::tests::gate_of_share;

    /// Blocks in turns in which others used these shares of a core in the slices of each side, and kept the client waiting.
    fn trials(plan: &Plan, cores: [(f64, f64); 5], waits: (f64, f64)) -> FinishedTrials {
        let mut trials = FinishedTrials::default();
        for (block, (of_a, of_b)) in (1..).zip(cores) {
            for (index, (cores, wait)) in [(of_a, waits.0), (of_b, waits.1)].into_iter().enumerate() {
                let scheduled = ScheduledTrial { number: block, block, position: 1, variant_point: index };
                let mut phase = closed_loop(10_000.0, 0.4);
                phase.slices = Some(PhaseSlices { count: 20, span_s: 2.0 });
                phase.client.starvation = Some(wait + f64::from(block) / 1e3);
                let (metric, unit) = (String::new(), "/s".to_owned());
                let turns =
                    TrialTurns::InTurns { trials: vec![1, 2], slice_s: 0.05, rounds: 20, idle_cores: None };
                let mut used = cpu_time(1_000.0);
                used.others_cores = Some(cores);
                let trial = Trial {
                    status: TrialStatus::Valid,
                    measured: Some(MeasuredValue { metric, value: 9.0, unit, higher_is_better: true }),
                    gates: vec![gate_of_share(gates::OTHERS, GateOutcome::Noted, 0.3)],
                    phases: vec![phase],
                    cpu_time: Some(used),
                    turns: Some(turns),
                    ..blank(plan, &scheduled, &variant_points(plan)[index])
                };
                trials.push(index, trial);
            }
        }
        trials
    }

    const ALIKE: [(f64, f64); 5] = [(0.3, 0.31), (0.4, 0.38), (0.2, 0.22), (0.35, 0.33), (0.3, 0.3)];
    const ONE_SIDED: [(f64, f64); 5] = [(0.3, 0.2), (0.4, 0.29), (0.2, 0.11), (0.35, 0.25), (0.3, 0.2)];

    fn text(measure: Measure, cores: [(f64, f64); 5], waits: (f64, f64)) -> String {
        let plan = Plan { measure, ..PLAN.parse().expect("a plan") };
        caveat(&plan, &trials(&plan, cores, waits)).expect("a caveat").text
    }

    #[test]
    fn servers_in_turns_that_met_others_alike_have_the_figures() {
        let text = text(Measure::MaxThroughput, ALIKE, (0.01, 0.01));
        assert!(text.starts_with("Other programs used CPU time during trials that count."), "{text}");
        let alike = "The servers met it alike in their slices: 31 % of the server's CPUs for nginx and 31 % for apache.";
        assert!(text.ends_with(alike), "{text}");
    }

    #[test]
    fn what_met_one_side_more_within_the_blocks_is_told_with_its_figures() {
        let servers = text(Measure::MaxThroughput, ONE_SIDED, (0.01, 0.01));
        let more = "One side met more of it: 31 % of the server's CPUs in slices of nginx, and 21 % in those of apache; the ratio may \
                    be off";
        assert!(servers.contains(more), "{servers}");
        let clients = text(Measure::MaxThroughput, ALIKE, (0.04, 0.01));
        let waited = "The client waited for a CPU for 4.3 % of its time in slices of nginx, and 1.3 % in those of apache";
        assert!(clients.contains(waited), "{clients}");
        let cpu = text(Measure::CpuTime { rate_per_s: Some(1_000.0) }, ONE_SIDED, (0.01, 0.01));
        assert!(cpu.contains("depends on that through the caches only"), "{cpu}");
    }

    #[test]
    fn a_capacity_beside_other_programs_is_said_to_have_their_late_operations() {
        let capacity = Measure::Capacity { slo: "p99<5ms".to_owned() };
        assert!(
            text(capacity, ALIKE, (0.0, 0.0))
                .contains("Late operations are also those of the other programs")
        );
        assert!(!text(Measure::MaxThroughput, ALIKE, (0.0, 0.0)).contains("Late operations"));
        let quiet = FinishedTrials::default();
        assert_eq!(caveat(&PLAN.parse().expect("a plan"), &quiet), None);
    }
}
