//! The command line: it parses the arguments and calls one verb. Each verb has a file under `verbs`; `show` lays out
//! what a verb prints.

mod answer;
mod args;
mod color;
mod exit;
mod fail_if;
mod identity;
mod interrupt;
mod live;
mod output_file;
mod print;
mod show;
mod verbs;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// Compare servers under real load and report which is faster, by how much, and how sure that is
#[derive(Parser)]
#[command(name = "showdown", version, disable_help_subcommand = true)]
#[command(after_help = "\
Examples:
  showdown doctor                             check this host first
  showdown compare nginx apache --quick       compare two web servers in one to six minutes
  showdown load http://127.0.0.1:8080/ -r 5k  load a server that is already running
  showdown compare --help                     print the options of a verb, with examples")]
struct Cli {
    #[command(subcommand)]
    verb: Verb,

    // `color::requested` reads it before the parsing, so that help and errors follow it.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = true)]
    #[arg(
        help = "Color the output: auto, always or never; auto follows the terminal and the variable NO_COLOR"
    )]
    color: clap::ColorChoice,
}

#[derive(Subcommand)]
enum Verb {
    /// Compare servers under real load and report which is faster, by how much, and how sure that is
    Compare(Box<verbs::runs::bakeoff::CompareArgs>),
    /// Measure servers over a range of a knob, of connections, or of the offered rate
    Sweep(Box<verbs::runs::bakeoff::SweepArgs>),
    /// Find out what limits a server and where its CPU time goes, or what costs one server more than another
    Explain(Box<verbs::runs::explain::ExplainArgs>),
    /// Try tunings on a server, and keep what fresh trials confirm
    Tune(Box<verbs::runs::tune::TuneArgs>),
    /// List the tunings of servers and the kernel: what each sets, when it applies, its risk and its source
    Tunings(verbs::catalogues::tunings::TuningsArgs),
    /// Restore the kernel settings that a killed run has left
    Undo(verbs::machines::undo::UndoArgs),
    /// List what Showdown has left on this machine, or remove it
    Clean(verbs::machines::clean::CleanArgs),
    /// Find how many downloads a server has in progress at once before it breaks, and how long it takes to recover
    Concurrency(Box<verbs::runs::concurrency::ConcurrencyArgs>),
    /// Shift live traffic behind a load balancer to a candidate, step by step, and back at the first breach
    Shift(verbs::runs::shift::ShiftArgs),
    /// Run a saved plan
    Run(verbs::runs::bakeoff::PlanFileArgs),
    /// Measure the plan of a run again in another session, and combine both answers
    Confirm(verbs::runs::confirm::ConfirmArgs),
    /// Go on with a run that was interrupted or killed
    Resume(verbs::runs::resume::ResumeArgs),
    /// Print the plan of a comparison, a sweep, an explanation or a run of transfers, without running it
    #[command(subcommand)]
    Plan(Box<verbs::runs::bakeoff::PlanVerb>),
    /// Load a server that is already running, and measure its throughput and response time
    Load(Box<verbs::engine::load::LoadArgs>),
    /// List the workloads with their servers and knobs, or create one of your own
    Workloads(verbs::catalogues::workloads::WorkloadsArgs),
    /// Check whether this host is fit for benchmarking, and how to improve it
    Doctor(verbs::machines::doctor::DoctorArgs),
    /// Print the facts of this host, or what has changed on it since a run
    Facts(verbs::machines::facts::FactsArgs),
    /// Measure the power of this host: what has a meter, its watts, and why the rest has none
    Power(verbs::machines::power::PowerArgs),
    /// Check that the hosts of a hosts file can be used, and measure the network between them
    Hosts(verbs::machines::hosts::HostsArgs),
    /// Check the load engine on this host against servers of known behaviour
    Selftest(verbs::engine::selftest::SelftestArgs),
    /// List runs
    List(verbs::results::archive::ListArgs),
    /// Show one run on the terminal
    Show(verbs::results::archive::ShowArgs),
    /// Write one run as an HTML page, Markdown, CSV or JSON
    Report(verbs::results::archive::ReportArgs),
    /// Show what the variants of runs cost: energy, money, space and carbon
    Cost(verbs::results::cost::CostArgs),
    /// Find the number of servers that carry a load, and how many of one kind replace another
    Size(verbs::results::size::SizeArgs),
    /// List published evaluations of servers, and what their figures amount to
    Published(verbs::results::published::PublishedArgs),
    /// Pack a run into one file
    Export(verbs::results::archive::ExportArgs),
    /// Start the queue of runs and its pages in a browser, on this machine
    Serve(queue::arguments::ServeArgs),
    /// Take runs from a queue and run them on this machine
    Controller(queue::arguments::ControllerArgs),
    /// Add and change the accounts of a team's queue
    Account(queue::arguments::AccountArgs),
    /// Put a run into the queue
    Submit(verbs::harness::submit::SubmitArgs),
    /// List the queue: why each run waits, and about how long
    Queue(verbs::harness::orders::QueueArgs),
    /// Show the progress of a queued run until its end
    Watch(verbs::harness::watch::WatchArgs),
    /// Stop a queued run
    Kill(verbs::harness::orders::KillArgs),
    /// Download a run from the archive of a queue
    Pull(verbs::harness::orders::PullArgs),
    /// Unpack a run from a file
    Import(verbs::results::archive::ImportArgs),
    /// Remove runs for good
    Rm(verbs::results::archive::RemoveArgs),
    /// Maintain the index of the runs
    #[command(subcommand)]
    Archive(verbs::results::archive::ArchiveVerb),
    /// Offer this program to an assistant: a server of the Model Context Protocol on standard input and output
    Mcp(verbs::shell::mcp::McpArgs),
    /// Print the completions of a shell
    Completions(verbs::shell::completions::CompletionsArgs),
    /// Print the manual page, or write one for each verb
    Man(verbs::shell::man::ManArgs),
    /// Generate a part of a load in a process of its own; showdown starts it itself
    #[command(name = load::processes::VERB, hide = true)]
    LoadProcess,
    /// Do on this host what the showdown of another host asks; showdown starts it itself, see docs/decisions/0012-machines-behind-ssh.md
    #[command(hide = true)]
    Agent(verbs::machines::agent::AgentArgs),
    /// Run a program that generates its own load; workloads such as kv start it, see docs/BYOD.md
    #[command(subcommand, hide = true)]
    Runner(runners::Runner),
    /// Serve HTTP and memcached on one port with a known behaviour, see docs/METHODOLOGY.md
    #[command(name = "__known-server", hide = true)]
    KnownServer(Box<verbs::engine::known_server::KnownServerArgs>),
}

