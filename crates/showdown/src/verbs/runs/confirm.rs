//! `confirm`: measures the plan of a run again in another session, so that both have one answer.

use archive::layout::PLAN;

use super::bakeoff::{RunArgs, run_new_trials};
use crate::args::plan_trust;
use crate::exit::{CommandStatus, usage};

/// Options of `showdown confirm`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown confirm latest
  showdown confirm 20261121T0051

A run measures one machine at one time. Another session (another day, after a restart of the machine, or on another machine \
of its type) may have another ratio than the interval of the first one says. From three sessions on, `show` and \
`report` state the ratio over all of them, with an interval that contains what varies between sessions.

Exit codes: 0 a difference, or no difference shown; 3 inconclusive, or no valid trial; 4 as --fail-if of the run said; 2 usage \
error, 1 failure, 130 interrupted.")]
pub struct ConfirmArgs {
    /// Choose the run to confirm: its id, a part of its id that no other run has, its directory, or `latest`
    #[arg(value_name = "RUN")]
    pub run: String,

    /// Run its plan without a question, also if the run came from elsewhere: if it was imported, or if another user owns its
    /// plan or may change it
    #[arg(short, long)]
    pub yes: bool,

    #[command(flatten)]
    pub how: RunArgs,
}

/// `showdown confirm`.
pub fn run(args: &ConfirmArgs) -> anyhow::Result<CommandStatus> {
    let archive = args.how.runs.archive();
    let confirmed = archive.open(&args.run)?;
    let Some(plan) = &confirmed.plan else {
        return Err(usage(format!("{}: its plan cannot be read: `showdown show` says why", confirmed.id)));
    };
    if !plan.kind.has_trials() {
        return Err(usage(format!(
            "{} is a run of `showdown {}`, which has no ratio to confirm: name a comparison or a sweep",
            confirmed.id,
            plan.kind.name()
        )));
    }
    plan_trust::ask(&confirmed.dir.join(PLAN), plan, args.yes)?;
    run_new_trials(&bakeoff::another_session(plan, confirmed.id.as_str()), &args.how, false)
}
