//! The command line: parses, calls, prints. One file a verb under `verbs`; how things look is in `show`.

mod exit;
mod interrupt;
mod show;
mod verbs;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Puts servers in the ring with real workloads and gives a verdict that can be defended.
#[derive(Parser)]
#[command(name = "showdown", version, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Load a server that is already running, and measure it
    Load(Box<verbs::load::Args>),
    /// A part of a load, in a process of its own; started by showdown itself
    #[command(name = "__load-process", hide = true)]
    LoadProcess,
}

fn main() -> ExitCode {
    let result = match Cli::parse().verb {
        Verb::Load(args) => verbs::load::run(*args),
        Verb::LoadProcess => verbs::load::process(),
    };
    exit::code_of(result)
}
