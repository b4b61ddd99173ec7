//! The command line: parses, calls, prints. One file a verb under `verbs`; how things look is in `show`.

mod exit;
mod interrupt;
mod print;
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
    /// Compare servers, or settings of one: which carries more, and how sure is that
    Compare(Box<verbs::bakeoff::CompareArgs>),
    /// Measure along axes: a knob, connections, or rate
    Sweep(Box<verbs::bakeoff::SweepArgs>),
    /// Hold the trials of a plan that was written down
    Run(verbs::bakeoff::PlanFileArgs),
    /// Print the plan of a comparison or sweep
    #[command(subcommand)]
    Plan(Box<verbs::bakeoff::PlanVerb>),
    /// Load a server that is already running, and measure it
    Load(Box<verbs::load::Args>),
    /// What can be compared: workloads, servers, knobs; or begin one of your own
    Workloads(verbs::workloads::Args),
    /// Is this host fit to measure, and what would make it fitter
    Doctor(verbs::doctor::Args),
    /// Is the instrument true on this host: the engine against servers of known behaviour
    Selftest(verbs::selftest::Args),
    /// The runs that were held
    List(verbs::archive::ListArgs),
    /// One run, on the terminal
    Show(verbs::archive::ShowArgs),
    /// One run as a page, Markdown, CSV or JSON
    Report(verbs::archive::ReportArgs),
    /// Put a run into one file
    Export(verbs::archive::ExportArgs),
    /// Take a run from a file
    Import(verbs::archive::ImportArgs),
    /// Remove runs for good
    Rm(verbs::archive::RemoveArgs),
    /// Care for the runs' index
    #[command(subcommand)]
    Archive(verbs::archive::ArchiveVerb),
    /// A part of a load, in a process of its own; started by showdown itself
    #[command(name = "__load-process", hide = true)]
    LoadProcess,
    /// A program that makes its load itself; started by workloads such as kv, see docs/BYOD.md
    #[command(subcommand, hide = true)]
    Runner(runners::Runner),
    /// A server whose behaviour is known, HTTP and memcached on one port; see docs/METHODOLOGY.md
    #[command(name = "__known-server", hide = true)]
    KnownServer(Box<truth::known::behaviour::Behaviour>),
}

fn main() -> ExitCode {
    // The keeper of a server is this program under a hidden verb; it must not parse, draw or catch signals.
    if let Some(code) = host::keeper_main(std::env::args_os()) {
        return code;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::code_of_parsing(&error),
    };
    let result = match cli.verb {
        Verb::Compare(args) => verbs::bakeoff::compare(&args),
        Verb::Sweep(args) => verbs::bakeoff::sweep(&args),
        Verb::Run(args) => verbs::bakeoff::run(&args),
        Verb::Plan(verb) => verbs::bakeoff::plan(&verb),
        Verb::Load(args) => verbs::load::run(&args),
        Verb::Workloads(args) => verbs::workloads::run(&args),
        Verb::Doctor(args) => verbs::doctor::run(&args),
        Verb::Selftest(args) => verbs::selftest::run(&args),
        Verb::List(args) => verbs::archive::list(&args),
        Verb::Show(args) => verbs::archive::show(&args),
        Verb::Report(args) => verbs::archive::report(&args),
        Verb::Export(args) => verbs::archive::export(&args),
        Verb::Import(args) => verbs::archive::import(&args),
        Verb::Rm(args) => verbs::archive::remove(&args),
        Verb::Archive(verb) => verbs::archive::archive(&verb),
        Verb::LoadProcess => verbs::load::process(),
        Verb::Runner(runner) => verbs::runner::run(&runner),
        Verb::KnownServer(behaviour) => verbs::known_server::run(&behaviour),
    };
    exit::code_of(result)
}
