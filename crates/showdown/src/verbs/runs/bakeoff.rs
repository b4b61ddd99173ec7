//! `compare`, `sweep`, `run` and `plan`: from a question or a plan to a verdict.

use std::path::{Path, PathBuf};

use archive::model::{Plan, PlanParseError, RunKind, Worse};
use bakeoff::plan_request::measuring_power;
use clap::Subcommand;
use host::knobs::Knob;
use runs::{Permissions, RunAnswer, RunRequest, resume_command};

use super::comparison_args::{ComparisonArgs, resolve};
use super::concurrency::{self, ConcurrencyArgs};
use super::explain::{self, ExplainArgs};
use crate::answer::execute::{end, execute};
use crate::answer::of_run::{AnswerForm, print_answer};
use crate::args::meters::{MeterArgs, PlanUse, RunMeters};
use crate::args::options::{AnswerFormat, ProgressArgs, RunsDir};
use crate::args::plan_trust;
use crate::exit::{CommandStatus, usage};
use crate::interrupt;
use crate::print::{note, print};
use crate::verbs::results::shifts::refuse_plan;

/// How a run is shown, and where it is kept.
#[derive(clap::Args, Debug)]
pub struct RunArgs {
    /// Print the answer as text or as JSON
    #[arg(long, value_enum, default_value = "text")]
    pub format: AnswerFormat,

    #[command(flatten)]
    pub progress: ProgressArgs,

    /// Allow the plan to set this kernel setting, which is not one of the usual ones of a comparison; may be repeated
    #[arg(long, value_name = "NAME")]
    pub allow_kernel: Vec<Knob>,

    /// Use this build on hosts of this architecture, such as aarch64=showdown-aarch64
    #[arg(long, value_name = "ARCHITECTURE=PATH")]
    pub program: Vec<String>,

    #[command(flatten)]
    pub meters: MeterArgs,

    #[command(flatten)]
    pub runs: RunsDir,
}

impl RunArgs {
    /// What the user allows trials, and gives them.
    pub fn permissions(&self, meters: RunMeters) -> Permissions {
        Permissions {
            kernel: self.allow_kernel.clone(),
            programs: self.program.clone(),
            meters: meters.meters,
            prices: meters.prices,
            target_is_mine: false,
        }
    }
}

/// Options of `showdown compare`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown compare nginx apache
  showdown compare apache:mpm=event apache:mpm=prefork apache:mpm=worker --on-op get-1k
  showdown compare memcached:threads=1 memcached:threads=2 redis --slo 'p99<2ms'
  showdown compare nginx:net.ipv4.tcp_autocorking=1 nginx:net.ipv4.tcp_autocorking=0
  showdown compare nginx apache --measure latency --rates 10k,20k
  showdown compare nginx apache --measure cpu
  showdown compare nginx apache:mpm=event apache:mpm=worker --measure breaking-point
  showdown compare nginx@old nginx@new --hosts hosts.toml
  showdown compare nginx apache --on new --clients c1,c2
  showdown compare nginx@kind:small nginx@kind:large --clients c1
  showdown compare nginx apache --power apc-rpdu2=10.0.0.9,outlet=5 --load-levels
  showdown compare nginx apache --cost targets.toml

Capacity and latency come from an open loop. Response time counts from the intended start of each operation, so a \
stalled server cannot hide the operations that wait for it (coordinated omission).

Exit codes: 0 a difference, or no difference shown; 3 inconclusive, or no valid trial; 4 as --fail-if says; 2 usage error, \
1 failure, 130 interrupted.")]
pub struct CompareArgs {
    #[command(flatten)]
    pub question: ComparisonArgs,
    /// Fail with exit code 4 if a variant is worse than the first one: for certain, and by more than this, such as worse:3%
    #[arg(long, value_name = "worse[:PERCENT%]")]
    pub fail_if: Option<Worse>,
    #[command(flatten)]
    pub run: RunArgs,
}

/// Options of `showdown sweep`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown sweep memcached --vary threads=1,2 --vary connections=1..1024
  showdown sweep nginx --vary rate=10k..80k
  showdown sweep memcached:threads=1 memcached:threads=2 --measure cpu --vary rate=10k..80k

Exit codes: 0 a valid trial at least, 3 none, 2 usage error, 1 failure, 130 interrupted.")]
pub struct SweepArgs {
    #[command(flatten)]
    pub question: ComparisonArgs,

    /// Vary a knob, connections or rate: give values (threads=1,2,4) or a range that doubles at each step
    /// (connections=1..1024); the connections of a load of users are its users (users=10..80); may be repeated
    #[arg(long, required = true, value_name = "NAME=VALUES")]
    pub vary: Vec<String>,

