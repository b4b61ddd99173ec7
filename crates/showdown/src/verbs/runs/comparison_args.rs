//! The question of `compare` and `sweep`: its options, and the plan that answers it. Running the plan is left to the verbs.

use std::path::PathBuf;
use std::time::Duration;

use archive::model::{Plan, PlannedBackground, RunKind, RunLength, Variant};
use bakeoff::Preset;
use bakeoff::limits::MOST_BLOCKS;
use bakeoff::plan_request::{self, MeasureRequest, PlanRequest};
use clap::ValueEnum;
use host::Host;
use load::inputs::slo::Slo;
use load::inputs::units::{UnitError, parse_connections, parse_duration, parse_rate, parse_share};
use machine::Hosts;
use workload::names_host;

use super::concurrency;
use crate::exit::usage;
use crate::print::note;

/// What to compare, and how.
#[derive(clap::Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct ComparisonArgs {
    /// Compare these variants: SERVER or SERVER:KNOB=VALUE,KNOB=VALUE, such as nginx:sendfile=off (see
    /// `showdown workloads`). A kernel setting is a knob, too: its sysctl name, or its file below /sys. SERVER@HOST is
    /// a server on a host of the hosts file, and SERVER@kind:KIND one on the hosts of a kind, in turns. LABEL=VARIANT gives it a
    /// name for the answer, such as old=nginx:binary=/opt/a/nginx
    #[arg(required = true, value_name = "VARIANT")]
    pub variants: Vec<String>,

    /// Use this workload: a name, or the path of a workload.toml [default: the one that has these servers]
    #[arg(long, short)]
    pub workload: Option<String>,

    /// Run variants that name no host on this host of the hosts file
    #[arg(long, value_name = "HOST")]
    pub on: Option<String>,

    /// Make the load on these hosts of the hosts file together, instead of on this machine
    #[arg(long, value_name = "HOSTS", value_delimiter = ',')]
    pub clients: Vec<String>,

    /// Read the hosts from this file [default: hosts.toml of the working directory, see `showdown hosts`]
    #[arg(long, value_name = "FILE")]
    pub hosts: Option<PathBuf>,

    /// Stop if the versions of one server's packages differ between hosts
    #[arg(long)]
    pub like_with_like: bool,

    /// Make this machine quieter while it measures (as root): kernel settings that work in the background, boost
    /// frequencies, deep idle states. `showdown doctor` lists what this machine has. All of it is restored, also after a kill
    #[arg(long)]
    pub quiet_host: bool,

    /// Choose what each trial measures [default: capacity; throughput with --quick, in a sweep and for workloads with a
    /// runner; CPU time an operation with users who wait, and if the client would be the limit, or other programs use the CPUs]
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

    /// Open this number of client connections; if the workload has users, one for each [default: the workload's]
    #[arg(short, long, visible_alias = "users", value_parser = parse_connections)]
    pub connections: Option<u32>,

    /// Add a fixed background load, which is not counted in the results, such as 40/s,connections=300
    #[arg(long, value_parser = parse_background, value_name = "RATE/s,connections=N")]
    pub background: Option<PlannedBackground>,

    /// Run few short trials: one to six minutes for two variants, longer if other programs are busy
    #[arg(long, conflicts_with = "thorough")]
    pub quick: bool,

    /// Run many long trials: about an hour for two variants
    #[arg(long)]
    pub thorough: bool,

    // The help is made from the presets, so that it names their present numbers.
    #[arg(long, help = help_of_blocks(), value_parser = clap::value_parser!(u32).range(1..=MOST_BLOCKS.into()))]
    pub blocks: Option<u32>,

    /// Run for about this long, such as 10m, instead of the preset's number of blocks
    #[arg(long = "for", alias = "duration", value_parser = parse_duration, value_name = "TIME", conflicts_with = "blocks")]
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

