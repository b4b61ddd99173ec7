//! `showdown completions`: the script that lets a shell complete verbs and options.

use clap::{Command, ValueEnum};

use crate::args::options::visible_only;
use crate::exit::CommandStatus;
use crate::print::print;

/// Options of `showdown completions`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown completions bash > ~/.local/share/bash-completion/completions/showdown
  showdown completions zsh > ~/.zfunc/_showdown
  showdown completions fish > ~/.config/fish/completions/showdown.fish")]
pub struct CompletionsArgs {
    /// Choose the shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Shells that can complete showdown's command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// GNU Bash.
    Bash,
    /// Z shell.
    Zsh,
    /// Fish.
    Fish,
}

/// Prints the script for the command line `cli`.
pub fn run(args: &CompletionsArgs, cli: &Command) -> anyhow::Result<CommandStatus> {
    let shell = match args.shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut visible_only(cli), "showdown", &mut script);
    print(&String::from_utf8(script)?)?;
    Ok(CommandStatus::Success)
}
