//! `compare`, `sweep`, `run` and `plan`: from a question or a plan to a verdict.

use std::path::{Path, PathBuf};

use anyhow::Context;
use archive::model::{Background, Kind, Length, Plan};
use bakeoff::question::{Asked, MOST_BLOCKS, Question};
use clap::{Subcommand, ValueEnum};
use host::Host;
use load::inputs::slo::Slo;
use load::inputs::units::{parse_count, parse_rate};
use stats::verdict::RatioVerdict;

use super::options::{Format, ProgressOption, RunsDir};
use crate::exit::{Ending, usage};
use crate::interrupt;
use crate::print::print;
use crate::show::bakeoff::{BakeoffProgress, answer};

/// What is asked of the contenders.
#[derive(clap::Args, Debug)]
pub struct QuestionArgs {
    /// Contenders: SERVER or SERVER:KNOB=VALUE,KNOB=VALUE (see `showdown workloads`). A setting of the kernel is a
    /// knob, too, by its sysctl name or its file below /sys
    #[arg(required = true, value_name = "VARIANT")]
    pub variants: Vec<String>,

    /// The workload: a name, or the path of a workload.toml [default: the one that has these servers]
    #[arg(long, short)]
    pub workload: Option<String>,

    /// What is measured of each trial [default: capacity; throughput in a sweep and where the servers make the load]
    #[arg(long, value_enum)]
    pub measure: Option<MeasureOption>,

    /// Rates of `--measure latency`, operations a second; the p99 at the last one is compared
    #[arg(long, value_delimiter = ',', value_parser = parse_rate, value_name = "RATE")]
    pub rates: Vec<f64>,

    /// The objective that a capacity must meet [default: the workload's]
    #[arg(long)]
    pub slo: Option<Slo>,

    /// Only this operation of the workload's mix
    #[arg(long, value_name = "OPERATION")]
    pub on_op: Option<String>,

    /// Connections of the client [default: the workload's]
    #[arg(short, long, value_parser = parse_count)]
    pub connections: Option<u64>,

    /// A fixed load beside the measured one, so that a server is measured as it would live: `40/s,connections=300`
    #[arg(long, value_parser = parse_background, value_name = "RATE/s,connections=N")]
    pub background: Option<Background>,

    /// About a minute for two variants
    #[arg(long, conflicts_with = "thorough")]
    pub quick: bool,

    /// About an hour for two variants
    #[arg(long)]
    pub thorough: bool,

    /// Blocks: trials of each variant [default: 20; 6 with --quick, 40 with --thorough; 3 in a sweep]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=MOST_BLOCKS.into()))]
    pub blocks: Option<u32>,

    /// At most so many blocks more make up for trials that do not count [default: half of the blocks]
    #[arg(long, value_name = "BLOCKS", value_parser = clap::value_parser!(u32).range(0..=MOST_BLOCKS.into()))]
    pub spare_blocks: Option<u32>,

    /// Order and load follow from this [default: a new one, recorded]
    #[arg(long)]
    pub seed: Option<u32>,

    /// A word to find the run by; may be repeated
    #[arg(long)]
    pub tag: Vec<String>,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MeasureOption {
    /// The highest open-loop rate that meets the objective
    Capacity,
    /// Operations a second of a closed loop
    Throughput,
    /// Bytes a second of a closed loop: for operations that are large, such as downloads
    Bytes,
    /// Operations an hour, one at a time: for those that take long, such as builds
    OneByOne,
    /// Response time at given open-loop rates
    Latency,
}

/// How a run is shown and kept.
#[derive(clap::Args, Debug)]
pub struct RunArgs {
    /// How the answer is printed
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,

    /// How progress is shown
    #[arg(long, value_enum, default_value = "auto")]
    pub progress: ProgressOption,

    #[command(flatten)]
    pub runs: RunsDir,
}

/// Options of `showdown compare`.
#[derive(clap::Args, Debug)]
#[command(after_long_help = "\
Examples:
  showdown compare nginx apache
  showdown compare apache:mpm=event apache:mpm=prefork apache:mpm=worker --on-op get-1k
  showdown compare memcached:threads=1 memcached:threads=2 redis --slo 'p99<2ms'
  showdown compare nginx:net.ipv4.tcp_autocorking=1 nginx:net.ipv4.tcp_autocorking=0

Exit codes: 0 a verdict, 3 no valid verdict, 2 usage, 1 failure, 130 interrupted.")]
pub struct CompareArgs {
    #[command(flatten)]
    pub question: QuestionArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

/// Options of `showdown sweep`.
#[derive(clap::Args, Debug)]
#[command(after_long_help = "\
Examples:
  showdown sweep memcached --vary threads=1,2 --vary connections=1..1024
  showdown sweep nginx --vary rate=10k..80k")]
pub struct SweepArgs {
    #[command(flatten)]
    pub question: QuestionArgs,

    /// An axis: a knob, connections or rate, with values (1,2,4) or a range that is walked by doubling
    /// (1..1024); may be repeated
    #[arg(long, required = true, value_name = "NAME=VALUES")]
    pub vary: Vec<String>,

