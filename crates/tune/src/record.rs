//! What a search has found as `tuning.json` has it, with the answer in words and the lines to take home.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use archive::model::{
    BeforeAfter, FORMAT, MechanismOutcome, TakeHome, TriedTuning, TuningOutcome, TuningRecord, TuningStep,
    UntriedTuning, plural,
};
use explain::{CPU_IN_KERNEL, CPU_PER_OPERATION, WAITS_PER_OPERATION};

use crate::lab::{StageTrials, TrialReading};
use crate::search::decide;
use crate::search::{Confirmation, Found, Headline, Outcome, Tried, too_few};
use crate::tuning::Scope;

/// What else a record has.
#[derive(Clone, Debug, Default)]
pub struct RecordContext {
    /// The command line as typed.
    pub command: Vec<String>,
    /// The baseline as written.
    pub baseline: String,
    /// The tuned server as written, if something is kept.
    pub tuned: Option<String>,
    /// What is measured.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// The time that was given.
    pub budget: Duration,
    /// The time that it took.
    pub took: Duration,
    /// What the user allowed.
    pub allowed: Vec<String>,
    /// The run directory of the steps that is the run itself: its steps have no folder below `search`.
    pub own_run: String,
}

/// The record of a search.
pub fn record(found: &Found, context: RecordContext) -> TuningRecord {
    let kept = found.confirmation.as_ref().and_then(|confirmation| {
        let headline = confirmation.headline.as_ref().filter(|headline| headline.holds())?;
        Some((confirmation, headline))
    });
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    let name = server_of(&context.baseline);
    TuningRecord {
        format: FORMAT,
        made_unix_ms: now,
        sentence: sentence(found, name),
        metric: context.metric.clone(),
        unit: context.unit.clone(),
        budget_s: context.budget.as_secs_f64(),
        took_s: context.took.as_secs_f64(),
        allowed: context.allowed,
        equal: found.equal.estimate.clone().map(Into::into),
        equal_sentence: found.equal.to_string(),
        headline: kept.map(|(_, headline)| headline.estimate.clone().into()),
        before_after: kept
            .map(|(kept, _)| before_after(kept, &context.metric, &context.unit))
            .unwrap_or_default(),
        tuned: context.tuned.filter(|_| kept.is_some()),
        tried: found.tried.iter().map(tried).collect(),
        weaker: found.weaker.iter().map(tried).collect(),
        not_tried: found
            .not_tried
            .iter()
            .map(|not| UntriedTuning {
                tuning: not.tuning.clone(),
                title: not.title.clone(),
                why: not.why.clone(),
            })
            .collect(),
        steps: found
            .stages
            .iter()
            .map(|stage| TuningStep {
                name: stage.name.clone(),
                run: if stage.run == context.own_run { String::new() } else { stage.run.clone() },
                learnt: stage.learnt.clone(),
            })
            .collect(),
        take_home: if kept.is_some() { take_home(found, name) } else { Vec::new() },
        ended: found.ended.clone().or_else(|| found.is_interrupted.then(|| "it was interrupted".to_owned())),
        command: context.command,
        baseline: context.baseline,
    }
}

/// The name of the server of a variant as written.
fn server_of(variant: &str) -> &str {
    variant.split([':', '@']).next().unwrap_or(variant)
}

/// The answer in one sentence.
fn sentence(found: &Found, server: &str) -> String {
    // A tuning with several values is several candidates.
    let measured = found.tried.iter().filter(|tried| !tried.step.is_empty());
    let tunings: BTreeSet<&str> = measured.map(|tried| tried.candidate.tuning.id.as_str()).collect();
    let tried = tunings.len();
    let of = plural(tried as u64, "tuning");
    let kept = found.tried.iter().filter(|tried| tried.outcome == Outcome::Kept).count();
    match found
        .confirmation
        .as_ref()
        .map(|Confirmation { headline, trials, .. }| headline.as_ref().ok_or(trials))
    {
        Some(Ok(headline)) if headline.holds() => {
            let Headline { estimate, .. } = headline;
            let (ratio, low, high) = (estimate.ratio, estimate.low, estimate.high);
            format!("{server} does {ratio:.2} × ({low:.2}–{high:.2}) its baseline with {kept} of {of}")
        }
        Some(Ok(headline)) if headline.is_gain => {
            format!("nothing is kept for {server}: what gains is not worth it: {}", headline.worse.join("; "))
        }
        Some(Ok(_)) => {
            format!("nothing is kept for {server}: what seemed to gain was not confirmed on fresh blocks")
        }
        Some(Err(trials)) => format!("nothing is kept for {server}: {}", too_few(trials)),
        None if found.is_interrupted => {
            format!("the search for {server} was interrupted before its confirmation")
        }
        None => match &found.ended {
            Some(why) => format!("the search for {server} ended early: {why}"),
            None if tried == 0 => format!("there is no tuning to try for {server} here"),
            None => format!(
                "nothing is kept for {server}: none of {of} gains more than 1 % and the noise of this host"
            ),
        },
    }
}

