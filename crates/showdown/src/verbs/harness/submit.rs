//! `submit`: puts a plan into the queue, from a file or as a command line.

use std::path::Path;

use archive::model::{Plan, PlanParseError};
use clap::Parser;
use queue::Entry;
use queue::api::Submission;

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

`showdown serve` has the queue. The answer is the number of the entry; `showdown watch NUMBER` follows it.")]
pub struct SubmitArgs {
    /// Read this plan, or make one of this question, written as after `showdown plan`; options of `submit` go before it
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

/// The text of a plan: of the file that is named, or of a question.
fn text(what: &[String]) -> anyhow::Result<String> {
    if let [file] = what
        && (Path::new(file).is_file() || file.contains(['.', '/']))
    {
        return std::fs::read_to_string(file).map_err(|error| {
            usage(format!("cannot read {file}: {error}: name a plan, such as `showdown plan` prints"))
        });
    }
    let words = std::iter::once("showdown submit").chain(what.iter().map(String::as_str));
    match Question::try_parse_from(words) {
        Ok(question) => Ok(toml::to_string(&plan_of(&question.verb)?)?),
        Err(error) if !error.use_stderr() => error.exit(),
        Err(error) => Err(usage(in_one_line(&error.to_string()))),
    }
}

/// `showdown submit`.
pub fn run(args: &SubmitArgs) -> anyhow::Result<CommandStatus> {
    let text = text(&args.what)?;
    refuse_plan(&text)?;
    let plan: Plan =
        text.parse().map_err(|error: PlanParseError| usage(format!("plan: {}", error.problem)))?;
    if plan.has_workload() {
        // What is wrong with it is said now, not when its turn comes.
        bakeoff::check(&plan).map_err(usage)?;
        plan_trust::note_workload_on_disk(&plan)?;
    }
    let client = args.server.client()?;
    let submission =
        Submission { plan: text, priority: args.priority, paused: args.paused, ..Submission::default() };
    let entry: Entry = client.post("entries", &submission)?;
    print(&format!("{}\n", entry.id))?;
    note(&format!(
        "entry {} is {}: {}",
        entry.id,
        entry.state.name(),
        client.page(&format!("/entries/{}", entry.id))
    ));
    Ok(CommandStatus::Success)
}
