//! `showdown tune`: try tunings on a server, and keep what fresh trials confirm.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use archive::Run;
use archive::model::{KnobValue, TuningRecord};
use bakeoff::RunPermissions;
use bakeoff::plan_request::{MeasureRequest, PlanRequest};
use clap::ValueEnum;
use host::Host;
use host::knobs::Knob;
use load::inputs::slo::Slo;
use load::inputs::units::{parse_connections, parse_duration};
use tune::bakeoff_lab::{self, BakeoffLab, TuneEvent};
use tune::lab::StageTrials;
use tune::record::{RecordContext, record};
use tune::search::{self, Found, SearchError, SearchLimits};
use tune::{LabError, Situation, Tuning, TuningCatalogue, choose, knobs_as_tunings};
use workload::definition::ServerDefinition;
use workload::{Catalogue, VariantText, is_kernel_setting};

use super::options::{ProgressOption, RunsDir};
use crate::exit::{CommandStatus, InterruptedError, usage};
use crate::interrupt;
use crate::print::{print, print_json, print_text};
use crate::show;
use crate::show::tune_progress::TuneProgress;

/// Options of `showdown tune`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown tune nginx
  showdown tune mariadb --on-op update-index --for 20m
  showdown tune mariadb:buffer_pool=1024 --allow durability
  showdown tune my-api --measure throughput
  showdown tune nginx --only nginx-open-file-cache --only allocator --for 5m

The baseline runs beside itself first: the noise of this host, and the figures that call for tunings. Candidates run in \
blocks beside the baseline; who cannot win is dropped. The best are stacked, and the stack is confirmed on fresh blocks. \
The answer rests on these blocks alone. A tuning is kept if its gain is above 1 % and the noise, and latency, errors and \
memory pass. Nothing stays changed on this host.

Exit codes: 0 an answer, also if nothing is kept; 2 usage error, 1 failure, 130 interrupted.")]
pub struct TuneArgs {
    /// Tune this server: SERVER or SERVER:KNOB=VALUE,KNOB=VALUE; its settings are the baseline
    #[arg(value_name = "VARIANT")]
    pub server: String,

    /// Use this workload: a name, or the path of a workload.toml [default: the one that has this server]
    #[arg(long, short)]
    pub workload: Option<String>,

    /// Run only this operation of the workload's mix, such as get-1k
    #[arg(long, value_name = "OPERATION")]
    pub on_op: Option<String>,

    /// Choose what each trial measures [default: as `showdown compare` does]
    #[arg(long, value_enum)]
    pub measure: Option<TunedMeasure>,

    /// Set the objective (SLO) that defines capacity, such as 'p99<5ms' [default: the workload's]
    #[arg(long)]
    pub slo: Option<Slo>,

    /// Open this number of client connections [default: the workload's]
    #[arg(short, long, value_parser = parse_connections)]
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

    /// Print the answer in this form
    #[arg(long, value_enum, default_value = "text")]
    pub format: TuneFormat,

    /// Show progress on standard error in this form
    #[arg(long, value_enum, default_value = "auto")]
    pub progress: ProgressOption,

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

/// The form of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TuneFormat {
    /// For people
    Text,
    /// The object of tuning.json, see docs/FORMATS.md
    Json,
    /// Markdown, for a pull request
    Md,
}

