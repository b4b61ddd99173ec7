//! `compare`, `sweep`, `run` and `plan`: from a question or a plan to a verdict.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ::concurrency::{BreakingPoints, ConcurrencyPermissions};
use archive::model::{Plan, PlanParseError, PlannedBackground, RunKind, RunLength};
use bakeoff::RunPermissions;
use bakeoff::limits::MOST_BLOCKS;
use bakeoff::plan_request::{MeasureRequest, PlanRequest, measuring_power};
use clap::{Subcommand, ValueEnum};
use host::Host;
use host::knobs::Knob;
use load::inputs::slo::Slo;
use load::inputs::units::{UnitError, parse_connections, parse_duration, parse_rate, parse_share};
use machine::Hosts;
use workload::names_host;

use super::concurrency::{self, ConcurrencyArgs};
use super::consent;
use super::explain::{self, ExplainArgs, ExplanationFormat};
use super::meters::{MeterArgs, PlanUse, RunMeters};
use super::options::{AnswerFormat, ProgressOption, RunsDir};
use super::run_report::{ShownRun, report_on};
use crate::exit::{CommandStatus, usage};
use crate::interrupt;
use crate::print::print;

/// What to compare, and how.
#[derive(clap::Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct QuestionArgs {
    /// Compare these variants: SERVER or SERVER:KNOB=VALUE,KNOB=VALUE, such as nginx:sendfile=off (see
    /// `showdown workloads`). A kernel setting is a knob, too: its sysctl name, or its file below /sys. SERVER@HOST is
    /// a server on a host of the hosts file, and SERVER@kind:KIND one on the hosts of a kind, in turns
    #[arg(required = true, value_name = "VARIANT")]
    pub variants: Vec<String>,

    /// Use this workload: a name, or the path of a workload.toml [default: the one that has these servers]
    #[arg(long, short)]
    pub workload: Option<String>,

    /// Run the variants that name no host on this one, which is in the hosts file
    #[arg(long, value_name = "HOST")]
    pub on: Option<String>,

    /// Make the load on these hosts of the hosts file together, instead of on this machine
    #[arg(long, value_name = "HOSTS", value_delimiter = ',')]
    pub clients: Vec<String>,

    /// Read the hosts from this file [default: hosts.toml of the working directory, see `showdown hosts`]
    #[arg(long, value_name = "FILE")]
    pub hosts: Option<PathBuf>,

    /// Stop where the versions of one server's packages differ between hosts
    #[arg(long)]
    pub like_with_like: bool,

    /// Choose what each trial measures [default: capacity, or CPU time an operation where the client would be the limit;
    /// throughput in a sweep and for workloads with a runner]
    #[arg(long, value_enum)]
    pub measure: Option<MeasureOption>,

    /// Offer these rates with `--measure latency`, in operations per second, such as 10k,20k; the p99 response time at
    /// the last one is compared
    #[arg(long, value_delimiter = ',', value_parser = parse_rate, value_name = "RATE")]
    pub rates: Vec<f64>,

    /// Offer this rate with `--measure cpu`, in operations per second, such as 10k [default: a third of what the slower
    /// server carries in the warm-up of the first block]
    #[arg(long, value_parser = parse_rate, value_name = "RATE")]
    pub rate: Option<f64>,

    /// Go up to this number of downloads with `--measure breaking-point` [default: 20000]
    #[arg(long, value_parser = concurrency::parse_transfers, value_name = "NUMBER")]
    pub to: Option<u32>,

    /// Set the objective (SLO) that defines capacity, such as 'p99<5ms' [default: the workload's]
    #[arg(long)]
    pub slo: Option<Slo>,

    /// Run only this operation of the workload's mix, such as get-1k
    #[arg(long, value_name = "OPERATION")]
    pub on_op: Option<String>,

    /// Open this number of client connections [default: the workload's]
    #[arg(short, long, value_parser = parse_connections)]
    pub connections: Option<u32>,

    /// Add a fixed background load, which is not counted in the results, such as 40/s,connections=300
    #[arg(long, value_parser = parse_background, value_name = "RATE/s,connections=N")]
    pub background: Option<PlannedBackground>,

    /// Run few short trials: about a minute for two variants
    #[arg(long, conflicts_with = "thorough")]
    pub quick: bool,

    /// Run many long trials: about an hour for two variants
    #[arg(long)]
    pub thorough: bool,

    /// Run this number of blocks, each with one trial of every variant [default: 20; 6 with --quick, 40 with
    /// --thorough; 3 in a sweep]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=MOST_BLOCKS.into()))]
    pub blocks: Option<u32>,

    /// Run for about this long, such as 10m, instead of the preset's number of blocks
    #[arg(long = "for", value_parser = parse_duration, value_name = "TIME", conflicts_with = "blocks")]
    pub time: Option<Duration>,

    /// Stop when the ratio is known this precisely, such as 2%, instead of with the first verdict
    #[arg(long, value_parser = parse_share, value_name = "PERCENT")]
    pub within: Option<f64>,

    /// Add at most this number of blocks to replace invalid trials [default: half of the blocks]
    #[arg(long, value_name = "BLOCKS", value_parser = clap::value_parser!(u32).range(0..=MOST_BLOCKS.into()))]
    pub spare_blocks: Option<u32>,

    /// Measure watts at 100 % to 10 % of each trial's value in tens, and in active idle, as SPEC's benchmark of power does; needs a meter
    #[arg(long)]
    pub load_levels: bool,

    /// Derive the order of the trials and the load from this seed [default: a new one, recorded in the plan]
    #[arg(long)]
    pub seed: Option<u32>,

    /// Mark the run with this tag, for `showdown list --tag`; may be repeated
    #[arg(long)]
    pub tag: Vec<String>,
}

