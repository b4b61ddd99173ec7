//! `showdown man`: manual pages, made from the same texts as `--help`.

use std::path::PathBuf;

use anyhow::Context;
use clap::Command;

use super::options::visible_only;
use crate::exit::CommandStatus;
use crate::print::print;

/// Options of `showdown man`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown man | man -l -
  showdown man --out ~/.local/share/man/man1")]
pub struct ManArgs {
    /// Write showdown.1 and a page for each verb, such as showdown-compare.1, into this directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Prints the page of the command line `cli`, or writes all pages.
pub fn run(args: &ManArgs, cli: &Command) -> anyhow::Result<CommandStatus> {
    let cli = visible_only(cli);
    if let Some(directory) = &args.out {
        let failure = || format!("--out {}: cannot write the manual pages", directory.display());
        std::fs::create_dir_all(directory).with_context(failure)?;
        clap_mangen::generate_to(cli, directory).with_context(failure)?;
    } else {
        let mut page = Vec::new();
        clap_mangen::Man::new(cli).render(&mut page)?;
        print(&String::from_utf8(page)?)?;
    }
    Ok(CommandStatus::Success)
}
