//! `showdown tunings`: the menu of tunings, with what each sets, when it applies, its risk and its source.

use std::path::PathBuf;

use tune::TuningCatalogue;
use tune::listed::TuningMenu;
use workload::{Catalogue, Workload};

use crate::args::options::AnswerFormat;
use crate::exit::{CommandStatus, usage};
use crate::show;

/// Options of `showdown tunings`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown tunings
  showdown tunings --server mariadb
  showdown tunings --server nginx --format json
  showdown tunings --rules my-tuning.toml

Files in the folder tunings of the working directory are added to the menu; one with the name of another replaces it. \
docs/FORMATS.md has their keys.")]
pub struct TuningsArgs {
    /// List only the tunings for this server
    #[arg(long, value_name = "SERVER")]
    pub server: Option<String>,

    /// Read further tunings from this file or folder; may be repeated
    #[arg(long, value_name = "PATH")]
    pub rules: Vec<PathBuf>,

    /// Print the menu as text or as JSON
    #[arg(long, value_enum, default_value = "text")]
    pub format: AnswerFormat,
}

/// Runs the verb.
pub fn run(args: &TuningsArgs) -> anyhow::Result<CommandStatus> {
    let catalogue = TuningCatalogue::with_own(&args.rules).map_err(usage)?;
    let menu = match &args.server {
        None => TuningMenu::of_all(&catalogue),
        Some(server) => {
            // A workload with an error has no servers; `showdown workloads` says what is wrong.
            let workloads: Vec<Workload> =
                Catalogue::default().all().into_iter().filter_map(|(_, workload)| workload.ok()).collect();
            TuningMenu::of_server(&catalogue, &workloads, server).ok_or_else(|| {
                usage(format!("no workload has a server {server:?}: see `showdown workloads`"))
            })?
        }
    };
    args.format.print(&menu, || show::tunings::text(&menu))?;
    Ok(CommandStatus::Success)
}