    #[command(flatten)]
    pub run: RunArgs,
}

/// Options of `showdown run`.
#[derive(clap::Args, Debug)]
pub struct PlanFileArgs {
    /// A plan, as `showdown plan` prints one and every run directory holds one
    #[arg(value_name = "PLAN.TOML")]
    pub plan: PathBuf,
    #[command(flatten)]
    pub run: RunArgs,
}

/// What a plan is printed of.
#[derive(Subcommand, Debug)]
pub enum PlanVerb {
    /// The plan of a comparison
    Compare(CompareArgs),
    /// The plan of a sweep
    Sweep(SweepArgs),
}

/// `showdown compare`.
pub fn compare(args: &CompareArgs) -> anyhow::Result<Ending> {
    hold(&plan_of_comparison(args)?, &args.run)
}

/// `showdown sweep`.
pub fn sweep(args: &SweepArgs) -> anyhow::Result<Ending> {
    hold(&plan_of_sweep(args)?, &args.run)
}

/// `showdown run`.
pub fn run(args: &PlanFileArgs) -> anyhow::Result<Ending> {
    hold(&read_plan(&args.plan)?, &args.run)
}

/// `showdown plan`.
pub fn plan(verb: &PlanVerb) -> anyhow::Result<Ending> {
    let plan = match verb {
        PlanVerb::Compare(args) => plan_of_comparison(args)?,
        PlanVerb::Sweep(args) => plan_of_sweep(args)?,
    };
    print(&toml::to_string(&plan)?)?;
    Ok(Ending::Success)
}

fn plan_of_comparison(args: &CompareArgs) -> anyhow::Result<Plan> {
    resolve(&args.question, &[])
}

fn plan_of_sweep(args: &SweepArgs) -> anyhow::Result<Plan> {
    resolve(&args.question, &args.vary)
}

/// `40/s,connections=300`.
fn parse_background(text: &str) -> Result<Background, String> {
    let expected = "a rate and a number of connections, such as 40/s,connections=300";
    let parts = text.split_once("/s,connections=").ok_or_else(|| format!("this is not {expected}"))?;
    let rate_per_s = parse_rate(parts.0).map_err(|e| e.to_string())?;
    let connections = parse_count(parts.1).map_err(|e| e.to_string())?;
    let connections = u32::try_from(connections).map_err(|_| "at most 4 billion connections".to_owned())?;
    Ok(Background { rate_per_s, connections })
}

fn resolve(args: &QuestionArgs, vary: &[String]) -> anyhow::Result<Plan> {
    let varies_rate = vary.iter().any(|axis| axis.starts_with("rate="));
    let asked = match (args.measure, args.rates.as_slice()) {
        (Some(MeasureOption::Latency) | None, rates) if !rates.is_empty() => Asked::Latency(rates.to_vec()),
        (Some(MeasureOption::Latency), _) if !varies_rate => {
            return Err(usage(
                "--measure latency needs --rates: give operations a second, such as --rates 10k,20k",
            ));
        }
        (_, rates) if !rates.is_empty() => return Err(usage("--rates is for --measure latency")),
        (Some(MeasureOption::Throughput), _) => Asked::Throughput,
        (Some(MeasureOption::Bytes), _) => Asked::Bytes,
        (Some(MeasureOption::OneByOne), _) => Asked::OneByOne,
        (None, _) if !vary.is_empty() && args.slo.is_none() => Asked::UsualSweep,
        (Some(MeasureOption::Capacity), _) => Asked::Capacity,
        _ => Asked::Usual,
    };
    let connections =
        args.connections.map(|n| u32::try_from(n).map_err(|_| usage("--connections: at most 4 billion")));
    let question = Question {
        command: std::env::args().collect(),
        variants: args.variants.clone(),
        workload: args.workload.clone(),
        asked,
        slo: args.slo.as_ref().map(ToString::to_string),
        on_op: args.on_op.clone(),
        vary: vary.to_vec(),
        length: Some(match (args.quick, args.thorough) {
            (true, _) => Length::Quick,
            (_, true) => Length::Thorough,
            _ => Length::Default,
        }),
        blocks: args.blocks,
        spare_blocks: args.spare_blocks,
        connections: connections.transpose()?,
        background: args.background,
        seed: args.seed,
        tags: args.tag.clone(),
    };
    bakeoff::question::plan(&question, &Host::local()).map_err(usage)
}

fn read_plan(path: &Path) -> anyhow::Result<Plan> {
    let text = std::fs::read_to_string(path).map_err(|e| usage(format!("{}: {e}", path.display())))?;
    let plan: Plan = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        usage(format!("{}:{line}: {}", path.display(), error.message().replace('\n', " ")))
    })?;
    bakeoff::question::check(&plan).map_err(usage)?;
    Ok(plan)
}

/// Holds the trials and prints the verdict.
fn hold(plan: &Plan, args: &RunArgs) -> anyhow::Result<Ending> {
    let context = interrupt::context()?;
    let mut progress = BakeoffProgress::new(args.progress.mode());
    let finished = bakeoff::run_plan(plan, &args.runs.runs, &context, &mut |event| progress.observe(&event));
    progress.finish();
    let finished = finished?;
    let (run, report) = archive::Run::open(&finished.dir)
        .map_err(anyhow::Error::from)
        .and_then(|run| super::archive::write_report(&run).map(|report| (run, report)))
        .context("the run is kept, but its report was not made")?;
    let (dir, report) = (finished.dir.display().to_string(), report.display().to_string());
    args.format.print(&finished.verdict, || answer(&finished.verdict, &run.trials, &dir, Some(&report)))?;
    if let Some(why) = finished.stopped {
        anyhow::bail!("the run stopped early: {why} (what was measured is kept in {dir})");
    }
    let has_verdict = match plan.kind {
        Kind::Compare => finished
            .verdict
            .comparisons
            .iter()
            .any(|c| !matches!(c.verdict, RatioVerdict::Inconclusive { .. })),
        Kind::Sweep => finished.verdict.variants.iter().any(|variant| variant.valid > 0),
    };
    Ok(match (finished.interrupted, has_verdict) {
        (true, _) => Ending::Interrupted,
        (false, true) => Ending::Success,
        (false, false) => Ending::Invalid,
    })
}
