//! `showdown explain`: what limits a server, where its CPU time goes, and what costs one server more than another.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use archive::Run;
use archive::model::{ExplainedServer, Explanation, Plan, RunLength};
use bakeoff::RunPermissions;
use bakeoff::plan_request::{self, MeasureRequest, PlanRequest};
use clap::ValueEnum;
use explain::ExplainError;
use host::Host;
use host::knobs::Knob;
use load::inputs::units::parse_connections;
use profile::stacks::SampleSource;
use profile::{Stacks, firefox, folded};

use super::consent;
use super::options::{AnswerFormat, ProgressOption, RunsDir};
use super::run_failure::in_words;
use crate::exit::{CommandStatus, InterruptedError, usage};
use crate::interrupt;
use crate::print::print;
use crate::show;
use crate::show::explain_progress::ExplainProgress;

/// Options of `showdown explain`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown explain nginx
  showdown explain nginx apache
  showdown explain memcached:threads=1 --connections 2
  showdown explain latest
  showdown explain mariadb --on-op update-index --slow-request
  showdown explain nginx --format folded > nginx.folded
  showdown explain mariadb --format folded-waits > mariadb-waits.folded

A closed loop loads the server, so the server decides the throughput. For each suspect, some slices have less of one \
resource, beside slices with all of it. Profiles are taken in slices of their own.

As root, stacks have the kernel's functions, too. The answer lists what it could not find out, with the reason.

Exit codes: 0 an explanation, 2 usage error, 1 failure, 130 interrupted.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct ExplainArgs {
    /// Explain this server, or set two side by side: SERVER or SERVER:KNOB=VALUE,KNOB=VALUE. Or explain the servers of a run:
    /// its id, the beginning of its id, its directory, or `latest`
    #[arg(required = true, num_args = 1..=2, value_name = "VARIANT|RUN")]
    pub what: Vec<String>,

    /// Use this workload: a name, or the path of a workload.toml [default: the one that has these servers]
    #[arg(long, short)]
    pub workload: Option<String>,

    /// Run only this operation of the workload's mix, such as get-1k
    #[arg(long, value_name = "OPERATION")]
    pub on_op: Option<String>,

    /// Open this number of client connections [default: the workload's]
    #[arg(short, long, value_parser = parse_connections)]
    pub connections: Option<u32>,

    /// Show slow requests step by step beside median ones: in the network, waiting for a CPU, on it, blocked on what
    #[arg(long)]
    pub slow_request: bool,

    /// Take few short slices: about a minute for one server
    #[arg(long, conflicts_with = "thorough")]
    pub quick: bool,

    /// Take many slices: about ten minutes for one server
    #[arg(long)]
    pub thorough: bool,

    /// Derive the load from this seed [default: a new one, recorded in the plan]
    #[arg(long)]
    pub seed: Option<u32>,

    /// Mark the run with this tag, for `showdown list --tag`; may be repeated
    #[arg(long)]
    pub tag: Vec<String>,

    /// Explain the servers of a run without a question, also if it came from elsewhere
    #[arg(short, long)]
    pub yes: bool,

    /// Print the answer in this form
    #[arg(long, value_enum, default_value = "text")]
    pub format: ExplanationFormat,

    /// Show progress on standard error in this form
    #[arg(long, value_enum, default_value = "auto")]
    pub progress: ProgressOption,

    /// Allow the plan to set this kernel setting, which is not one of the usual ones of a comparison; may be repeated
    #[arg(long, value_name = "NAME")]
    pub allow_kernel: Vec<Knob>,

    #[command(flatten)]
    pub runs: RunsDir,
}

/// The form of an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExplanationFormat {
    /// For people.
    Text,
    /// One object on standard output, see docs/FORMATS.md.
    Json,
    /// The stacks of the profiles, a line each with the number of samples; flame graph programs read it.
    Folded,
    /// The stacks of waits within operations and for work, a line each with the microseconds that threads waited there.
    FoldedWaits,
    /// A profile that Firefox Profiler (profiler.firefox.com) opens; of one server.
    Firefox,
}

/// `showdown explain`.
pub fn run(args: &ExplainArgs) -> anyhow::Result<CommandStatus> {
    let plan = plan(args)?;
    if args.format == ExplanationFormat::Firefox && plan.variants.len() > 1 {
        return Err(usage("--format firefox is for one server: name one"));
    }
    consent::note_workload_on_disk(&plan)?;
    run_plan(&plan, args.format, args.progress, &args.allow_kernel, &args.runs)
}

/// Explains the servers of a plan, writes the report and prints the answer.
pub fn run_plan(
    plan: &Plan,
    format: ExplanationFormat,
    progress: ProgressOption,
    allow_kernel: &[Knob],
    runs: &RunsDir,
) -> anyhow::Result<CommandStatus> {
    let context = interrupt::context()?;
    let permissions = RunPermissions { kernel: allow_kernel, ..RunPermissions::default() };
    let progress = ExplainProgress::start(progress.mode());
    let explained = explain::explain(plan, permissions, &runs.runs, &context, &mut |event| {
        progress.observe(&event);
    });
    progress.finish();
    // Whatever could not be done then: the user has ended it.
    if explained.is_err() && context.interrupted.load(Ordering::Relaxed) {
        return Err(InterruptedError("before anything was found").into());
    }
    let explained = explained.map_err(why_not)?;
    let run = Run::open(&explained.dir)?;
    // On a full disk there is an answer, too.
    let report = super::archive::write_report(&run, None);
    answer(&run, &explained.explanation, format, report.as_deref().ok())?;
    if let Some(error) = &explained.ended {
        anyhow::bail!("{error} (what was found until then is kept in {})", explained.dir.display());
    }
    if !explained.unrestored.is_empty() {
        anyhow::bail!("{} (the run is kept in {})", explained.unrestored.join("; "), explained.dir.display());
    }
    report?;
    let is_interrupted = context.interrupted.load(Ordering::Relaxed);
    Ok(if is_interrupted { CommandStatus::Interrupted } else { CommandStatus::Success })
}

