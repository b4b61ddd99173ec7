//! `showdown workloads`: list the workloads with their servers and knobs, or create a new one.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use host::Host;
use workload::definition::KnobType;
use workload::scaffold::ScaffoldProtocol;
use workload::{Catalogue, Knob, ServerDefinition, Workload};

use crate::color;
use crate::exit::{CommandStatus, usage};
use crate::print::{print, print_text};
use crate::show::layout::table::table_within;

/// Options of `showdown workloads`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "\
Examples:
  showdown workloads
  showdown workloads cache
  showdown workloads --all
  showdown workloads new my-api",
    args_conflicts_with_subcommands = true
)]
pub struct WorkloadsArgs {
    /// Show this workload with the knobs of its servers: its name, or the path of its folder or of its workload.toml
    pub name: Option<String>,
    /// Show all workloads with the knobs of their servers
    #[arg(long, conflicts_with = "name")]
    pub all: bool,
    #[command(subcommand)]
    pub verb: Option<WorkloadsVerb>,
}

/// Verbs of `showdown workloads`.
#[derive(Subcommand, Debug)]
pub enum WorkloadsVerb {
    /// Create a workload of your own from a commented example that runs unchanged
    #[command(after_help = "\
Examples:
  showdown workloads new my-api
  showdown compare my-api:cache=off my-api:cache=on --quick
  showdown workloads new my-cache --protocol redis
  showdown workloads new my-shop --scenario
  showdown workloads new my-service --companions")]
    New {
        /// Use this name for the workload, its server and its folder
        name: String,
        /// Create the folder in this directory
        #[arg(long, default_value = workload::DIRECTORY)]
        dir: PathBuf,
        /// Use the example of this protocol; `runner` is a program that generates its own load
        #[arg(
            long,
            default_value_t,
            value_parser = PossibleValuesParser::new(ScaffoldProtocol::ALL.map(possible))
                .try_map(|name| name.parse::<ScaffoldProtocol>())
        )]
        protocol: ScaffoldProtocol,
        /// Use the example of users with sessions, who log in to a shop (see docs/SCENARIOS.md)
        #[arg(long, conflicts_with = "protocol")]
        scenario: bool,
        /// Use the example of a service of several processes: a web server, an application, a cache
        #[arg(long, conflicts_with_all = ["protocol", "scenario"])]
        companions: bool,
    },
}

/// A protocol by its name. A workload's file and a URL have the other one.
fn possible(protocol: ScaffoldProtocol) -> PossibleValue {
    let value = PossibleValue::new(protocol.name());
    match protocol.name() {
        "memcached" => value.alias("memcache"),
        _ => value,
    }
}

/// Runs the verb.
pub fn run(args: &WorkloadsArgs) -> anyhow::Result<CommandStatus> {
    match &args.verb {
        Some(WorkloadsVerb::New { name, dir, protocol, scenario, companions }) => {
            let (path, [first, second]) = if *scenario {
                workload::scaffold::create_scenario(dir, name).map_err(usage)?
            } else if *companions {
                workload::scaffold::create_with_companions(dir, name).map_err(usage)?
            } else {
                let path = workload::scaffold::create(dir, name, *protocol).map_err(usage)?;
                (path, protocol.example_variants(name))
            };
            // Elsewhere, a comparison does not find the workload by its servers.
            let elsewhere = (*dir != Path::new(workload::DIRECTORY))
                .then(|| format!(" -w {}", shell_words::quote(&path.display().to_string())));
            let command = format!("showdown compare {first} {second}{}", elsewhere.unwrap_or_default());
            let mut out = format!("{}\n\nedit it, then for example:\n  {command} --quick\n", path.display());
            // A scenario's users wait, and a runner makes its own load: their comparisons have another measure.
            let found = Catalogue::with(dir).find(&path.display().to_string()).map_err(usage)?;
            if !scenario && let Some(slo) = found.slo() {
                let _ = writeln!(
                    out,
                    "      in one to six minutes: throughput, which does not use the objective\n  {command}\n      \
                     in some minutes: the capacity at the objective of the file, {slo}"
                );
            }
            print(&out)?;
        }
        None => match &args.name {
            Some(name) => print_text(&describe(&Catalogue::default().find(name).map_err(usage)?))?,
            None => print_all(args.all)?,
        },
    }
    Ok(CommandStatus::Success)
}

/// Prints all workloads: a line each, or with all knobs.
fn print_all(with_knobs: bool) -> anyhow::Result<()> {
    let all = Catalogue::default().all().into_iter();
    if with_knobs {
        let described = all.map(|(name, found)| match found {
            Ok(workload) => describe(&workload),
            Err(error) => format!("{}\n  {} {error}\n", color::heading(name), color::bad("refused:")),
        });
        return print_text(&described.collect::<Vec<_>>().join("\n"));
    }
    let mut rows = vec![["workload", "what it is (its servers)"].map(str::to_owned).to_vec()];
    rows.extend(all.map(|(name, found)| match found {
        Ok(Workload { title, servers, .. }) => {
            let servers: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
            vec![name, format!("{title} ({})", servers.join(", "))]
        }
        Err(error) => vec![name, format!("refused: {error}")],
    }));
    let table = table_within(&rows, None);
    print_text(&format!("{table}\nshowdown workloads NAME shows the knobs of a workload's servers\n"))
}

fn describe(workload: &Workload) -> String {
    let mut out = format!("{}: {}\n", color::heading(&workload.name), workload.title);
    if let Some(slo) = workload.slo() {
        let _ = writeln!(out, "  objective   {slo}");
    }
    let _ = writeln!(out, "  operations  {}", workload.load.names.join(", "));
    for server in &workload.servers {
        out.push_str(&describe_server(server));
    }
    out
}

fn describe_server(server: &ServerDefinition) -> String {
    let missing = server.missing(&Host::local());
    let state = if missing.is_empty() {
        String::new()
    } else {
        let missing = missing.iter().map(|dependency| match dependency.packages.values().next() {
            Some(package) => format!("package {package}"),
            None => dependency.name.clone(),
        });
        format!(" (not installed: {})", missing.collect::<Vec<_>>().join(", "))
    };
    let mut out = format!("  {}{state}\n", server.name);
    if !server.accounts().is_empty() {
        let _ = writeln!(out, "    parts: {}", server.accounts().join(", "));
    }
    let width = server.knobs.iter().map(|knob| knob.name.len()).max().unwrap_or(0);
    for knob in &server.knobs {
        let Knob { name, about, knob_type, default, .. } = knob;
        let default = host::secrets::mask_text(default);
        let _ = writeln!(out, "    {name:<width$}  {about} [{}, default {default}]", values(knob_type));
    }
    out
}

/// The values that a knob accepts.
fn values(knob_type: &KnobType) -> String {
    match knob_type {
        KnobType::Switch => "on or off".to_owned(),
        KnobType::Integer { from, to } => format!("{from}..{to}"),
        KnobType::Number { from, to } => format!("{from}..{to}"),
        KnobType::Choice(words) => words.join(", "),
        KnobType::Text(rule) => rule.accepted(),
    }
}
