//! `showdown shift`: live traffic to a candidate behind a real load balancer, step by step, and back at the first breach.

use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use load::inputs::units::parse_duration_or_zero;
use serde::Serialize;
use traffic::balancer::lock::user_of;
use traffic::control::{self, Status};
use traffic::guard::{check_log, check_start};
use traffic::journal::directory_of;
use traffic::live::{Joining, LiveBalancer, LiveError, LiveSettings};
use traffic::plan::{Overrides, PlannedBackend, ShiftPlan, parse_percentage};
use traffic::shift::{
    BeforeBreach, ProgramComparison, Question, Record, open_runs, run as run_shift, state_directory,
};
use traffic::weights::Participants;

use crate::args::options::{AnswerFormat, ProgressArgs, RunsDir};
use crate::exit::{CommandStatus, usage};
use crate::interrupt;
use crate::print::{note, text_to_stderr};
use crate::show::progress::line_progress::LineProgress;
use crate::show::shift::{NO_RUN, answer_text, follow, stake, status_text};

/// Seconds in which the rate is measured that is at stake.
const SECONDS_OF_RATE: u64 = 3;

/// What the second Ctrl-C prints.
const AGAIN: &str = "interrupted again: it ends at once. The process of its lease takes candidate and control out of the balancer and gives the \
                     old servers their weights back; `showdown shift --status` says what is left";

/// Options of `showdown shift`.
#[derive(clap::Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[command(after_help = "\
Examples:
  showdown shift plan.toml                  a candidate against a fresh control, step by step
  showdown shift plan.toml --ramp --yes     multiples of one old server's share, until it breaches
  showdown shift --status                   what a run does now
  showdown shift --abort                    end it: the candidate has weight 0, also if the run was killed

The plan says where HAProxy is, which servers take part, and what ends a step (docs/LIVE-TRAFFIC.md). Candidate and control run \
already; the run adds them to the backend and removes them again. Before anything is changed, it prints what is at stake and asks. \
`--status` and `--abort` take the directory of runs (`--runs`) that the run has, and a plan where several runs are open there.

Exit codes: 0 a bound or a multiple; 1 rolled back, the first multiple was not carried, or the balancer did not do what was asked; \
2 the plan or the backend is not fit; 3 stopped or too little shown; 130 interrupted.")]
pub struct ShiftArgs {
    /// Read this plan. `--status` and `--abort` find the open run without it
    #[arg(value_name = "PLAN", required_unless_present_any = ["status", "abort"])]
    pub plan: Option<PathBuf>,

    /// Find the multiple of one old server's share that the candidate carries, without a control
    #[arg(long)]
    pub ramp: bool,

    /// Show the run at this plan's balancer, or the open run of the directory of runs
    #[arg(long, conflicts_with_all = ["ramp", "abort"])]
    pub status: bool,

    /// Stop the run at this plan's balancer, or the open run of the directory of runs: the candidate's weight becomes 0
    #[arg(long, conflicts_with = "ramp")]
    pub abort: bool,

    /// Begin without a question
    #[arg(long)]
    pub yes: bool,

    /// Give the candidate at most this share of all traffic, in place of the plan's
    #[arg(long, value_name = "SHARE", value_parser = parse_percentage)]
    pub max_share: Option<f64>,

    /// Maintain each step for this long at least, in place of the plan's
    #[arg(long, value_parser = parse_duration_or_zero)]
    pub dwell: Option<Duration>,

    /// Print the answer in this form
    #[arg(long, value_enum, default_value = "text")]
    pub format: AnswerFormat,

    #[command(flatten)]
    pub progress: ProgressArgs,

    #[command(flatten)]
    pub runs: RunsDir,
}