fn answer(
    run: &Run,
    explanation: &Explanation,
    format: ExplanationFormat,
    report: Option<&Path>,
) -> anyhow::Result<()> {
    let text = || {
        let report = report.map(|path| path.display().to_string());
        show::explanation::text(explanation, &run.dir.display().to_string(), report.as_deref())
    };
    match format {
        ExplanationFormat::Text => AnswerFormat::Text.print(explanation, text),
        ExplanationFormat::Json => AnswerFormat::Json.print(explanation, text),
        ExplanationFormat::Folded => {
            let texts: Vec<String> = profiles(run, explanation)?.into_iter().map(|(_, text)| text).collect();
            print(&texts.concat())
        }
        ExplanationFormat::FoldedWaits => print(&waits(run, explanation)?.concat()),
        ExplanationFormat::Firefox => {
            let (variant, text) = profiles(run, explanation)?.remove(0);
            let profile = explanation.servers[0].profile.as_ref().expect("it has a profile");
            let period = Duration::from_secs_f64(profile.period_us.max(0.0) / 1e6);
            let stacks: Stacks = folded::parse(&text, SampleSource::CpuClock, period)?;
            print(&firefox::write(&stacks, &variant, run.id.started()))
        }
    }
}

/// Name and folded stacks of each server; an error if one has none.
fn profiles(run: &Run, explanation: &Explanation) -> anyhow::Result<Vec<(String, String)>> {
    let of = |server: &ExplainedServer| {
        let Some(profile) = &server.profile else {
            anyhow::bail!(
                "{} has no profile: {}",
                server.variant,
                why_missing(server, "where the CPU time goes")
            );
        };
        Ok((server.variant.clone(), run.text(&profile.folded, u64::MAX)?))
    };
    explanation.servers.iter().map(of).collect()
}

/// The folded stacks of each server's waits; an error if one has none.
fn waits(run: &Run, explanation: &Explanation) -> anyhow::Result<Vec<String>> {
    let of = |server: &ExplainedServer| {
        let Some(waits) = &server.waits else {
            let why = why_missing(server, "where time goes off the CPU");
            anyhow::bail!("the waits of {} were not watched: {why}", server.variant);
        };
        Ok(run.text(&waits.folded, u64::MAX)?)
    };
    explanation.servers.iter().map(of).collect()
}

/// Why something could not be told of a server.
fn why_missing<'e>(server: &'e ExplainedServer, what: &str) -> &'e str {
    let unknown = server.unknown.iter().find(|unknown| unknown.what == what);
    unknown.map_or("no sample was taken", |unknown| unknown.why.as_str())
}

/// The plan of the variants, or of the run.
pub fn plan(args: &ExplainArgs) -> anyhow::Result<Plan> {
    let command: Vec<String> = std::env::args().collect();
    let length = match (args.quick, args.thorough) {
        (true, _) => RunLength::Quick,
        (_, true) => RunLength::Thorough,
        _ => RunLength::Default,
    };
    if let [run] = &args.what[..]
        && names_run(run)
    {
        if args.workload.is_some() || args.on_op.is_some() || args.connections.is_some() {
            return Err(usage(
                "a run has its workload and load: name the servers to explain them under another",
            ));
        }
        let dir = args.runs.archive().locate(run)?;
        let plan = Run::open(&dir)?.plan;
        let plan =
            plan.ok_or_else(|| anyhow::anyhow!("{run} has no plan that can be read: name the servers"))?;
        consent::ask(&dir.join(archive::layout::PLAN), &plan, args.yes)?;
        let seed = args.seed.unwrap_or(plan.seed);
        let tags = plan.tags.iter().chain(&args.tag).cloned().collect();
        return plan_request::explaining(&Plan { length, seed, tags, ..plan }, &command, args.slow_request)
            .map_err(usage);
    }
    let request = PlanRequest {
        command,
        explains: true,
        slow_requests: args.slow_request,
        variants: args.what.clone(),
        workload: args.workload.clone(),
        measure: MeasureRequest::Throughput,
        on_op: args.on_op.clone(),
        length: Some(length),
        connections: args.connections,
        seed: args.seed,
        tags: args.tag.clone(),
        ..PlanRequest::default()
    };
    plan_request::plan(&request, &Host::local()).map_err(usage)
}

/// Whether a text means a run. A directory does that has the name of no server, or a plan.
fn names_run(text: &str) -> bool {
    let path = Path::new(text);
    let is_directory = path.is_dir() && (text.contains('/') || path.join(archive::layout::PLAN).is_file());
    text == "latest" || text.starts_with(|c: char| c.is_ascii_digit()) || is_directory
}

fn why_not(error: ExplainError) -> anyhow::Error {
    match error {
        ExplainError::Run(error) => in_words(error),
        error => error.into(),
    }
}
