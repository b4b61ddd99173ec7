//! `resume`: goes on with a run that was interrupted or killed.

use bakeoff::InterruptedRun;
use runs::RunRequest;

use super::bakeoff::{RunArgs, run_trials};
use crate::answer::execute::why_not;
use crate::args::meters::PlanUse;
use crate::args::plan_trust;
use crate::exit::CommandStatus;

/// Options of `showdown resume`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown resume latest
  showdown resume 20261121T0051

The run keeps its complete blocks. The block that was cut is run again, with the same plan, seed and order. The host, \
the files of the workload and the servers must be the same as before.

Exit codes: 0 a difference, or no difference shown; 3 inconclusive, or no valid trial; 4 as --fail-if of the run said; 2 usage \
error, 1 failure, 130 interrupted.")]
pub struct ResumeArgs {
    /// Choose an unfinished run: its id, a part of its id that no other run has, its directory, or `latest`
    #[arg(value_name = "RUN")]
    pub run: String,

    /// Accept that the host, the workload or a server has changed since the run began; the report shows what
    #[arg(long)]
    pub accept_changes: bool,

    /// Go on without a question, also if the run came from elsewhere: if it was imported, or if another user owns its
    /// plan or may change it
    #[arg(short, long)]
    pub yes: bool,

    #[command(flatten)]
    pub how: RunArgs,
}

/// `showdown resume`.
pub fn run(args: &ResumeArgs) -> anyhow::Result<CommandStatus> {
    let dir = args.how.runs.archive().locate(&args.run)?;
    let plan = InterruptedRun::open(&dir).map_err(why_not)?.plan().clone();
    plan_trust::ask(&dir.join(archive::layout::PLAN), &plan, args.yes)?;
    plan_trust::note_workload_on_disk(&plan)?;
    let (_, meters) = args.how.meters.of(&plan, PlanUse::Resumed, false)?;
    let request = RunRequest::Resume { dir, accept_changes: args.accept_changes };
    run_trials(&request, &args.how.permissions(meters), &args.how)
}