/// What each trial measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MeasureOption {
    /// The highest open-loop rate that meets the objective
    Capacity,
    /// Operations per second in a closed loop
    Throughput,
    /// Bytes per second in a closed loop, for large operations such as downloads
    Bytes,
    /// Operations per hour, one at a time, for long operations such as builds
    OneByOne,
    /// Response time at given open-loop rates, free of coordinated omission
    Latency,
    /// Downloads in progress at once with which the server breaks: availability falls under 50 %
    BreakingPoint,
    /// The server's CPU time for each operation, all servers at one open-loop rate; it also answers where the client limits
    /// a closed loop
    Cpu,
}

/// How a run is shown, and where it is kept.
#[derive(clap::Args, Debug)]
pub struct RunArgs {
    /// Print the answer as text or as JSON
    #[arg(long, value_enum, default_value = "text")]
    pub format: AnswerFormat,

    /// Show progress on standard error in this form
    #[arg(long, value_enum, default_value = "auto")]
    pub progress: ProgressOption,

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

    /// What finds breaking points.
    #[arg(skip)]
    pub breaking_point: BreakingPoints,
}

impl RunArgs {
    /// How the run is shown.
    pub fn shown(&self) -> ShownRun {
        ShownRun { format: self.format, progress: self.progress }
    }

