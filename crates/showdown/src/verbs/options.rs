//! Options that several verbs share.

use std::io::IsTerminal;
use std::path::PathBuf;

use archive::Archive;
use clap::ValueEnum;
use serde::Serialize;

use crate::print::print;

/// Where runs are kept.
#[derive(clap::Args, Clone, Debug)]
pub struct RunsDir {
    /// Directory of the runs
    #[arg(long, value_name = "DIR", env = "SHOWDOWN_RUNS", default_value = "runs", global = true)]
    pub runs: PathBuf,
}

impl RunsDir {
    /// The archive there.
    pub fn archive(&self) -> Archive {
        Archive::new(&self.runs)
    }
}

/// How the answer is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// One object on standard output, documented in docs/FORMATS.md.
    Json,
}

impl Format {
    /// Prints an answer as asked.
    pub fn print<T: Serialize>(self, answer: &T, text: impl FnOnce() -> String) -> anyhow::Result<()> {
        match self {
            Self::Json => print(&(serde_json::to_string(answer)? + "\n")),
            Self::Text => print(&text()),
        }
    }
}

/// How progress is shown, as asked.
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

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressMode {
    /// Bars.
    Bar,
    /// JSON lines.
    Json,
    /// Nothing.
    Nothing,
}

impl ProgressOption {
    /// What is asked, with the terminal taken into account.
    pub fn mode(self) -> ProgressMode {
        match self {
            Self::Auto if std::io::stderr().is_terminal() => ProgressMode::Bar,
            Self::Auto | Self::None => ProgressMode::Nothing,
            Self::Bar => ProgressMode::Bar,
            Self::Json => ProgressMode::Json,
        }
    }
}
