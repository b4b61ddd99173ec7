//! What other programs and the hypervisor took from trials that count, in words. Which trials count nevertheless is left to
//! [`gates`](crate::gates).

pub mod between_sides;
pub mod caveat;
pub mod stolen_time;

use archive::model::{Plan, Trial, TrialStatus, TrialTurns};

use crate::gates::{Exposure, OTHERS, STEAL, taken_share};

/// The largest share of its CPUs, 0 to 1, that was taken from a trial; none where the limits were kept.
pub fn taken(trial: &Trial) -> Option<f64> {
    trial.gates.iter().filter_map(taken_share).max_by(f64::total_cmp)
}

/// How the servers of a run met what disturbed the machine.
pub fn exposure<'t>(plan: &Plan, trials: impl Iterator<Item = &'t Trial>) -> Exposure {
    let turns: Vec<&TrialTurns> = trials.filter_map(|trial| trial.turns.as_ref()).collect();
    let in_turns = turns.iter().find(|turns| matches!(turns, TrialTurns::InTurns { .. }));
    Exposure::of(plan, in_turns.or(turns.first()).copied())
}

/// `other programs used 45 % of the CPUs`: the mean over these trials; none where they kept the limits.
pub fn text(trials: &[&Trial]) -> Option<String> {
    let parts = [(OTHERS, "other programs used"), (STEAL, "the hypervisor took")].map(|(gate, who)| {
        if !is_taken(trials, gate) {
            return None;
        }
        let share = mean_share(trials.iter().copied(), gate)?;
        Some(format!("{who} {:.0} % of the CPUs", share * 100.0))
    });
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", and "))
}

/// The same of those of these trials that count.
pub fn of_valid<'t>(trials: impl Iterator<Item = &'t Trial>) -> Option<String> {
    let valid: Vec<&Trial> = trials.filter(|trial| trial.status == TrialStatus::Valid).collect();
    text(&valid)
}

/// The answer of a run with what was taken from the trials that it rests on.
pub fn beside<'t>(sentence: String, trials: impl Iterator<Item = &'t Trial>) -> String {
    match of_valid(trials) {
        Some(text) => format!("{sentence}; {text}"),
        None => sentence,
    }
}

/// The mean over these trials of the share that this gate measured; none where the gate measured none.
pub fn mean_share<'t>(trials: impl IntoIterator<Item = &'t Trial>, gate: &str) -> Option<f64> {
    let gates = trials.into_iter().flat_map(|trial| &trial.gates).filter(|found| found.id == gate);
    let shares: Vec<f64> = gates.filter_map(|gate| gate.share).collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

/// Who took more from these trials than the limits allow: `other programs`, `the hypervisor`, or both.
pub fn who(trials: &[&Trial]) -> &'static str {
    match (is_taken(trials, OTHERS), is_taken(trials, STEAL)) {
        (false, true) => "the hypervisor",
        (true, true) => "other programs and the hypervisor",
        (_, false) => "other programs",
    }
}

/// Whether this gate noted in one of these trials that something was taken.
fn is_taken(trials: &[&Trial], gate: &str) -> bool {
    let mut gates = trials.iter().flat_map(|trial| &trial.gates);
    gates.any(|found| found.id == gate && taken_share(found).is_some())
}

#[cfg(test)]
pub mod tests {
    use archive::model::{Gate, GateOutcome, SweepPoint};

    use super::*;
    use crate::plan::trial_order::ScheduledTrial;
    use crate::plan::variant_point::VariantPoint;
    use crate::testing::plan::PLAN;
    use crate::trial::blank;

    /// A gate that measured a share.
    pub fn gate_of_share(gate: &str, outcome: GateOutcome, share: f64) -> Gate {
        Gate {
            id: gate.to_owned(),
            outcome,
            measured: String::new(),
            share: Some(share),
            threshold: String::new(),
            message: String::new(),
        }
    }

    fn trial(gate: &str, outcome: GateOutcome, share: f64) -> Trial {
        let plan = PLAN.parse().expect("a plan");
        let scheduled = ScheduledTrial { number: 1, block: 1, position: 1, variant_point: 0 };
        let variant_point = VariantPoint { variant: 0, point: SweepPoint::new() };
        let gates = vec![gate_of_share(gate, outcome, share)];
        Trial { status: TrialStatus::Valid, gates, ..blank(&plan, &scheduled, &variant_point) }
    }

    #[test]
    fn the_sentence_says_what_other_programs_used_in_the_mean_of_the_trials_that_count() {
        let trials = [
            trial(OTHERS, GateOutcome::Noted, 0.5),
            trial(OTHERS, GateOutcome::Noted, 0.43),
            trial(OTHERS, GateOutcome::Passed, 0.0),
            Trial { status: TrialStatus::Invalid, ..trial(OTHERS, GateOutcome::Failed, 0.9) },
        ];
        let answer = || "A wins".to_owned();
        assert_eq!(beside(answer(), trials.iter()), "A wins; other programs used 31 % of the CPUs");
        assert_eq!(beside(answer(), trials[2..].iter()), "A wins");
        let stolen = trial(STEAL, GateOutcome::Noted, 0.1);
        assert_eq!(
            text(&[&trials[0], &stolen]).as_deref(),
            Some("other programs used 50 % of the CPUs, and the hypervisor took 10 % of the CPUs")
        );
        assert_eq!((taken(&stolen), taken(&trials[2])), (Some(0.1), None));
    }
}