/// What `--blocks` does, with the numbers of the presets.
fn help_of_blocks() -> String {
    let [quick, default, thorough] =
        [RunLength::Quick, RunLength::Default, RunLength::Thorough].map(Preset::of);
    let sweep = Preset::of_sweep(RunLength::Default).blocks;
    format!(
        "Run this number of blocks, each with one trial of every variant; a verdict needs 3 or more [default: {}; {} with --quick of two variants, and as many more \
         if they settle nothing; {} with --thorough; {sweep} in a sweep]",
        default.blocks, quick.blocks, thorough.blocks
    )
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
    /// Downloads in progress at once with which the server breaks: availability falls under 50 % (only in comparisons)
    BreakingPoint,
    /// The server's CPU time for each operation, all servers at one open-loop rate; it also answers where the client limits
    /// a closed loop
    Cpu,
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

/// The plan of a question. With axes to vary it is one of a sweep.
pub fn resolve(args: &ComparisonArgs, vary: &[String]) -> anyhow::Result<Plan> {
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
    let lengths = [("--quick", args.quick), ("--thorough", args.thorough), ("--for", args.time.is_some())];
    let length = lengths.into_iter().find(|(_, is_given)| *is_given);
    if let (Some((option, _)), Some(MeasureOption::BreakingPoint)) = (length, args.measure) {
        return Err(usage(format!(
            "{option} has no effect with --measure breaking-point, whose trials last until the server breaks: pass --blocks, and \
             --to for fewer downloads"
        )));
    }
    let measure = match (args.measure, args.rates.as_slice()) {
        (Some(MeasureOption::Latency) | None, rates) if !rates.is_empty() => {
            MeasureRequest::Latency(rates.to_vec())
        }
        (None, _) if varies_rate => MeasureRequest::Latency(Vec::new()),
        // The rates may be an axis, or those of users.
        (Some(MeasureOption::Latency), _) => MeasureRequest::Latency(Vec::new()),
        (_, rates) if !rates.is_empty() => {
            return Err(usage("--rates is for --measure latency: leave it out, or pass --measure latency"));
        }
        (Some(MeasureOption::Throughput), _) => MeasureRequest::Throughput,
        (Some(MeasureOption::Bytes), _) => MeasureRequest::Bytes,
        (Some(MeasureOption::OneByOne), _) => MeasureRequest::OneByOne,
        (Some(MeasureOption::Cpu), _) => MeasureRequest::CpuTime(args.rate),
        (Some(MeasureOption::BreakingPoint), _) => {
            MeasureRequest::BreakingPoint(::concurrency::steps_of_trials(args.to))
        }
        (None, _) if !vary.is_empty() && args.slo.is_none() => MeasureRequest::DefaultInClosedLoop,
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
        quiet_host: args.quiet_host.then(|| Host::local().quieting()),
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
    let plan = plan_request::plan(&request, &Host::local()).map_err(usage)?;
    note_if_compared_with_itself(&plan);
    if let Some(time) = args.time {
        note_if_too_short(time, &plan);
    }
    Ok(plan)
}

/// Asks whether a comparison of a variant with itself is meant: it may be a typing mistake.
fn note_if_compared_with_itself(plan: &Plan) {
    let same =
        |(a, b): (&Variant, &Variant)| (&a.server, &a.host, &a.knobs) == (&b.server, &b.host, &b.knobs);
    let pairs =
        plan.variants.iter().enumerate().flat_map(|(at, a)| plan.variants[..at].iter().map(move |b| (b, a)));
    if let Some((a, b)) = pairs.filter(|_| plan.kind == RunKind::Compare).find(|pair| same(*pair)) {
        note(&format!(
            "{} and {} are the same, so this measures the noise of this host (A/A): is that meant? Otherwise interrupt it (Ctrl-C), and \
             set a knob of one of them",
            a.name, b.name
        ));
    }
}

/// Says where a verdict takes longer than the user asked for: the run is then as short as it can be.
fn note_if_too_short(time: Duration, plan: &Plan) {
    let shortest = plan_request::shortest_run(plan);
    if time < shortest {
        note(&format!(
            "{} is too short for a verdict: the run takes about {}",
            humantime::format_duration(time),
            humantime::format_duration(Duration::from_secs(shortest.as_secs()))
        ));
    }
}