fn main() -> ExitCode {
    // The supervisor of a server is this program under a hidden verb. It must not parse, draw or catch signals.
    if let Some(code) = host::supervisor_main(std::env::args_os()) {
        return code;
    }
    // So is the process of a lease on a balancer.
    if let Some(code) = traffic::lease::lease_main(std::env::args_os()) {
        return code;
    }
    color::apply(color::requested(std::env::args_os()));
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::code_of_parsing(&error),
    };
    let result = match cli.verb {
        Verb::Compare(args) => verbs::runs::bakeoff::compare(&args),
        Verb::Sweep(args) => verbs::runs::bakeoff::sweep(&args),
        Verb::Explain(args) => verbs::runs::explain::run(&args),
        Verb::Tune(args) => verbs::runs::tune::run(&args),
        Verb::Tunings(args) => verbs::catalogues::tunings::run(&args),
        Verb::Undo(args) => verbs::machines::undo::run(&args),
        Verb::Clean(args) => verbs::machines::clean::run(&args),
        Verb::Concurrency(args) => verbs::runs::concurrency::run(&args),
        Verb::Shift(args) => verbs::runs::shift::run(&args),
        Verb::Run(args) => verbs::runs::bakeoff::run(&args),
        Verb::Confirm(args) => verbs::runs::confirm::run(&args),
        Verb::Resume(args) => verbs::runs::resume::run(&args),
        Verb::Plan(verb) => verbs::runs::bakeoff::plan(&verb),
        Verb::Load(args) => verbs::engine::load::run(&args),
        Verb::Workloads(args) => verbs::catalogues::workloads::run(&args),
        Verb::Doctor(args) => verbs::machines::doctor::run(&args),
        Verb::Facts(args) => verbs::machines::facts::run(&args),
        Verb::Power(args) => verbs::machines::power::run(&args),
        Verb::Hosts(args) => verbs::machines::hosts::run(&args),
        Verb::Selftest(args) => verbs::engine::selftest::run(&args),
        Verb::List(args) => verbs::results::archive::list(&args),
        Verb::Show(args) => verbs::results::archive::show(&args),
        Verb::Report(args) => verbs::results::archive::report(&args),
        Verb::Cost(args) => verbs::results::cost::run(&args),
        Verb::Size(args) => verbs::results::size::run(&args),
        Verb::Published(args) => verbs::results::published::run(&args),
        Verb::Export(args) => verbs::results::archive::export(&args),
        Verb::Serve(_) => verbs::harness::become_program("serve"),
        Verb::Controller(_) => verbs::harness::become_program("controller"),
        Verb::Account(_) => verbs::harness::become_program("account"),
        Verb::Submit(args) => verbs::harness::submit::run(&args),
        Verb::Queue(args) => verbs::harness::orders::queue(&args),
        Verb::Watch(args) => verbs::harness::watch::run(&args),
        Verb::Kill(args) => verbs::harness::orders::kill(&args),
        Verb::Pull(args) => verbs::harness::orders::pull(&args),
        Verb::Import(args) => verbs::results::archive::import(&args),
        Verb::Rm(args) => verbs::results::archive::remove(&args),
        Verb::Archive(verb) => verbs::results::archive::archive(&verb),
        Verb::Mcp(args) => verbs::shell::mcp::run(&args),
        Verb::Completions(args) => verbs::shell::completions::run(&args, &Cli::command()),
        Verb::Man(args) => verbs::shell::man::run(&args, &Cli::command()),
        Verb::LoadProcess => verbs::engine::load::process(),
        Verb::Agent(args) => verbs::machines::agent::run(&args),
        Verb::Runner(runner) => verbs::engine::runner::run(&runner),
        Verb::KnownServer(args) => verbs::engine::known_server::run(&args),
    };
    exit::code_of(verbs::results::shifts::name_shift(result))
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::*;

    /// The verbs that help texts begin with.
    const IMPERATIVES: &[&str] = &[
        "Accept", "Add", "Allow", "Ask", "Begin", "Build", "Change", "Check", "Choose", "Close", "Color",
        "Compare", "Connect", "Create", "Derive", "Do", "Download", "Explain", "Fail", "Find", "Give", "Go",
        "Keep", "List", "Listen", "Load", "Maintain", "Make", "Mark", "Measure", "Offer", "Open", "Pack",
        "Pause", "Print", "Put", "Query", "Read", "Rebuild", "Remove", "Replace", "Restore", "Run", "Save",
        "Search", "Send", "Set", "Shift", "Show", "Spread", "Start", "Stop", "Store", "Take", "Trust", "Try",
        "Tune", "Unpack", "Use", "Vary", "Wait", "Write",
    ];

    /// This command and all below it that a user sees, each with its full name.
    fn visible(command: &Command, name: &str) -> Vec<(String, Command)> {
        let below = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let below = below.flat_map(|verb| visible(verb, &format!("{name} {}", verb.get_name())));
        std::iter::once((name.to_owned(), command.clone())).chain(below).collect()
    }

    fn assert_imperative(owner: &str, help: Option<&clap::builder::StyledStr>) {
        let help = help.map(ToString::to_string).unwrap_or_default();
        let first = help.split_whitespace().next().unwrap_or_default();
        assert!(IMPERATIVES.contains(&first), "{owner}: the help does not begin with a verb: {help:?}");
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_help_text_begins_with_a_verb() {
        let mut cli = Cli::command();
        cli.build();
        for (name, command) in visible(&cli, "showdown") {
            assert_imperative(&name, command.get_about());
            let own =
                command.get_arguments().filter(|arg| !["help", "version"].contains(&arg.get_id().as_str()));
            for arg in own {
                assert_imperative(&format!("{name} {}", arg.get_id()), arg.get_help());
            }
        }
    }

    #[test]
    fn a_verb_with_fail_if_lists_its_exit_code() {
        for (name, command) in visible(&Cli::command(), "showdown") {
            // `plan` writes the condition down, and judges nothing.
            let judges = !name.starts_with("showdown plan ");
            if judges && command.get_arguments().any(|arg| arg.get_id().as_str() == "fail_if") {
                let help = command.get_after_long_help().or(command.get_after_help());
                let help = help.map(ToString::to_string).unwrap_or_default();
                assert!(help.contains("4 as --fail-if says"), "{name}");
            }
        }
    }

    #[test]
    fn remedies_name_options_that_exist() {
        let mut options = std::collections::BTreeSet::new();
        for (_, command) in visible(&Cli::command(), "showdown") {
            options.extend(command.get_arguments().filter_map(|arg| arg.get_long().map(str::to_owned)));
        }
        let rules = concat!(env!("CARGO_MANIFEST_DIR"), "/../explain/rules");
        for entry in std::fs::read_dir(rules).expect("the rules") {
            let path = entry.expect("a rule").path();
            let text = std::fs::read_to_string(&path).expect("a rule");
            for option in text.split("--").skip(1) {
                let end = option.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(option.len());
                assert!(options.contains(&option[..end]), "{}: --{}", path.display(), &option[..end]);
            }
        }
    }

    #[test]
    fn a_run_is_named_in_one_way() {
        let mut count = 0;
        for (name, command) in visible(&Cli::command(), "showdown") {
            for argument in command.get_arguments() {
                let of_run = argument.get_value_names().unwrap_or_default();
                let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
                // The archive of another machine, and what cannot be undone, take less.
                let is_special = ["showdown pull", "showdown rm"].contains(&name.as_str());
                if is_special || !of_run.iter().any(|value| value == "RUN" || value == "VARIANT|RUN") {
                    continue;
                }
                let way = "its id, a part of its id that no other run has, its directory, or `latest`";
                assert!(help.contains(way), "{name}: {help}");
                count += 1;
            }
        }
        assert!(count >= 9, "{count} verbs take a run");
    }

    #[test]
    fn every_verb_has_an_example() {
        for (name, command) in visible(&Cli::command(), "showdown") {
            let help = command.get_after_help().or(command.get_after_long_help());
            let help = help.map(ToString::to_string).unwrap_or_default();
            assert!(help.contains(&format!("\n  {name}")), "{name} has no example that begins with its name");
            for line in help.lines().filter(|line| line.trim_start().starts_with("showdown ")) {
                let words = shell_words(line);
                let parsed = Cli::try_parse_from(&words);
                let is_help = words.iter().any(|word| word == "--help");
                assert!(is_help || parsed.is_ok(), "{name}: {line}: {:?}", parsed.err());
            }
        }
    }

    /// The commands of a page: lines of its shell examples, continued ones as one.
    fn commands(page: &str) -> Vec<String> {
        let mut commands = Vec::new();
        let mut is_shell = false;
        let mut begun = String::new();
        for line in page.lines() {
            if line.trim_start().starts_with("```") {
                is_shell = line.trim_start() == "```sh";
                continue;
            }
            let continued = line.strip_suffix('\\');
            begun.push_str(continued.unwrap_or(line));
            if continued.is_some() {
                continue;
            }
            if is_shell && begun.starts_with("showdown ") {
                commands.push(begun.clone());
            }
            begun.clear();
        }
        commands
    }

    #[test]
    fn every_command_of_the_documents_is_one() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut pages = vec![root.join("README.md")];
        for folder in ["docs", "docs/recipes"] {
            let entries = std::fs::read_dir(root.join(folder)).expect("a folder").flatten();
            pages.extend(entries.map(|entry| entry.path()));
        }
        pages.retain(|page| page.extension().is_some_and(|ending| ending == "md"));
        let mut count = 0;
        for page in pages {
            for command in commands(&std::fs::read_to_string(&page).expect("a page")) {
                let parsed = Cli::try_parse_from(shell_words(&command));
                let is_help = command.contains("--help");
                assert!(is_help || parsed.is_ok(), "{}: {command}: {:?}", page.display(), parsed.err());
                count += 1;
            }
        }
        assert!(count > 50, "{count} commands were found");
    }

    /// The words of an example: quotes group, two blanks end it, and what follows explains it.
    fn shell_words(line: &str) -> Vec<String> {
        let line = line.trim_start();
        let line = line.split("  ").next().unwrap_or(line);
        let line = line.split(" | ").next().unwrap_or(line);
        let line = line.split(" > ").next().unwrap_or(line);
        ::shell_words::split(line).expect("the quotes of an example are closed")
    }
}