/// Runs the verb.
pub fn run(args: &TuneArgs) -> anyhow::Result<CommandStatus> {
    let catalogue = TuningCatalogue::with_own(&args.rules).map_err(usage)?;
    let tunings = wanted(&catalogue, &args.only)?;
    let (workload, variants) =
        Catalogue::default().resolve(args.workload.as_deref(), &[&args.server]).map_err(usage)?;
    let baseline: VariantText = args.server.parse().map_err(usage)?;
    if baseline.host.is_some() {
        return Err(usage("tune works on this machine only: name the server without a host"));
    }
    let server = workload.server(&variants[0].server)?.clone();
    let request = request(args);
    let context = interrupt::context()?;
    let permissions = RunPermissions { kernel: &args.allow_kernel, ..RunPermissions::default() };
    std::fs::create_dir_all(&args.runs.runs)?;
    let scratch = tempfile::Builder::new().prefix(".tuning-").tempdir_in(&args.runs.runs)?;
    // Other commands remove such a folder when it is old and nobody has locked it.
    let lock = File::open(scratch.path())?;
    lock.lock()?;
    let progress = TuneProgress::start(args.progress.mode());
    let memory = Host::local().facts().memory.total_bytes as f64;
    let limits =
        if args.quick { SearchLimits::quick(args.time, memory) } else { SearchLimits::of(args.time, memory) };
    let mut observe = |event: TuneEvent| progress.observe(event);
    let mut lab = BakeoffLab::new(
        request,
        baseline,
        args.quick,
        permissions,
        scratch.path().to_owned(),
        &context,
        &mut observe,
    );
    let found = search::search(&mut lab, &limits, &mut |equal| {
        candidates(args, &tunings, &server, &scratch.path().join(&equal.run), equal)
    });
    let confirmed = found.as_ref().ok().and_then(|found| found.confirmation.as_ref());
    let tuned = confirmed.map(|confirmation| lab.written(&confirmation.settings));
    let (took, unrestored) = (tune::TuningLab::elapsed(&lab), std::mem::take(&mut lab.unrestored));
    drop(lab);
    progress.finish();
    let found = found.map_err(why_not)?;
    let own_run = confirmed_or_equal(&found);
    let dir = bakeoff_lab::keep(scratch.path(), &own_run, &args.runs.runs)?;
    // It is below the run now.
    let _ = scratch.keep();
    let mut run = Run::open(&dir)?;
    let verdict = run.verdict.as_ref();
    let context_of_record = RecordContext {
        command: host::secrets::mask(std::env::args().collect::<Vec<_>>().iter().map(String::as_str)),
        baseline: args.server.clone(),
        tuned,
        metric: verdict.map(|verdict| verdict.metric.clone()).unwrap_or_default(),
        unit: verdict.map(|verdict| verdict.unit.clone()).unwrap_or_default(),
        budget: args.time,
        took,
        allowed: args.allow.iter().map(|allowed| format!("{allowed:?}").to_lowercase()).collect(),
        own_run,
    };
    let record = record(&found, context_of_record);
    if let Some(explanation) = explain::explain_trials(&run) {
        run.explain(explanation)?;
    }
    run.tune(record.clone())?;
    let report = super::archive::write_report(&run, None)?;
    answer(args.format, &record, &run, &report.display().to_string())?;
    if !unrestored.is_empty() {
        anyhow::bail!("{} (the run is kept in {})", unrestored.join("; "), run.dir.display());
    }
    if let Some(why) = &found.ended {
        anyhow::bail!("the search ended early: {why} (what was learnt is kept in {})", run.dir.display());
    }
    Ok(if found.is_interrupted { CommandStatus::Interrupted } else { CommandStatus::Success })
}

fn answer(format: TuneFormat, record: &TuningRecord, run: &Run, report: &str) -> anyhow::Result<()> {
    match format {
        TuneFormat::Text => print_text(&show::tuning::text(record, &run.dir.display().to_string(), report)),
        TuneFormat::Json => print_json(&(serde_json::to_string(record)? + "\n")),
        TuneFormat::Md => print(&report::markdown(run)?),
    }
}

/// The tunings that the user wants, all by default.
fn wanted(catalogue: &TuningCatalogue, only: &[String]) -> anyhow::Result<Vec<Tuning>> {
    let all = catalogue.all();
    if let Some(unknown) = only.iter().find(|id| all.iter().all(|tuning| tuning.id != **id)) {
        return Err(usage(format!("there is no tuning {unknown:?}: see `showdown tunings`")));
    }
    let is_wanted = |tuning: &&Tuning| only.is_empty() || only.contains(&tuning.id);
    Ok(all.iter().filter(is_wanted).cloned().collect())
}

