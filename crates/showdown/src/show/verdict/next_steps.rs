//! What to do after a comparison without an answer, in three lines. What disturbed its trials is left to the list of invalid trials.

use std::fmt::Write as _;

use archive::Run;
use archive::model::{GateOutcome, Measure, Plan, RunKind, TrialStatus, Verdict};
use bakeoff::{CLIENT, OTHERS, STEAL};

use super::{headline, reasons};

/// Options of `compare` that a command which measures CPU time cannot have; each has a value.
const OF_OTHER_MEASURES: [&str; 4] = ["--measure", "--slo", "--rates", "--rate"];
/// Options that say how long a comparison takes; those with a value, and those without.
const LENGTHS: [&str; 3] = ["--for", "--duration", "--blocks"];
const PRESETS: [&str; 2] = ["--quick", "--thorough"];

/// The lines: find what disturbs the machine, repeat the command with one change, and the page that has the reasons. None if there is an
/// answer, or the run goes on. The log of a server that ended says more than they do.
pub(super) fn lines(verdict: &Verdict, run: &Run) -> String {
    let has_crash = reasons::kinds(&run.trials).iter().any(|kind| kind.is_of_server);
    if !headline::is_inconclusive(verdict) || verdict.is_interrupted() || has_crash {
        return String::new();
    }
    let mut out = String::from("\nWhat to do:\n");
    let _ = writeln!(out, "  showdown doctor   names what disturbs this machine, with the remedy");
    if let Some(plan) = &run.plan
        && let Some((command, why)) = repeated(plan, run)
    {
        let _ = writeln!(out, "  {}   {why}", shell_words::join(command));
    }
    let _ = writeln!(out, "  docs/TROUBLESHOOTING.md   has each reason, and what to do");
    out
}

/// The command of the plan with the change that helps most, and what the change does; none for a plan without a command of its own.
fn repeated(plan: &Plan, run: &Run) -> Option<(Vec<String>, &'static str)> {
    let (_, arguments) = plan.command.split_first()?;
    if plan.kind != RunKind::Compare
        || plan.measure == Measure::BreakingPoint
        || arguments.first()? != "compare"
    {
        return None;
    }
    if is_disturbed(run) && can_measure_cpu_time(plan) {
        let added = ["--measure", "cpu"];
        return Some((
            changed(arguments, &OF_OTHER_MEASURES, &[], added),
            "CPU time an operation is disturbed least",
        ));
    }
    let is_long =
        arguments.iter().any(|argument| matches!(argument.as_str(), "--for" | "--duration" | "--thorough"));
    let added = ["--for", if is_long { "1h" } else { "20m" }];
    Some((changed(arguments, &LENGTHS, &PRESETS, added), "more blocks make the interval narrower"))
}

/// The arguments without these options with a value and these flags, and with what is added.
fn changed(arguments: &[String], with_value: &[&str], flags: &[&str], added: [&str; 2]) -> Vec<String> {
    let mut kept = vec!["showdown".to_owned()];
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let (name, value) =
            argument.split_once('=').map_or((argument.as_str(), None), |(name, value)| (name, Some(value)));
        if with_value.contains(&name) {
            if value.is_none() {
                arguments.next();
            }
        } else if !flags.contains(&name) {
            kept.push(argument.clone());
        }
    }
    kept.extend(added.map(str::to_owned));
    kept
}

/// Whether other programs, the hypervisor or a client without enough CPU time disturbed a trial.
fn is_disturbed(run: &Run) -> bool {
    run.trials.iter().map(|record| &record.trial).any(|trial| {
        trial.status != TrialStatus::Failed
            && trial.gates.iter().any(|gate| {
                matches!(gate.outcome, GateOutcome::Failed | GateOutcome::Noted)
                    && [CLIENT, OTHERS, STEAL].contains(&gate.id.as_str())
            })
    })
}

/// Whether the plan could measure CPU time instead: its workload and the rest of the plan allow it, and it does not measure it already.
fn can_measure_cpu_time(plan: &Plan) -> bool {
    let measures = [Measure::CpuTime { rate_per_s: None }, Measure::UserCpuTime];
    !plan.measure.is_cpu_time()
        && measures.into_iter().any(|measure| {
            bakeoff::check(&Plan { measure, fallback: None, replaced: None, ..plan.clone() }).is_ok()
        })
}

#[cfg(test)]
mod tests {
    use archive::model::{ComparisonVerdict, InconclusiveReason};

    use super::*;

    /// A made-up comparison of the workload `static-web` without an answer, of which `gate` has failed in each trial. `command` has made
    /// it.
    fn run(command: &str, gate: &str) -> Run {
        let root = tempfile::tempdir().expect("a folder");
        let id = archive::example::comparison(root.path(), 3).expect("a run");
        let mut run = Run::open(&root.path().join(id.as_str())).expect("a run");
        run.plan.as_mut().expect("a plan").command = shell_words::split(command).expect("a command");
        for gate in
            run.trials.iter_mut().flat_map(|record| &mut record.trial.gates).filter(|one| one.id == gate)
        {
            gate.outcome = GateOutcome::Failed;
        }
        let verdict = run.verdict.as_mut().expect("a verdict");
        for pair in &mut verdict.comparisons {
            let reason = InconclusiveReason::TooFewBlocks { blocks: 1, needed: 3 };
            pair.verdict = ComparisonVerdict::Inconclusive { reason };
        }
        run
    }

    fn lines_of(run: &Run) -> String {
        lines(run.verdict.as_ref().expect("a verdict"), run)
    }

    #[test]
    fn a_disturbed_comparison_is_repeated_with_cpu_time() {
        let lines = lines_of(&run("/usr/bin/showdown compare nginx apache --quick --slo=p99<5ms", STEAL));
        assert!(lines.contains("  showdown doctor "), "{lines}");
        assert!(lines.contains("  showdown compare nginx apache --quick --measure cpu "), "{lines}");
        assert!(lines.contains("docs/TROUBLESHOOTING.md"), "{lines}");
        assert_eq!(lines.lines().skip(2).count(), 3, "{lines}");
    }

    #[test]
    fn one_that_is_too_short_or_measures_cpu_time_is_repeated_for_longer() {
        let lines = lines_of(&run("showdown compare nginx apache --quick", "no-gate"));
        assert!(lines.contains("  showdown compare nginx apache --for 20m "), "{lines}");
        let mut of_cpu = run("showdown compare nginx 'apache:x=a b' --measure cpu --for 20m", STEAL);
        of_cpu.plan.as_mut().expect("a plan").measure = Measure::CpuTime { rate_per_s: None };
        let lines = lines_of(&of_cpu);
        assert!(lines.contains("  showdown compare nginx 'apache:x=a b' --measure cpu --for 1h "), "{lines}");
    }

    #[test]
    fn a_plan_without_a_command_of_compare_has_no_command_to_repeat() {
        let lines = lines_of(&run("showdown run plan.toml", STEAL));
        assert!(lines.contains("showdown doctor") && !lines.contains("plan.toml"), "{lines}");
    }

    #[test]
    fn after_an_answer_there_is_nothing_to_do() {
        let mut answered = run("showdown compare nginx apache", STEAL);
        for pair in &mut answered.verdict.as_mut().expect("a verdict").comparisons {
            pair.verdict = ComparisonVerdict::NoDifferenceShown { within: 0.02 };
        }
        assert_eq!(lines_of(&answered), "");
    }
}