/// `showdown shift`.
pub fn run(args: &ShiftArgs) -> anyhow::Result<CommandStatus> {
    let (Some(plan_file), false) = (&args.plan, args.status || args.abort) else {
        return show_or_abort(args);
    };
    let overrides = Overrides { dwell: args.dwell, max_share: args.max_share };
    let plan = ShiftPlan::read(plan_file, overrides).map_err(usage)?;
    let question = Question::of(&plan, args.ramp).map_err(usage)?;
    let state = state_directory(&args.runs.runs, &plan.balancer.place);
    let interrupted = interrupt::flag_of(AGAIN)?;
    fs::create_dir_all(&state).with_context(|| format!("cannot make {}", state.display()))?;
    let mut live = LiveBalancer::open(LiveSettings {
        socket: plan.balancer.place.socket.clone(),
        backend: plan.balancer.place.backend.clone(),
        log: plan.balancer.log.clone(),
        mail: plan.mail.clone(),
        directory: state,
        configuration: plan.balancer.configuration.clone(),
        program: std::env::current_exe().context("cannot find the path of this program")?,
        lease_valid: plan.balancer.lease,
    })
    .map_err(classify)?;
    for done in live.recovered().done.iter().chain(&live.recovered().stays) {
        note(&format!("an earlier run had not ended: {done}"));
    }
    let joining = plan.joining(question.participants());
    live.check_joining(&joining).map_err(classify)?;
    note_control(&joining, question.participants(), &mut live);
    ask(args, &question, plan.mail.is_some(), &mut live)?;
    if interrupted.load(Ordering::Relaxed) {
        return Ok(CommandStatus::Interrupted);
    }
    let programs = compare_programs(&joining, question.participants(), &mut live);
    live.join(&joining).map_err(classify)?;
    // Not earlier: a run that did not begin has no record.
    let mut record = Record::create(&args.runs.runs, plan.candidate.name.as_str(), &plan.text)?;
    live.journal_record(record.directory())?;
    record.programs(programs);
    let progress = LineProgress::start(args.progress.progress.mode());
    let answer = run_shift(
        &question,
        &mut live,
        BeforeBreach::watch(&joining),
        &mut record,
        &interrupted,
        &mut |second| {
            follow(&progress, second, &question);
        },
    );
    progress.finish();
    for stays in &live.recovered().stays {
        note(stays);
    }
    let is_interrupted = interrupted.load(Ordering::Relaxed);
    let answer = match answer {
        Ok(Some(answer)) => answer,
        Ok(None) => return Ok(CommandStatus::Interrupted),
        Err(error) => return Err(error.into()),
    };
    args.format.print(&answer, || answer_text(&answer, record.directory()))?;
    Ok(match answer.status.as_str() {
        _ if is_interrupted => CommandStatus::Interrupted,
        "no_worse" | "carried" => CommandStatus::Success,
        "rolled_back" => CommandStatus::Failed,
        _ => CommandStatus::Invalid,
    })
}

/// How the candidate's program differs from that of the control, or of an old server. It takes a moment, so it is done before servers have
/// a lease.
fn compare_programs(
    joining: &[Joining],
    participants: &Participants,
    live: &mut LiveBalancer,
) -> Option<ProgramComparison> {
    let candidate = joining.first()?.address;
    let other = if let Some(control) = joining.get(1) {
        (&control.name, control.address)
    } else {
        let old = participants.old.first()?;
        (old, live.address_of(old)?)
    };
    Some(ProgramComparison::of(candidate, other))
}

/// Says so if the control is not the old version, as far as its program can be seen: the answer compares the candidate with it.
fn note_control(joining: &[Joining], participants: &Participants, live: &mut LiveBalancer) {
    let (Some(control), Some(old)) = (joining.get(1), participants.old.first()) else { return };
    let Some(address) = live.address_of(old) else { return };
    let compared = ProgramComparison::of(control.address, (old, address));
    if compared.is_other_program() {
        let differences = compared.in_words_of(control.name.as_str());
        note(&format!("{differences}: the control must be the old version, so be sure that it is"));
    }
}

/// What was not fit before anything was changed is a mistake of the user's.
fn classify(error: LiveError) -> anyhow::Error {
    match error {
        LiveError::Refused(_)
        | LiveError::Log(_)
        | LiveError::MailLog(_)
        | LiveError::Name(_)
        | LiveError::Locked(_) => usage(error),
        other => other.into(),
    }
}

/// Prints what is at stake, and asks.
fn ask(args: &ShiftArgs, question: &Question, is_mail: bool, live: &mut LiveBalancer) -> anyhow::Result<()> {
    for text in live.notes() {
        note(text);
    }
    for unseen in live.unseen() {
        note(&format!("this cannot be checked, so be sure of it: {}", unseen.0));
    }
    live.observe();
    let mut windows = Vec::new();
    for _ in 0..SECONDS_OF_RATE {
        thread::sleep(Duration::from_secs(1));
        windows.push(live.observe());
    }
    check_start(question.participants(), &windows).map_err(usage)?;
    if !is_mail {
        check_log(&windows).map_err(usage)?;
    }
    let requests: u64 = windows.iter().flat_map(|window| &window.servers).map(|server| server.requests).sum();
    text_to_stderr(&stake(question, requests as f64 / SECONDS_OF_RATE as f64));
    if args.yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(usage("live traffic is at stake: read the lines above, then pass --yes"));
    }
    text_to_stderr("Begin? [y/N] ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    if ["y", "yes"].contains(&answer.trim().to_lowercase().as_str()) {
        return Ok(());
    }
    Err(usage("the plan was not run"))
}

