//! `showdown workloads`: what can be compared; and the beginning of a workload of one's own.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Subcommand;
use workload::definition::KnobType;
use workload::{Catalogue, Knob, ServerDefinition, Workload};

use crate::exit::{Ending, usage};
use crate::print::print;

/// Options of `showdown workloads`.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

/// Verbs of `showdown workloads`.
#[derive(Subcommand, Debug)]
pub enum Verb {
    /// Write a commented example that runs as it stands, to begin a workload of your own
    New {
        /// Its name, also of the folder that is made
        name: String,
        /// Where to put it
        #[arg(long, default_value = workload::DIRECTORY)]
        dir: PathBuf,
    },
}

/// Runs the verb.
pub fn run(args: &Args) -> anyhow::Result<Ending> {
    match &args.verb {
        Some(Verb::New { name, dir }) => {
            let made = workload::scaffold::create(dir, name).map_err(usage)?;
            print(&format!(
                "{made}\n\nedit it, then for example:\n  showdown compare {name}:cache=off {name}:cache=on --quick\n",
                made = made.display()
            ))?;
        }
        None => {
            let texts: Vec<String> = Catalogue::default()
                .all()
                .into_iter()
                .map(|(name, found)| match found {
                    Ok(workload) => describe(&workload),
                    Err(error) => format!("{name}\n  refused: {error}\n"),
                })
                .collect();
            print(&texts.join("\n"))?;
        }
    }
    Ok(Ending::Success)
}

fn describe(workload: &Workload) -> String {
    let mut out = format!("{}: {}\n", workload.name, workload.title);
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
    let state = match (server.is_installed(), server.packages.values().next()) {
        (true, _) => String::new(),
        (false, Some(package)) => format!(" (not installed: package {package})"),
        (false, None) => " (not installed)".to_owned(),
    };
    let mut out = format!("  {}{state}\n", server.name);
    let width = server.knobs.iter().map(|knob| knob.name.len()).max().unwrap_or(0);
    for knob in &server.knobs {
        let Knob { name, about, kind, default, .. } = knob;
        let _ = writeln!(out, "    {name:<width$}  {about} [{}, default {default}]", values(kind));
    }
    out
}

/// Which values a knob takes.
fn values(kind: &KnobType) -> String {
    match kind {
        KnobType::Switch => "on or off".to_owned(),
        KnobType::Integer { from, to } => format!("{from}..{to}"),
        KnobType::Number { from, to } => format!("{from}..{to}"),
        KnobType::Choice(words) => words.join(", "),
        KnobType::Text => "text".to_owned(),
    }
}
