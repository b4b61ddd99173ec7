//! The options of `showdown tune`, and the request that they make.

use std::path::PathBuf;
use std::time::Duration;

use ::tune::{TuneRequest, Weakened};
use clap::ValueEnum;
use host::knobs::Knob;
use load::inputs::slo::Slo;
use load::inputs::units::{parse_connections, parse_duration};

use crate::answer::of_run::TuneFormat;
use crate::args::options::{ProgressArgs, RunsDir};

/// Options of `showdown tune`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown tune nginx
  showdown tune mariadb --on-op update-index --for 20m
  showdown tune mariadb:buffer_pool=1024 --allow durability
  showdown tune my-api --measure throughput
  showdown tune nginx apache --for 30m
  showdown tune nginx --only nginx-open-file-cache --only allocator --for 5m

The baseline is compared with itself first: this measures the noise of this host, and the figures that call for tunings. \
Candidates run in blocks beside the baseline; those whose gain cannot reach 1 % are dropped. The best are stacked, and the \
stack is confirmed on fresh blocks. The answer rests on these blocks alone. A tuning is kept if its gain exceeds both 1 % \
and the noise, and latency, errors and memory do not get worse beyond their limits. Nothing stays changed on this host.

Two servers get the same time and the same tunings. Then the best of one is compared with the best of the other, and what \
one got and the other did not is named.

Exit codes: 0 an answer, also if nothing is kept; 3 no trial of the baseline is valid, 2 usage error, 1 failure, 130 interrupted.")]
pub struct TuneArgs {
    /// Tune this server, or these two: SERVER or SERVER:KNOB=VALUE,KNOB=VALUE; its settings are the baseline
    #[arg(value_name = "VARIANT", required = true, num_args = 1..=2)]
    pub servers: Vec<String>,

    /// Use this workload: a name, or the path of a workload.toml [default: the one that has this server]
    #[arg(long, short)]
    pub workload: Option<String>,

    /// Run only this operation of the workload's mix, such as get-1k
    #[arg(long, value_name = "OPERATION")]
    pub on_op: Option<String>,

    /// Choose what each trial measures [default: capacity with --slo, otherwise the rate or the bytes of a closed loop]
    #[arg(long, value_enum)]
    pub measure: Option<TunedMeasure>,

    /// Compare capacities under this objective (SLO), such as 'p99<5ms'
    #[arg(long)]
    pub slo: Option<Slo>,

    /// Open this number of client connections; if the workload has users, one for each [default: the workload's]
    #[arg(short, long, visible_alias = "users", value_parser = parse_connections)]
    pub connections: Option<u32>,

    /// Take about this long, such as 20m
    #[arg(long = "for", value_parser = parse_duration, value_name = "TIME", default_value = "20m")]
    pub time: Duration,

    /// Run few short trials: it shows large gains only
    #[arg(long)]
    pub quick: bool,

    /// Allow tunings that weaken this, in a table of their own; may be repeated
    #[arg(long, value_enum, value_name = "WHAT")]
    pub allow: Vec<Allowed>,

    /// Allow this kernel setting, which is not one of the usual ones of a comparison; may be repeated
    #[arg(long, value_name = "NAME")]
    pub allow_kernel: Vec<Knob>,

    /// Try only this tuning; may be repeated (see `showdown tunings`)
    #[arg(long, value_name = "TUNING")]
    pub only: Vec<String>,

    /// Read further tunings from this file or folder; may be repeated
    #[arg(long, value_name = "PATH")]
    pub rules: Vec<PathBuf>,

    /// Derive the order of the trials and the load from this seed [default: a new one, recorded in the plan]
    #[arg(long)]
    pub seed: Option<u32>,

    /// Mark the run with this tag, for `showdown list --tag`; may be repeated
    #[arg(long)]
    pub tag: Vec<String>,

    /// Print the answer in this form; of two servers, one answer after the other
    #[arg(long, value_enum, default_value = "text")]
    pub format: TuneFormat,

    #[command(flatten)]
    pub progress: ProgressArgs,

    #[command(flatten)]
    pub runs: RunsDir,
}

/// What each trial measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TunedMeasure {
    /// The highest open-loop rate that meets the objective
    Capacity,
    /// Operations per second in a closed loop
    Throughput,
    /// Bytes per second in a closed loop
    Bytes,
    /// The server's CPU time for each operation
    Cpu,
}

/// What tunings may weaken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Allowed {
    /// What a crash loses
    Durability,
    /// What protects the machine
    Security,
}

impl From<TunedMeasure> for ::tune::TunedMeasure {
    fn from(measure: TunedMeasure) -> Self {
        match measure {
            TunedMeasure::Capacity => Self::Capacity,
            TunedMeasure::Throughput => Self::Throughput,
            TunedMeasure::Bytes => Self::Bytes,
            TunedMeasure::Cpu => Self::Cpu,
        }
    }
}

impl From<Allowed> for Weakened {
    fn from(allowed: Allowed) -> Self {
        match allowed {
            Allowed::Durability => Self::Durability,
            Allowed::Security => Self::Security,
        }
    }
}

impl TuneArgs {
    /// The search for the first server, which has all of the time.
    pub fn request(&self) -> TuneRequest {
        TuneRequest {
            command: std::env::args().collect(),
            server: self.servers[0].clone(),
            workload: self.workload.clone(),
            on_op: self.on_op.clone(),
            measure: self.measure.map(Into::into),
            slo: self.slo.as_ref().map(ToString::to_string),
            connections: self.connections,
            time: self.time,
            share: 1.0,
            is_quick: self.quick,
            may_weaken: self.allow.iter().copied().map(Into::into).collect(),
            only: self.only.clone(),
            rules: self.rules.clone(),
            seed: self.seed,
            tags: self.tag.clone(),
        }
    }
}
