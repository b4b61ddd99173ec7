//! `queue`, `kill` and `pull`: what is queued, the end of an entry, and the run that it has made.

use std::fmt::Write as _;
use std::io::Write;

use queue::api::QueueList;
use queue::{Entry, EntryId, EntryState};
use serde_json::json;

use super::client::ServerArgs;
use crate::args::options::AnswerFormat;
use crate::exit::{CommandStatus, usage};
use crate::print::print;
use crate::show::layout::table::table_within;
use crate::show::layout::units::about;

/// Options of `showdown queue`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown queue
  showdown queue --all
  showdown queue --after 107
  showdown queue --format json")]
pub struct QueueArgs {
    /// List the newest entries that are at their end, too
    #[arg(long)]
    pub all: bool,
    /// List the entries that wait after this one
    #[arg(long, value_name = "ENTRY")]
    pub after: Option<EntryId>,
    /// Print the answer as text or as JSON
    #[arg(long, value_enum, default_value = "text")]
    pub format: AnswerFormat,
    #[command(flatten)]
    pub server: ServerArgs,
}

/// Options of `showdown kill`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown kill 7

A run that goes on is interrupted, as with Ctrl-C: what it has measured is kept.")]
pub struct KillArgs {
    /// Stop this entry
    #[arg(value_name = "ENTRY")]
    pub entry: EntryId,
    #[command(flatten)]
    pub server: ServerArgs,
}

/// Options of `showdown pull`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown pull 20261121T005139Z-nginx-apache-7f3a --server http://127.0.0.1:7437
  showdown pull 7

It fetches a run from the server's archive into the directory of runs here.")]
pub struct PullArgs {
    /// Choose the run by its id, or by the number of its entry
    #[arg(value_name = "RUN")]
    pub run: String,
    #[command(flatten)]
    pub server: ServerArgs,
}

/// `showdown queue`.
pub fn queue(args: &QueueArgs) -> anyhow::Result<CommandStatus> {
    let after = args.after.map(|after| format!("&after={after}")).unwrap_or_default();
    let list: QueueList = args.server.client()?.get(&format!("entries?all={}{after}", args.all))?;
    args.format.print(&list, || text(&list))?;
    Ok(CommandStatus::Success)
}

/// The queue for people.
fn text(list: &QueueList) -> String {
    let mut text = list.alarm.as_ref().map_or_else(String::new, |alarm| format!("{alarm}\n\n"));
    if list.entries.is_empty() {
        text.push_str("The queue is empty: showdown submit compare nginx apache --quick\n");
        return text;
    }
    let mut rows = vec![["entry", "state", "begins in", "what", "note"].map(str::to_owned).to_vec()];
    for entry in &list.entries {
        let outlook = list.outlooks.iter().find(|outlook| outlook.entry == entry.id);
        let begins = match (entry.state, outlook.and_then(|outlook| outlook.starts_in_s)) {
            (EntryState::Waiting, Some(seconds)) => about(seconds),
            (EntryState::Waiting, None) => "unknown".to_owned(),
            _ => String::new(),
        };
        let note = outlook.map(|outlook| outlook.reason.clone()).or_else(|| entry.reason.clone());
        let note = note.or_else(|| entry.run.clone()).unwrap_or_default();
        rows.push(vec![
            entry.id.to_string(),
            entry.state.name().to_owned(),
            begins,
            entry.title.clone(),
            note,
        ]);
    }
    text.push_str(&table_within(&rows, None));
    if list.more > 0
        && let Some(last) = list.entries.iter().rfind(|entry| !entry.state.is_ended())
    {
        let _ = writeln!(text, "\n{} more: showdown queue --after {}", list.more, last.id);
    }
    text
}

/// `showdown kill`.
pub fn kill(args: &KillArgs) -> anyhow::Result<CommandStatus> {
    let entry: Entry = args.server.client()?.post(&format!("entries/{}/kill", args.entry), &json!({}))?;
    let what = if entry.state == EntryState::Cancelled {
        "is stopped"
    } else {
        "is being stopped by its controller"
    };
    print(&format!("entry {} {what}\n", entry.id))?;
    Ok(CommandStatus::Success)
}

/// `showdown pull`.
pub fn pull(args: &PullArgs) -> anyhow::Result<CommandStatus> {
    let client = args.server.client()?;
    let mut run = args.run.clone();
    if let Ok(id) = args.run.parse::<EntryId>() {
        let entry: Entry = client.get(&format!("entries/{id}"))?;
        run =
            entry.run.ok_or_else(|| usage(format!("entry {id} has no run: it is {}", entry.state.name())))?;
    }
    let archive = args.server.runs.archive();
    if run.parse().is_ok_and(|id| archive.dir(&id).is_dir()) {
        // The server of this directory of runs has the same archive.
        print(&format!("{run}\n"))?;
        return Ok(CommandStatus::Success);
    }
    let mut packed = client.stream(&format!("runs/{run}/bundle"), None, None)?;
    let mut file = tempfile::NamedTempFile::new()?;
    std::io::copy(&mut packed, &mut file)?;
    file.flush()?;
    print(&format!("{}\n", archive.import(file.path())?))?;
    Ok(CommandStatus::Success)
}
