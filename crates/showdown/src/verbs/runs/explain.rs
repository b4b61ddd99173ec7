//! `showdown explain`: what limits a server, where its CPU time goes, and what costs one server more than another.

use std::path::Path;

use archive::model::{Plan, RunLength};
use archive::{Archive, ArchiveError, Run};
use bakeoff::plan_request::{self, MeasureRequest, PlanRequest};
use host::Host;
use host::knobs::Knob;
use load::inputs::units::parse_connections;
use runs::{Permissions, RunRequest};
use workload::{Catalogue, LookupError};

use crate::answer::execute::{end, execute};
use crate::answer::of_run::{ExplanationFormat, print_answer};
use crate::args::options::{ProgressArgs, RunsDir};
use crate::args::plan_trust;
use crate::exit::{CommandStatus, usage};
use crate::interrupt;

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
    /// its id, a part of its id that no other run has, its directory, or `latest`
    #[arg(required = true, num_args = 1..=2, value_name = "VARIANT|RUN")]
    pub what: Vec<String>,

    /// Use this workload: a name, or the path of a workload.toml [default: the one that has these servers]
    #[arg(long, short)]
    pub workload: Option<String>,

    /// Run only this operation of the workload's mix, such as get-1k
    #[arg(long, value_name = "OPERATION")]
    pub on_op: Option<String>,

    /// Open this number of client connections; if the workload has users, one for each [default: the workload's]
    #[arg(short, long, visible_alias = "users", value_parser = parse_connections)]
    pub connections: Option<u32>,

    /// Show slow requests step by step, beside median ones: in the network, waiting for a CPU, on a CPU, blocked and on what
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

    #[command(flatten)]
    pub progress: ProgressArgs,

    /// Allow the plan to set this kernel setting, which is not one of the usual ones of a comparison; may be repeated
    #[arg(long, value_name = "NAME")]
    pub allow_kernel: Vec<Knob>,

    #[command(flatten)]
    pub runs: RunsDir,
}

/// `showdown explain`.
pub fn run(args: &ExplainArgs) -> anyhow::Result<CommandStatus> {
    let plan = plan(args)?;
    if args.format == ExplanationFormat::Firefox && plan.variants.len() > 1 {
        return Err(usage("--format firefox is for one server: name one"));
    }
    plan_trust::note_workload_on_disk(&plan)?;
    let permissions = Permissions { kernel: args.allow_kernel.clone(), ..Permissions::default() };
    let request = RunRequest::Plan(Box::new(plan));
    let answer = execute(&request, &permissions, &args.runs, &args.progress, &interrupt::context()?)?;
    print_answer(&answer, args.format.into())?;
    end(answer)
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
        && names_run(run, args.workload.as_deref(), &args.runs.archive())
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
        plan_trust::ask(&dir.join(archive::layout::PLAN), &plan, args.yes)?;
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

/// Whether a text means a run. A directory does that has the name of no server, or a plan; and a part of an id that is no server.
fn names_run(text: &str, workload: Option<&str>, archive: &Archive) -> bool {
    let path = Path::new(text);
    let is_directory = path.is_dir() && (text.contains('/') || path.join(archive::layout::PLAN).is_file());
    if text == "latest" || text.starts_with(|c: char| c.is_ascii_digit()) || is_directory {
        return true;
    }
    let server = Catalogue::default().resolve(workload, &[text]);
    matches!(server, Err(LookupError::NoServer { .. }))
        && matches!(archive.find(text), Ok(_) | Err(ArchiveError::Ambiguous { .. }))
}