fn tried(tried: &Tried) -> TriedTuning {
    let tuning = &tried.candidate.tuning;
    let mean = tried.gains.mean();
    TriedTuning {
        tuning: tuning.id.clone(),
        title: tuning.title.clone(),
        settings: tried.candidate.settings.clone(),
        reason: tried.candidate.reason.clone(),
        outcome: match tried.outcome {
            Outcome::Kept => TuningOutcome::Kept,
            Outcome::Refused => TuningOutcome::Refused,
            Outcome::Open | Outcome::Dropped => TuningOutcome::Dropped,
        },
        why: tried.why.clone(),
        step: tried.step.clone(),
        screened: mean.is_finite().then(|| mean.exp()),
        blocks: tried.gains.0.len() as u32,
        own: tried.own.clone().map(Into::into),
        own_confirmed: tried.own_confirmed,
        mechanism: tuning.mechanism.as_ref().map(|mechanism| MechanismOutcome {
            figure: mechanism.figure.clone(),
            ratio: tried.mechanism.map(|found| found.ratio),
            moved: tried.mechanism.is_some_and(|found| found.moved),
        }),
        risk: tuning.avoid.clone(),
        source: tuning.source.clone(),
    }
}

type Read = Box<dyn Fn(&TrialReading) -> Option<f64>>;

/// The measured figures of a confirmation, with the baseline and with what is kept.
fn before_after(confirmation: &Confirmation, metric: &str, unit: &str) -> Vec<BeforeAfter> {
    let figure = |name: &'static str| -> Read { Box::new(move |trial| trial.figures.get(name).copied()) };
    let of_confirmation: [(&str, &str, Read); 4] = [
        ("CPU time an operation", "µs", figure(CPU_PER_OPERATION)),
        ("share of CPU time in the kernel", "share", figure(CPU_IN_KERNEL)),
        ("waits an operation", "1", figure(WAITS_PER_OPERATION)),
        ("peak memory of the server", "B", Box::new(|trial| trial.memory_bytes)),
    ];
    let value: Read = Box::new(|trial| trial.value);
    let mut rows = vec![compared(&confirmation.trials, metric, unit, &value)];
    // Of a closed loop, response times follow from throughput: only those of the open loop are the server's.
    let (of, trials) = match &confirmation.open_loop {
        Some(open_loop) => (format!(" at {:.0} operations/s", open_loop.rate_per_s), &open_loop.trials),
        None => (String::new(), &confirmation.trials),
    };
    let percentiles: [(&str, Read); 2] =
        [("p99", Box::new(|trial| trial.p99_us)), ("p99.9", Box::new(|trial| trial.p99_9_us))];
    for (name, read) in &percentiles {
        rows.push(compared(trials, &format!("{name} of response time{of}"), "µs", read));
    }
    rows.extend(
        of_confirmation.iter().map(|(what, unit, read)| compared(&confirmation.trials, what, unit, read)),
    );
    rows.into_iter().flatten().collect()
}

/// A figure of trials, with the baseline and with what is kept; none where it is not known.
fn compared(trials: &StageTrials, what: &str, unit: &str, read: &Read) -> Option<BeforeAfter> {
    let (before, after) = (trials.mean(0, read)?, trials.mean(1, read)?);
    let ratio = decide::estimate(&trials.log_ratios(1, 0, read)).map(Into::into);
    Some(BeforeAfter { what: what.to_owned(), unit: unit.to_owned(), before, after, ratio })
}

/// The lines of what is kept, by where they go.
fn take_home(found: &Found, server: &str) -> Vec<TakeHome> {
    let kept = || found.tried.iter().filter(|tried| tried.outcome == Outcome::Kept);
    let file_of = |scope: Scope, line: &str| match scope {
        Scope::Sysctl if !line.contains(" = ") || !line.contains('.') => format!("configuration of {server}"),
        Scope::Sysctl => "sysctl.d/90-showdown.conf".to_owned(),
        Scope::Sysfs => "commands at the start of the machine, as root".to_owned(),
        Scope::Process => format!("environment and command of {server}"),
        Scope::Server | Scope::Boot => format!("configuration of {server}"),
    };
    let mut files: Vec<TakeHome> = Vec::new();
    for tried in kept() {
        let tuning = &tried.candidate.tuning;
        for line in &tried.candidate.take_home {
            let file = file_of(tuning.scope, line);
            let line = line.clone();
            match files.iter_mut().find(|known| known.file == file) {
                Some(known) if known.lines.contains(&line) => {}
                Some(known) => known.lines.push(line),
                None => files.push(TakeHome { file, lines: vec![line] }),
            }
        }
    }
    files
}
