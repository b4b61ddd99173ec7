//! Options that several verbs share.

use std::io::IsTerminal;
use std::path::PathBuf;

use archive::{Archive, Run};
use clap::{Command, ValueEnum};
use serde::Serialize;

use crate::print::{print_json, print_text};
use crate::show::progress::bar::ProgressMode;

/// Where runs are kept.
#[derive(clap::Args, Clone, Debug)]
pub struct RunsDir {
    /// Use this directory of runs
    #[arg(
        long,
        value_name = "DIR",
        env = "SHOWDOWN_RUNS",
        hide_env_values = true,
        default_value = "runs",
        global = true
    )]
    pub runs: PathBuf,
}

impl RunsDir {
    /// The archive there.
    pub fn archive(&self) -> Archive {
        Archive::new(&self.runs)
    }
}

/// Runs of the archive, by their ids, unique parts of their ids, their directories, or `latest`.
#[derive(clap::Args, Clone, Debug)]
pub struct WhichRuns {
    /// Choose runs: of each its id, a part of its id that no other run has, its directory, or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: Vec<String>,
    #[command(flatten)]
    pub runs: RunsDir,
}

impl WhichRuns {
    /// Reads them, in this order.
    pub fn open(&self) -> anyhow::Result<Vec<Run>> {
        let archive = self.runs.archive();
        self.run.iter().map(|name| Ok(archive.open(name)?)).collect()
    }
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AnswerFormat {
    /// For people.
    Text,
    /// One object on standard output, see docs/FORMATS.md.
    Json,
}

impl AnswerFormat {
    /// Prints an answer in this form.
    pub fn print<T: Serialize>(self, answer: &T, text: impl FnOnce() -> String) -> anyhow::Result<()> {
        match self {
            Self::Json => print_json(&(serde_json::to_string(answer)? + "\n")),
            Self::Text => print_text(&text()),
        }
    }
}

/// How progress is shown: the value of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProgressOption {
    /// Bars on a terminal, nothing elsewhere.
    Auto,
    /// Bars, on standard error.
    Bar,
    /// One JSON object a line for each event, on standard error.
    Json,
    /// Nothing.
    None,
}

impl ProgressOption {
    /// How progress is shown on this standard error.
    pub fn mode(self) -> ProgressMode {
        match self {
            Self::Auto if std::io::stderr().is_terminal() => ProgressMode::Bar,
            Self::Auto | Self::None => ProgressMode::Nothing,
            Self::Bar => ProgressMode::Bar,
            Self::Json => ProgressMode::Json,
        }
    }
}

/// How the progress of a run is shown, and who follows it.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct ProgressArgs {
    /// Show progress on standard error in this form
    #[arg(long, value_enum, default_value = "auto")]
    pub progress: ProgressOption,

    /// Write numbered events to this open file descriptor, one JSON object a line (docs/FORMATS.md); the run ends, as after Ctrl-C,
    /// when nobody reads them any more
    #[arg(long, value_name = "N")]
    pub progress_fd: Option<u32>,
}

/// A command line without its hidden verbs, for completions and manual pages.
pub fn visible_only(cli: &Command) -> Command {
    Command::new("showdown")
        .version(env!("CARGO_PKG_VERSION"))
        .about(cli.get_about().cloned().unwrap_or_default())
        .after_help(cli.get_after_help().cloned().unwrap_or_default())
        .args(cli.get_arguments().cloned())
        .subcommands(cli.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned())
        .disable_help_subcommand(true)
        .subcommand_required(true)
}
