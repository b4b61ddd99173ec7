//! `showdown shift`: live traffic to a candidate behind a real load balancer, step by step, and back at the first breach.

use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use bakeoff::event::Event;
use load::inputs::units::{parse_duration_or_zero, parse_share};
use serde::Serialize;
use traffic::balancer::Name;
use traffic::balancer::log::receiver::LogAddress;
use traffic::control::{self, Status};
use traffic::lease::Probe;
use traffic::live::{Joining, LiveBalancer, LiveError, LiveSettings};
use traffic::observation::Window;
use traffic::plan::{Overrides, PlannedServer, ShiftPlan};
use traffic::shift::{AnswerRecord, Question, Record, RunError, Second, run as run_shift};

use crate::args::options::{AnswerFormat, ProgressArgs, RunsDir};
use crate::exit::{CommandStatus, usage};
use crate::interrupt;
use crate::print::{note, text_to_stderr};
use crate::show::progress::line_progress::LineProgress;

/// How long a single question to drain may take. The run itself watches the sessions.
const DRAIN_LIMIT: Duration = Duration::from_mins(10);
/// How long an answer of a health page may take.
const PROBE_MS: u64 = 1000;
/// Seconds in which the rate is measured that is at stake.
const SECONDS_OF_RATE: u64 = 3;

/// Options of `showdown shift`.
#[derive(clap::Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[command(after_help = "\
Examples:
  showdown shift plan.toml                  a candidate against a fresh control, step by step
  showdown shift plan.toml --ramp --yes     multiples of one old server's share, until it breaches
  showdown shift plan.toml --status         what a run does now
  showdown shift plan.toml --abort          end it: the candidate has weight 0, also if the run was killed

The plan says where HAProxy is, which servers take part, and what ends a step (docs/LIVE-TRAFFIC.md). Candidate and control run \
already; the run adds them to the backend and removes them again. Before anything is changed, it prints what is at stake and asks.

Exit codes: 0 a bound or a multiple, 1 rolled back, 2 the plan or the backend is not fit, 3 stopped or too little shown, \
130 interrupted.")]
pub struct ShiftArgs {
    /// Read this plan
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,

    /// Find the multiple of one old server's share that the candidate carries, without a control
    #[arg(long)]
    pub ramp: bool,

    /// Show the run at this plan's balancer
    #[arg(long, conflicts_with_all = ["ramp", "abort"])]
    pub status: bool,

    /// Stop the run at this plan's balancer: the candidate's weight becomes 0
    #[arg(long, conflicts_with = "ramp")]
    pub abort: bool,

    /// Begin without a question
    #[arg(long)]
    pub yes: bool,

    /// Give the candidate at most this share of all traffic, in place of the plan's
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
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
    let overrides = Overrides { dwell: args.dwell, max_share: args.max_share };
    let plan = ShiftPlan::read(&args.plan, overrides).map_err(usage)?;
    let backend: Name = plan.balancer.backend.parse().map_err(usage)?;
    let state = state_directory(&args.runs.runs, &plan);
    if args.status {
        return status(args, &state);
    }
    if args.abort {
        return abort(args, &state);
    }
    let question = Question::of(&plan, args.ramp).map_err(usage)?;
    let log: LogAddress = plan.balancer.log.parse().map_err(usage)?;
    let joining = joining(&plan, &question)?;
    let interrupted = interrupt::flag()?;
    fs::create_dir_all(&state).with_context(|| format!("cannot make {}", state.display()))?;
    let mut live = LiveBalancer::open(LiveSettings {
        socket: plan.balancer.socket.clone(),
        backend,
        log,
        directory: state,
        configuration: plan.balancer.configuration.clone(),
        program: std::env::current_exe().context("cannot find the path of this program")?,
        lease_valid: plan.balancer.lease,
        drain_limit: DRAIN_LIMIT,
    })
    .map_err(classify)?;
    for done in &live.recovered().done {
        note(&format!("an earlier run had not ended: {done}"));
    }
    ask(args, &question, &mut live)?;
    let mut record = Record::create(&run_directory(&args.runs.runs, &plan), &plan.text)?;
    live.join(&joining).map_err(classify)?;
    let progress = LineProgress::start(args.progress.progress.mode());
    let answer = run_shift(&question, &mut live, &mut record, &interrupted, &mut |second| {
        follow(&progress, second, &question);
    });
    progress.finish();
    let is_interrupted = interrupted.load(Ordering::Relaxed);
    let answer = match answer {
        Ok(Some(answer)) => answer,
        Ok(None) => return Ok(CommandStatus::Interrupted),
        Err(RunError::Start(error)) => return Err(usage(error)),
        Err(error) => return Err(error.into()),
    };
    args.format.print(&answer, || text(&answer))?;
    Ok(match answer.status.as_str() {
        _ if is_interrupted => CommandStatus::Interrupted,
        "no_worse" | "carried" => CommandStatus::Success,
        "rolled_back" => CommandStatus::Failed,
        _ => CommandStatus::Invalid,
    })
}