/// What `--status --format json` prints.
#[derive(Serialize)]
struct StatusOutput {
    run: Option<Status>,
}

/// `--status` and `--abort`: of the run at the plan's balancer, or of the only one that is open.
fn show_or_abort(args: &ShiftArgs) -> anyhow::Result<CommandStatus> {
    let place = args.plan.as_deref().map(PlannedBackend::read).transpose().map_err(usage)?;
    let state = match &place {
        Some(place) => Some(state_directory(&args.runs.runs, place)),
        None => the_open_run(&args.runs.runs)?,
    };
    if args.abort {
        return abort(args, place.as_ref(), state.as_deref());
    }
    status(args, place.as_ref(), state.as_deref())
}

/// Nothing runs, and nothing is left.
fn no_run(args: &ShiftArgs) -> String {
    match &args.plan {
        Some(_) => NO_RUN.to_owned(),
        None => format!("no run is open in {}\n", args.runs.runs.display()),
    }
}

/// The directory of the run that is in progress, or was killed and has left something. None if there is none.
fn the_open_run(runs: &Path) -> anyhow::Result<Option<PathBuf>> {
    let mut open = open_runs(runs)?;
    if open.len() < 2 {
        return Ok(open.pop().map(|run| run.directory));
    }
    for run in &open {
        // The record has the plan. Before the first step there is none.
        let plan = run.status.record.as_ref().map(|record| record.join("plan.toml").display().to_string());
        let line = format!(
            "  {} of {}: showdown shift {} --runs {}\n",
            run.status.backend.as_deref().unwrap_or_default(),
            run.status.socket.as_deref().unwrap_or(&run.directory).display(),
            plan.as_deref().unwrap_or("PLAN"),
            runs.display()
        );
        text_to_stderr(&line);
    }
    let count = open.len();
    Err(usage(format!("{count} runs are open: name one with its plan, as above, and --status or --abort")))
}

/// A run that another directory of runs knows must not be taken for none.
fn check_elsewhere(args: &ShiftArgs, place: Option<&PlannedBackend>) -> anyhow::Result<()> {
    let Some(place) = place else { return Ok(()) };
    let Some(user) = user_of(&place.socket) else { return Ok(()) };
    // RUNS/shift/state/NAME, where this user may see it.
    let journal = user.pid().and_then(directory_of);
    let found = journal.as_deref().and_then(|state| state.ancestors().nth(3));
    let directory = found.map_or_else(
        || "pass the directory of runs that it has, with --runs".to_owned(),
        |runs| format!("pass --runs {}", runs.display()),
    );
    Err(usage(format!(
        "the balancer at {} is in use by {user}, and {} has no such run: {directory}",
        place.socket.display(),
        args.runs.runs.display()
    )))
}

fn status(
    args: &ShiftArgs,
    place: Option<&PlannedBackend>,
    state: Option<&Path>,
) -> anyhow::Result<CommandStatus> {
    let output = StatusOutput { run: state.map(control::status).transpose()?.flatten() };
    // One that was killed is shown, whoever cleans up after it.
    if output.run.as_ref().is_none_or(|run| run.since_s.is_none()) {
        check_elsewhere(args, place)?;
    }
    args.format.print(&output, || output.run.as_ref().map_or_else(|| no_run(args), status_text))?;
    Ok(CommandStatus::Success)
}

/// What `--abort --format json` prints.
#[derive(Serialize)]
struct AbortOutput {
    done: Vec<String>,
    left: Vec<String>,
}

fn abort(
    args: &ShiftArgs,
    place: Option<&PlannedBackend>,
    state: Option<&Path>,
) -> anyhow::Result<CommandStatus> {
    let mut recovered = state.map(control::abort).transpose()?.unwrap_or_default();
    let is_complete = recovered.is_complete();
    if recovered.done.is_empty() && recovered.left.is_empty() {
        check_elsewhere(args, place)?;
    }
    recovered.done.append(&mut recovered.stays);
    let output = AbortOutput { done: recovered.done, left: recovered.left };
    args.format.print(&output, || {
        let lines: Vec<&String> = output.done.iter().chain(&output.left).collect();
        if lines.is_empty() {
            return no_run(args);
        }
        lines.into_iter().flat_map(|line| [line.as_str(), "\n"]).collect()
    })?;
    Ok(if is_complete { CommandStatus::Success } else { CommandStatus::Failed })
}
