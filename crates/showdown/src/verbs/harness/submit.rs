//! `submit`: puts a plan into the queue, from a file or as a command line.

use std::path::Path;

use archive::model::{Plan, PlanParseError};
use clap::Parser;
use queue::Entry;
use queue::api::{SequenceSubmission, Submission};

use super::client::ServerArgs;
use crate::args::plan_trust;
use crate::exit::{CommandStatus, in_one_line, usage};
use crate::print::{note, print};
use crate::verbs::results::shifts::refuse_plan;
use crate::verbs::runs::bakeoff::{PlanVerb, plan_of};

/// Options of `showdown submit`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown submit plan.toml
  showdown submit --priority 5 plan.toml
  showdown submit compare nginx apache --quick
  showdown submit sweep memcached --vary threads=1,2
  showdown submit first.toml second.toml
  showdown submit --go-on first.toml second.toml

Several plans run one after the other. If one has no answer, those behind it are stopped; with --go-on they run.

`showdown serve` has the queue. The answer is the number of the entry; `showdown watch NUMBER` follows it.")]
pub struct SubmitArgs {
    /// Read this plan or these plans, or make one of this question, written as after `showdown plan`; options of `submit` go before it
    #[arg(
        value_name = "PLAN.TOML|QUESTION",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub what: Vec<String>,
    /// Put it before those with a lower number
    #[arg(long, default_value = "0", allow_hyphen_values = true)]
    pub priority: i32,
    /// Keep it out of the order until somebody releases it
    #[arg(long)]
    pub paused: bool,
    /// Run each of several plans, although the one before it has no answer
    #[arg(long)]
    pub go_on: bool,
    #[command(flatten)]
    pub server: ServerArgs,
}

/// What follows `showdown plan`.
#[derive(Parser)]
#[command(name = "showdown submit")]
struct Question {
    #[command(subcommand)]
    verb: PlanVerb,
}

/// Whether a word names a file. The verb of a question does not.
fn is_file(word: &str) -> bool {
    Path::new(word).is_file() || word.contains(['.', '/'])
}

/// The texts of plans: of the files that are named, or of a question.
fn texts(what: &[String]) -> anyhow::Result<Vec<String>> {
    if what.first().is_some_and(|first| is_file(first)) {
        let mut texts = Vec::new();
        for file in what {
            texts.push(std::fs::read_to_string(file).map_err(|error| {
                usage(format!("cannot read {file}: {error}: name a plan, such as `showdown plan` prints"))
            })?);
        }
        return Ok(texts);
    }
    let words = std::iter::once("showdown submit").chain(what.iter().map(String::as_str));
    match Question::try_parse_from(words) {
        Ok(question) => Ok(vec![toml::to_string(&plan_of(&question.verb)?)?]),
        Err(error) if !error.use_stderr() => error.exit(),
        Err(error) => Err(usage(in_one_line(&error.to_string()))),
    }
}

/// Refuses a plan that cannot be run: what is wrong with it is said now, not when its turn comes.
fn check(text: &str) -> anyhow::Result<()> {
    refuse_plan(text)?;
    let plan: Plan =
        text.parse().map_err(|error: PlanParseError| usage(format!("plan: {}", error.problem)))?;
    if plan.has_workload() {
        bakeoff::check(&plan).map_err(usage)?;
        plan_trust::note_workload_on_disk(&plan)?;
    }
    Ok(())
}

/// `showdown submit`.
pub fn run(args: &SubmitArgs) -> anyhow::Result<CommandStatus> {
    let mut plans = texts(&args.what)?;
    for plan in &plans {
        check(plan)?;
    }
    let client = args.server.client()?;
    let (priority, paused, goes_on) = (args.priority, args.paused, args.go_on);
    let entries: Vec<Entry> = if plans.len() > 1 {
        client.post("sequences", &SequenceSubmission { plans, priority, paused, goes_on })?
    } else {
        let plan = plans.pop().unwrap_or_default();
        vec![client.post("entries", &Submission { plan, priority, paused, ..Submission::default() })?]
    };
    for entry in entries {
        print(&format!("{}\n", entry.id))?;
        let page = client.page(&format!("/entries/{}", entry.id));
        note(&format!("entry {} is {}: {page}", entry.id, entry.state.name()));
    }
    Ok(CommandStatus::Success)
}