/// What was not fit before anything was changed is a mistake of the user's.
fn classify(error: LiveError) -> anyhow::Error {
    match error {
        LiveError::Refused(_) | LiveError::Log(_) | LiveError::Name(_) | LiveError::Locked(_) => usage(error),
        other => other.into(),
    }
}

fn joining(plan: &ShiftPlan, question: &Question) -> anyhow::Result<Vec<Joining>> {
    let control = match question {
        Question::Canary(..) => plan.control.as_ref(),
        Question::Ramp(..) => None,
    };
    std::iter::once(&plan.candidate).chain(control).map(join).collect()
}

fn join(server: &PlannedServer) -> anyhow::Result<Joining> {
    let probe = match server.health.clone() {
        Some(path) => Probe::Http { path, within_ms: PROBE_MS },
        None => Probe::Connect,
    };
    Ok(Joining {
        name: server.name.parse().map_err(usage)?,
        address: server.address,
        probe,
        sends_proxy_header: server.proxy_protocol,
        most_connections: None,
    })
}

/// A text as a part of a file's name.
fn slug(text: &str) -> String {
    let plain = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    plain.collect::<String>().trim_matches('-').to_owned()
}

/// Where the journal of a balancer is: the next run and `--abort` find there what a killed run has left.
fn state_directory(runs: &Path, plan: &ShiftPlan) -> PathBuf {
    let name = format!("{} {}", plan.balancer.socket.display(), plan.balancer.backend);
    runs.join("shift").join("state").join(slug(&name))
}

fn run_directory(runs: &Path, plan: &ShiftPlan) -> PathBuf {
    let time = humantime::format_rfc3339_seconds(SystemTime::now()).to_string().replace(['-', ':'], "");
    let candidate = slug(&plan.candidate.name);
    runs.join("shift").join(format!("{time}-{candidate}-{}", std::process::id()))
}

/// Prints what is at stake, and asks.
fn ask(args: &ShiftArgs, question: &Question, live: &mut LiveBalancer) -> anyhow::Result<()> {
    for unseen in live.unseen() {
        note(&format!("this cannot be checked, so be sure of it: {}", unseen.0));
    }
    live.observe();
    thread::sleep(Duration::from_secs(SECONDS_OF_RATE));
    let window = live.observe();
    text_to_stderr(&stake(question, &window, SECONDS_OF_RATE));
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
    Err(usage(format!("{} was not run", args.plan.display())))
}

/// Share × rate × time of each step.
fn stake(question: &Question, window: &Window, seconds: u64) -> String {
    let requests: u64 = window.servers.iter().map(|server| server.requests).sum();
    let rate = requests as f64 / seconds as f64;
    let (shares, dwell_s) = question.shares();
    let participants = question.participants();
    let mut text = format!(
        "At stake: {} behind {} of {rate:.0} requests/s, each step for {dwell_s} s at least\n",
        participants.candidate,
        participants.old.join(", "),
    );
    for (number, share) in shares.iter().enumerate() {
        let requests = share * rate * dwell_s as f64;
        let line = format!(
            "  step {}: {:5.2} % of the traffic, {:.1} requests/s, {requests:.0} requests\n",
            number + 1,
            100.0 * share,
            share * rate
        );
        text.push_str(&line);
    }
    text
}