    #[command(flatten)]
    pub run: RunArgs,
}

/// Options of `showdown run`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown run plan.toml
  showdown run runs/20261121T005139Z-nginx-apache-7f3a/plan.toml
  showdown run runs/20261121T005139Z-nginx-apache-7f3a/plan.toml --yes

A plan is code: it starts programs, installs packages and sets kernel settings. If it came from elsewhere, showdown \
says what it does and asks. See docs/SECURITY.md.

Exit codes: 0 a difference, or no difference shown; 3 inconclusive, or no valid trial; 4 as the plan's fail_if says; 2 usage \
error, 1 failure, 130 interrupted.")]
pub struct PlanFileArgs {
    /// Read this plan: `showdown plan` prints one, and every run directory has one
    #[arg(value_name = "PLAN.TOML")]
    pub plan: PathBuf,

    /// Run the plan without a question, also if it came from elsewhere: from an imported run, or from a file that
    /// another user owns or may change
    #[arg(short, long)]
    pub yes: bool,

    /// Measure watts at 100 % to 10 % of each trial's value in tens, and in active idle, as SPEC's benchmark of power does; needs a meter
    #[arg(long)]
    pub load_levels: bool,

    /// Allow a plan of transfers whose URL has a public address: the server there is yours
    #[arg(long)]
    pub target_is_mine: bool,

    #[command(flatten)]
    pub run: RunArgs,
}

impl PlanFileArgs {
    /// Refuses the options that mean nothing for a plan of this kind.
    fn check_options(&self, plan: &Plan) -> anyhow::Result<()> {
        let RunArgs { allow_kernel, program, meters, .. } = &self.run;
        let (is_explained, is_of_transfers, has_trials) = match plan.kind {
            RunKind::Compare | RunKind::Sweep => (false, false, true),
            RunKind::Explain => (true, false, false),
            RunKind::Concurrency => (false, true, false),
        };
        let options = [
            ("--load-levels", self.load_levels, has_trials),
            ("--power", !meters.power.is_empty(), has_trials),
            ("--cost", meters.cost.is_some(), has_trials),
            ("--allow-kernel", !allow_kernel.is_empty(), !is_of_transfers),
            ("--program", !program.is_empty(), !is_explained),
            ("--target-is-mine", self.target_is_mine, is_of_transfers),
            ("fail_if", plan.fail_if.is_some(), has_trials),
        ];
        match options.into_iter().find(|(_, is_given, has_effect)| *is_given && !has_effect) {
            Some((option, ..)) => Err(usage(format!(
                "{option} has no effect on this plan, which is one of `showdown {}`: leave it out",
                plan.kind.name()
            ))),
            None => Ok(()),
        }
    }
}

/// Verbs of `showdown plan`.
#[derive(Subcommand, Debug)]
#[command(after_help = "\
Examples:
  showdown plan compare nginx apache > plan.toml
  showdown run plan.toml")]
pub enum PlanVerb {
    /// Print the plan of a comparison
    #[command(after_help = "\
Examples:
  showdown plan compare nginx apache --quick > plan.toml")]
    Compare(CompareArgs),
    /// Print the plan of a sweep
    #[command(after_help = "\
Examples:
  showdown plan sweep memcached --vary threads=1,2 > plan.toml")]
    Sweep(SweepArgs),
    /// Print the plan of an explanation
    #[command(after_help = "\
Examples:
  showdown plan explain nginx --quick > plan.toml")]
    Explain(ExplainArgs),
    /// Print the plan of a run of transfers
    #[command(after_help = "\
Examples:
  showdown plan concurrency nginx --to 20000 > plan.toml")]
    Concurrency(ConcurrencyArgs),
}

/// `showdown compare`.
pub fn compare(args: &CompareArgs) -> anyhow::Result<CommandStatus> {
    run_new_trials(&plan_of_comparison(args)?, &args.run, args.question.load_levels)
}

/// `showdown sweep`.
pub fn sweep(args: &SweepArgs) -> anyhow::Result<CommandStatus> {
    run_new_trials(&plan_of_sweep(args)?, &args.run, args.question.load_levels)
}

/// `showdown run`.
pub fn run(args: &PlanFileArgs) -> anyhow::Result<CommandStatus> {
    let plan = read_plan(&args.plan)?;
    args.check_options(&plan)?;
    plan_trust::ask(&args.plan, &plan, args.yes)?;
    let how = &args.run;
    match plan.kind {
        RunKind::Compare | RunKind::Sweep => return run_new_trials(&plan, how, args.load_levels),
        RunKind::Explain => plan_trust::note_workload_on_disk(&plan)?,
        RunKind::Concurrency => {}
    }
    // A plan gives no consent to load a public address: the user does.
    let permissions =
        Permissions { target_is_mine: args.target_is_mine, ..how.permissions(RunMeters::default()) };
    let request = RunRequest::Plan(Box::new(plan));
    let answer = execute(&request, &permissions, &how.runs, &how.progress, &interrupt::context()?)?;
    print_answer(&answer, AnswerForm::Plain(how.format))?;
    end(answer)
}