fn request(args: &TuneArgs) -> PlanRequest {
    PlanRequest {
        command: std::env::args().collect(),
        workload: args.workload.clone(),
        measure: match args.measure {
            None => MeasureRequest::Default,
            Some(TunedMeasure::Capacity) => MeasureRequest::Capacity,
            Some(TunedMeasure::Throughput) => MeasureRequest::Throughput,
            Some(TunedMeasure::Bytes) => MeasureRequest::Bytes,
            Some(TunedMeasure::Cpu) => MeasureRequest::CpuTime(None),
        },
        slo: args.slo.as_ref().map(ToString::to_string),
        on_op: args.on_op.clone(),
        connections: args.connections,
        seed: args.seed,
        tags: args.tag.iter().cloned().chain(["tune".to_owned()]).collect(),
        ..PlanRequest::default()
    }
}

/// The candidates for a server, from the trials of equal servers in this run directory.
fn candidates(
    args: &TuneArgs,
    tunings: &[Tuning],
    server: &ServerDefinition,
    equal_run: &std::path::Path,
    equal: &StageTrials,
) -> (Vec<tune::Candidate>, Vec<tune::NotTried>) {
    let host = Host::local();
    let facts = host.facts();
    let run = Run::open(equal_run).ok();
    let variant = run.as_ref().and_then(|run| run.facts.as_ref()?.variants.first());
    let text = |value: &KnobValue| match value {
        KnobValue::Flag(on) => if *on { "on" } else { "off" }.to_owned(),
        other => other.to_string(),
    };
    let knobs = variant.into_iter().flat_map(|variant| &variant.knobs);
    let mut values: BTreeMap<String, String> =
        knobs.map(|(name, value)| (name.clone(), text(value))).collect();
    let levels = tunings.iter().flat_map(|tuning| &tuning.levels);
    for name in levels.flat_map(|level| level.set.keys()).filter(|name| is_kernel_setting(name)) {
        let value = name.parse().ok().and_then(|knob: Knob| host.kernel_setting(&knob).ok());
        values.extend(value.map(|value| (name.clone(), value)));
    }
    let plan = run.as_ref().and_then(|run| run.plan.as_ref());
    let cpus = plan.and_then(|plan| plan.cpus.server.parse::<host::CpuSet>().ok());
    let is_own = tunings.iter().all(|tuning| !tuning.servers.contains(&server.name));
    let own = if is_own && args.only.is_empty() { knobs_as_tunings(server, &values) } else { Vec::new() };
    let all: Vec<Tuning> = tunings.iter().cloned().chain(own).collect();
    let situation = Situation {
        server,
        values,
        figures: equal.figures(0),
        cpus: cpus.map_or(1, |cpus| cpus.len().max(1)),
        memory_mb: facts.memory.total_bytes / (1 << 20),
        nodes: facts.cpu.numa_nodes,
        is_root: rustix::process::geteuid().is_root(),
        may_weaken_durability: args.allow.contains(&Allowed::Durability),
        may_weaken_security: args.allow.contains(&Allowed::Security),
        allowed_kernel: args.allow_kernel.iter().map(ToString::to_string).collect(),
    };
    choose(&all, &situation)
}

/// The run of a search that answers its question: the confirmation, or equal servers where there is none.
fn confirmed_or_equal(found: &Found) -> String {
    let confirmed = found.confirmation.as_ref().map(|confirmation| confirmation.trials.run.clone());
    confirmed.unwrap_or_else(|| found.equal.trials.run.clone())
}

fn why_not(error: SearchError) -> anyhow::Error {
    match error {
        SearchError::Lab(LabError::Interrupted) => InterruptedError("before anything was learnt").into(),
        error @ SearchError::TooShort { .. } => usage(error),
        error => error.into(),
    }
}