/// The live view: one line that changes, and one that stays for each step and each alarm.
fn follow(progress: &LineProgress, second: &Second<'_>, question: &Question) {
    let window = second.window;
    if second.begins_step {
        progress.observe(&Event::Said { what: format!("{:>5} s  {}", window.second, window.phase) });
    }
    for alarm in &window.alarms {
        progress.observe(&Event::Said { what: alarm.clone() });
    }
    let mut what = window.phase.clone();
    for name in question.participants().added() {
        if let Some(server) = window.servers.iter().find(|server| server.server == *name) {
            let p99 = server.p99_ms.map(|ms| format!(", p99 {ms} ms")).unwrap_or_default();
            let figures = format!(
                "; {name} {}/s, {} late, {} failed{p99}",
                server.requests,
                server.late,
                server.failed()
            );
            what.push_str(&figures);
        }
    }
    progress.observe(&Event::Doing { what });
}

fn text(answer: &AnswerRecord) -> String {
    let mut text = format!("{}\n\n", answer.answer);
    for step in &answer.steps {
        let line = format!("{:>6} s  {}\n", step.began_s, step.phase);
        text.push_str(&line);
    }
    text + &format!("\nreport: {}/report.html\n", answer.directory)
}

/// What `--status --format json` prints.
#[derive(Serialize)]
struct StatusOutput {
    run: Option<Status>,
}

fn status(args: &ShiftArgs, state: &Path) -> anyhow::Result<CommandStatus> {
    let output = StatusOutput { run: control::status(state)? };
    args.format.print(&output, || status_text(output.run.as_ref()))?;
    Ok(CommandStatus::Success)
}

fn status_text(status: Option<&Status>) -> String {
    let Some(Status { is_running, pid: Some(pid), added, last_window, lease, .. }) = status else {
        return "no run at this balancer\n".to_owned();
    };
    let mut text = if *is_running {
        format!("a run is in progress (pid {pid})\n")
    } else if added.iter().any(|(_, _, is_withdrawn)| !is_withdrawn) {
        format!("the run of pid {pid} has ended and left its servers: pass --abort\n")
    } else {
        "no run at this balancer\n".to_owned()
    };
    if let Some(lease) = lease {
        text.extend(["the lease was lost: ", &lease.lost, "\n"]);
    }
    if *is_running && let Some(window) = last_window {
        for server in &window.servers {
            let weight = server.weight.map_or_else(|| "?".to_owned(), |weight| weight.to_string());
            let line = format!(
                "  {:<16} weight {weight:>3}, {} requests/s, {} failed, {} in progress\n",
                server.server,
                server.requests,
                server.failed.total(),
                server.in_progress
            );
            text.push_str(&line);
        }
    }
    text
}

/// What `--abort --format json` prints.
#[derive(Serialize)]
struct AbortOutput {
    done: Vec<String>,
    left: Vec<String>,
}

fn abort(args: &ShiftArgs, state: &Path) -> anyhow::Result<CommandStatus> {
    let recovered = control::abort(state)?;
    let is_complete = recovered.is_complete();
    let output = AbortOutput { done: recovered.done, left: recovered.left };
    args.format.print(&output, || {
        let lines: Vec<&String> = output.done.iter().chain(&output.left).collect();
        if lines.is_empty() {
            return "no run at this balancer\n".to_owned();
        }
        lines.into_iter().flat_map(|line| [line.as_str(), "\n"]).collect()
    })?;
    Ok(if is_complete { CommandStatus::Success } else { CommandStatus::Failed })
}