    /// What the user allows the plan, and gives it.
    pub fn permissions<'a>(&'a self, meters: &'a RunMeters) -> RunPermissions<'a> {
        RunPermissions {
            kernel: &self.allow_kernel,
            programs: &self.program,
            meters: &meters.meters,
            breaking_point: Some(&self.breaking_point),
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

Exit codes: 0 a verdict, 3 no valid verdict, 2 usage error, 1 failure, 130 interrupted.")]
pub struct CompareArgs {
    #[command(flatten)]
    pub question: QuestionArgs,
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
    pub question: QuestionArgs,

    /// Vary a knob, connections or rate: give values (threads=1,2,4) or a range that doubles at each step
    /// (connections=1..1024); may be repeated
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

Exit codes: 0 a verdict, 3 no valid verdict, 2 usage error, 1 failure, 130 interrupted.")]
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

    #[command(flatten)]
    pub run: RunArgs,
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
    run_and_report(&plan_of_comparison(args)?, &args.run, args.question.load_levels)
}

/// `showdown sweep`.
pub fn sweep(args: &SweepArgs) -> anyhow::Result<CommandStatus> {
    run_and_report(&plan_of_sweep(args)?, &args.run, args.question.load_levels)
}

/// `showdown run`.
pub fn run(args: &PlanFileArgs) -> anyhow::Result<CommandStatus> {
    let plan = read_plan(&args.plan)?;
    consent::ask(&args.plan, &plan, args.yes)?;
    if plan.kind == RunKind::Explain {
        let format = match args.run.format {
            AnswerFormat::Text => ExplanationFormat::Text,
            AnswerFormat::Json => ExplanationFormat::Json,
        };
        consent::note_workload_on_disk(&plan)?;
        return explain::run_plan(&plan, format, args.run.progress, &args.run.allow_kernel, &args.run.runs);
    }
    if plan.kind == RunKind::Concurrency {
        // A plan gives no consent to load a public address.
        let permissions = ConcurrencyPermissions { target_is_mine: false, programs: &args.run.program };
        return concurrency::run_plan(&plan, permissions, args.run.format, args.run.progress, &args.run.runs);
    }
    run_and_report(&plan, &args.run, args.load_levels)
}

/// `showdown plan`.
pub fn plan(verb: &PlanVerb) -> anyhow::Result<CommandStatus> {
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
    let plan = if load_levels { measuring_power(&plan, true).map_err(usage)? } else { plan };
    if plan.has_workload() {
        consent::note_workload_on_disk(&plan)?;
    }
    print(&toml::to_string(&plan)?)?;
    Ok(CommandStatus::Success)
}

fn plan_of_comparison(args: &CompareArgs) -> anyhow::Result<Plan> {
    resolve(&args.question, &[])
}

fn plan_of_sweep(args: &SweepArgs) -> anyhow::Result<Plan> {
    resolve(&args.question, &args.vary)
}

/// Why a background load was refused.
#[derive(Debug, thiserror::Error)]
enum BackgroundError {
    #[error("expected a rate and a number of connections, such as 40/s,connections=300")]
    Form,
    #[error(transparent)]
    Amount(#[from] UnitError),
}

/// Parses `40/s,connections=300`.
fn parse_background(text: &str) -> Result<PlannedBackground, BackgroundError> {
    let (rate, connections) = text.split_once("/s,connections=").ok_or(BackgroundError::Form)?;
    Ok(PlannedBackground { rate_per_s: parse_rate(rate)?, connections: parse_connections(connections)? })
}

fn resolve(args: &QuestionArgs, vary: &[String]) -> anyhow::Result<Plan> {
    let varies_rate = vary.iter().any(|axis| axis.starts_with("rate="));
    if args.rate.is_some() && args.measure != Some(MeasureOption::Cpu) {
        return Err(usage(
            "--rate is for --measure cpu: leave it out, or pass --measure cpu (--measure latency takes --rates)",
        ));
    }
    if args.to.is_some() && args.measure != Some(MeasureOption::BreakingPoint) {
        return Err(usage(
            "--to is for --measure breaking-point: leave it out, or pass --measure breaking-point",
        ));
    }
    let measure = match (args.measure, args.rates.as_slice()) {
        (Some(MeasureOption::Latency) | None, rates) if !rates.is_empty() => {
            MeasureRequest::Latency(rates.to_vec())
        }
        (Some(MeasureOption::Latency) | None, _) if varies_rate => MeasureRequest::Latency(Vec::new()),
        (Some(MeasureOption::Latency), _) => {
            return Err(usage(
                "--measure latency needs --rates: give operations per second, such as --rates 10k,20k",
            ));
        }
        (_, rates) if !rates.is_empty() => {
            return Err(usage("--rates is for --measure latency: leave it out, or pass --measure latency"));
        }
        (Some(MeasureOption::Throughput), _) => MeasureRequest::Throughput,
        (Some(MeasureOption::Bytes), _) => MeasureRequest::Bytes,
        (Some(MeasureOption::OneByOne), _) => MeasureRequest::OneByOne,
        (Some(MeasureOption::Cpu), _) => MeasureRequest::CpuTime(args.rate),
        (Some(MeasureOption::BreakingPoint), _) => {
            MeasureRequest::BreakingPoint(concurrency::steps_of_trials(args.to))
        }
        (None, _) if !vary.is_empty() && args.slo.is_none() => MeasureRequest::DefaultOfSweep,
        (Some(MeasureOption::Capacity), _) => MeasureRequest::Capacity,
        _ => MeasureRequest::Default,
    };
    let names_host =
        args.on.is_some() || !args.clients.is_empty() || args.variants.iter().any(|text| names_host(text));
    if args.hosts.is_some() && !names_host {
        return Err(usage(
            "--hosts has no effect without a host: write SERVER@HOST, or pass --on HOST or --clients HOSTS",
        ));
    }
    let hosts = if names_host { Hosts::read(args.hosts.as_deref()).map_err(usage)?.0 } else { Vec::new() };
    let request = PlanRequest {
        command: std::env::args().collect(),
        explains: false,
        transfers: None,
        slow_requests: false,
        variants: args.variants.clone(),
        on: args.on.clone(),
        like_with_like: args.like_with_like,
        hosts,
        clients: args.clients.clone(),
        workload: args.workload.clone(),
        measure,
        slo: args.slo.as_ref().map(ToString::to_string),
        on_op: args.on_op.clone(),
        vary: vary.to_vec(),
        length: Some(match (args.quick, args.thorough) {
            (true, _) => RunLength::Quick,
            (_, true) => RunLength::Thorough,
            _ => RunLength::Default,
        }),
        blocks: args.blocks,
        time: args.time,
        within: args.within,
        spare_blocks: args.spare_blocks,
        connections: args.connections,
        background: args.background,
        seed: args.seed,
        tags: args.tag.clone(),
    };
    bakeoff::plan_request::plan(&request, &Host::local()).map_err(usage)
}

fn read_plan(path: &Path) -> anyhow::Result<Plan> {
    let text = std::fs::read_to_string(path).map_err(|e| usage(format!("{}: {e}", path.display())))?;
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

/// Runs the trials, writes the report and prints the verdict.
fn run_and_report(plan: &Plan, args: &RunArgs, load_levels: bool) -> anyhow::Result<CommandStatus> {
    let (plan, meters) = args.meters.of(plan, PlanUse::New, load_levels)?;
    let plan = &plan;
    consent::note_workload_on_disk(plan)?;
    let context = interrupt::context()?;
    report_on(plan.kind, args.shown(), meters.targets.as_ref(), |observe| {
        bakeoff::run_plan(plan, args.permissions(&meters), &args.runs.runs, &context, observe)
    })
}
