//! `showdown man`: manual pages, made from the same texts as `--help`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Command;

use crate::args::options::visible_only;
use crate::exit::CommandStatus;
use crate::output_file;
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
        let mut cli = cli;
        cli.build();
        write_pages(cli, directory)?;
    } else {
        let mut page = Vec::new();
        clap_mangen::Man::new(cli).render(&mut page)?;
        print(&String::from_utf8(page)?)?;
    }
    Ok(CommandStatus::Success)
}

/// Writes the page of a command and of each verb below it.
fn write_pages(command: Command, directory: &Path) -> anyhow::Result<()> {
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        write_pages(verb.clone(), directory)?;
    }
    let man = clap_mangen::Man::new(command);
    let mut page = Vec::new();
    man.render(&mut page)?;
    output_file::write("--out", &directory.join(man.get_filename()), &page)?;
    Ok(())
}