/// `showdown plan`.
pub fn plan(verb: &PlanVerb) -> anyhow::Result<CommandStatus> {
    let plan = plan_of(verb)?;
    if plan.has_workload() {
        plan_trust::note_workload_on_disk(&plan)?;
    }
    print(&toml::to_string(&plan)?)?;
    Ok(CommandStatus::Success)
}

/// The plan of a question.
pub fn plan_of(verb: &PlanVerb) -> anyhow::Result<Plan> {
    let plan = match verb {
        PlanVerb::Compare(args) => plan_of_comparison(args)?,
        PlanVerb::Sweep(args) => plan_of_sweep(args)?,
        PlanVerb::Explain(args) => explain::plan(args)?,
        PlanVerb::Concurrency(args) => concurrency::plan(args)?,
    };
    let load_levels = match verb {
        PlanVerb::Compare(args) => args.question.load_levels,
        PlanVerb::Sweep(args) => args.question.load_levels,
        PlanVerb::Explain(_) | PlanVerb::Concurrency(_) => false,
    };
    Ok(if load_levels { measuring_power(&plan, true).map_err(usage)? } else { plan })
}

fn plan_of_comparison(args: &CompareArgs) -> anyhow::Result<Plan> {
    Ok(Plan { fail_if: args.fail_if, ..resolve(&args.question, &[])? })
}

fn plan_of_sweep(args: &SweepArgs) -> anyhow::Result<Plan> {
    resolve(&args.question, &args.vary)
}

fn read_plan(path: &Path) -> anyhow::Result<Plan> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        usage(format!(
            "cannot read {}: {e}: name a plan, such as `showdown plan compare nginx apache` prints",
            path.display()
        ))
    })?;
    refuse_plan(&text)?;
    let plan: Plan = text.parse().map_err(|error: PlanParseError| {
        let line = error.line.map(|line| format!(":{line}")).unwrap_or_default();
        usage(format!("{}{line}: {}", path.display(), error.problem))
    })?;
    // A URL is no workload; the run checks its steps itself.
    if plan.has_workload() {
        bakeoff::check(&plan).map_err(usage)?;
    }
    Ok(plan)
}

/// Runs the trials of a new plan, with the meters that the user has named.
pub fn run_new_trials(plan: &Plan, args: &RunArgs, load_levels: bool) -> anyhow::Result<CommandStatus> {
    let (plan, meters) = args.meters.of(plan, PlanUse::New, load_levels)?;
    plan_trust::note_workload_on_disk(&plan)?;
    run_trials(&RunRequest::Plan(Box::new(plan)), &args.permissions(meters), args)
}

/// Runs trials, prints the verdict, and the command that goes on with them.
pub fn run_trials(
    request: &RunRequest,
    permissions: &Permissions,
    args: &RunArgs,
) -> anyhow::Result<CommandStatus> {
    let answer = execute(request, permissions, &args.runs, &args.progress, &interrupt::context()?)?;
    print_answer(&answer, AnswerForm::Plain(args.format))?;
    end_trials(answer)
}

/// How trials ended whose verdict has been printed. An answer that the plan's `fail_if` names has an exit code of its own, also if the run
/// was resumed or repeats a plan. A comparison with the reference that is inconclusive is no answer, whatever the others are.
pub fn end_trials(answer: RunAnswer) -> anyhow::Result<CommandStatus> {
    let verdict = answer.verdict();
    let goes_on = verdict.filter(|verdict| verdict.is_interrupted()).map(|_| resume_command(&answer.run.dir));
    let fail_if = answer.run.plan.as_ref().and_then(|plan| plan.fail_if);
    let fails = if answer.interrupted { None } else { fail_if.zip(verdict) };
    let undecided = fails.and_then(|(_, verdict)| Worse::undecided(verdict));
    let fails = fails.and_then(|(worse, verdict)| worse.why(verdict));
    let status = end(answer)?;
    if let Some(resume) = goes_on {
        note(&format!("interrupted: {resume} goes on"));
    }
    let (why, fails_with) = match (fails, undecided) {
        (Some(why), _) => (why, CommandStatus::FailsIf),
        (None, Some(why)) if status == CommandStatus::Success => (why, CommandStatus::Invalid),
        _ => return Ok(status),
    };
    note(&why);
    Ok(if status == CommandStatus::Success { fails_with } else { status })
}
