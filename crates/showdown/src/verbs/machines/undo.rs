//! `showdown undo`: restore the kernel settings that a run which was killed has left.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use host::Host;
use host::knobs;
use serde::Serialize;

use crate::args::options::AnswerFormat;
use crate::exit::{CommandStatus, print_failure, usage};

/// Options of `showdown undo`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown undo
  sudo showdown undo --format json

Old values of kernel settings are in a journal on disk before a run changes them, and a process restores them if the run is \
killed. This verb is for what is left after that: it restores all that the journal has. Servers of a killed run are stopped \
without it. Run it as the user of the run. A journal that another user owns, or may write to, is not obeyed.

Exit codes: 0 nothing is left, 1 a setting could not be restored or a run is under way, 2 usage error.")]
pub struct UndoArgs {
    /// Read your journal in this directory [default: that of this user's runs]
    #[arg(long, value_name = "DIR")]
    pub journal: Option<PathBuf>,

    /// Print the answer as text or as JSON
    #[arg(long, value_enum, default_value = "text")]
    pub format: AnswerFormat,
}

/// What was restored.
#[derive(Debug, Serialize)]
pub struct Undone {
    /// The settings that have their old value again.
    pub restored: Vec<RestoredSetting>,
    /// Those that do not, one sentence each.
    pub problems: Vec<String>,
}

/// A setting that has its old value again.
#[derive(Debug, Serialize)]
pub struct RestoredSetting {
    /// Its name.
    pub setting: String,
    /// The value that a run had set.
    pub from: String,
    /// The value that it has again.
    pub to: String,
}

/// Runs the verb.
pub fn run(args: &UndoArgs) -> anyhow::Result<CommandStatus> {
    let journal = match &args.journal {
        Some(directory) if knobs::has_journal(directory) => directory.clone(),
        Some(directory) => {
            let directory = directory.display();
            return Err(usage(format!(
                "--journal {directory}: there is no journal of kernel settings: name its directory, or leave --journal out"
            )));
        }
        None => knobs::default_journal_dir()?,
    };
    // Opening the journal restores what it has. It fails where a run that is under way uses it.
    let (left, changes) = Host::local().knobs(&journal)?;
    let restored = changes.into_iter().map(|change| RestoredSetting {
        setting: change.knob.to_string(),
        from: change.from,
        to: change.to,
    });
    let problems = left.left_behind().iter().map(ToString::to_string).collect();
    let undone = Undone { restored: restored.collect(), problems };
    args.format.print(&undone, || text(&undone, &journal))?;
    for problem in &undone.problems {
        print_failure(problem);
    }
    Ok(if undone.problems.is_empty() { CommandStatus::Success } else { CommandStatus::Failed })
}

fn text(undone: &Undone, journal: &Path) -> String {
    if undone.restored.is_empty() && undone.problems.is_empty() {
        let journal = journal.display();
        return format!(
            "no kernel setting is left changed, by the journal in {journal}: each user has another one\n"
        );
    }
    let mut out = String::new();
    for RestoredSetting { setting, from, to } in &undone.restored {
        let _ = writeln!(out, "{setting} is back at {to} (a run had set {from})");
    }
    out
}
