//! `showdown hosts`: check that the hosts of a hosts file can be used, and measure the network between them.

use std::path::PathBuf;
use std::time::Duration;

use load::inputs::units::parse_duration_or_zero;
use machine::survey::{self, SurveyOptions};
use machine::{AgentAccess, Hosts, MachineError};

use crate::args::options::AnswerFormat;
use crate::exit::{CommandStatus, print_failure, usage};
use crate::interrupt;
use crate::show;
use crate::show::progress::hosts_progress::HostsProgress;

/// Options of `showdown hosts`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "\
Examples:
  showdown hosts
  showdown hosts --hosts lab.toml --format json",
    after_long_help = "\
A hosts file has a table for each host:

  [host.old]
  ssh     = \"ops@old.example\"   user@host, or a Host of ~/.ssh/config; no options; without it, this machine
  address = \"10.1.0.5\"          a private address: its servers listen there, and its clients send from it
  kind    = \"T2000\"             what kind of machine it is; optional
  cpus    = \"2-31\"              the CPUs to use; optional, default: all
  become  = \"sudo -n\"           runs its agent as root; optional

Each host is reached with the system's ssh: your configuration, keys, agent, jump hosts and known hosts count. \
The first time, this program is copied to ~/.cache/showdown on the host. No daemon is left there.

Between each two hosts it opens a port for a few seconds, on the address of the hosts file, and measures round trips \
and the throughput of one stream and of eight, in both directions.

Examples:
  showdown hosts
  showdown hosts --hosts lab.toml --format json
  showdown hosts --for 0  without the network between them
  showdown hosts --program aarch64=showdown-aarch64

Exit codes: 0 all hosts can be used; 1 a host cannot; 2 usage error, 130 interrupted."
)]
pub struct HostsArgs {
    /// Read the hosts from this file; without it, from hosts.toml of the working directory if that is yours
    #[arg(long, value_name = "FILE")]
    pub hosts: Option<PathBuf>,

    /// Measure each throughput between hosts for this long; 0 leaves the network out
    #[arg(long = "for", value_parser = parse_duration_or_zero, value_name = "TIME", default_value = "1s")]
    pub each: Duration,

    /// Use this build on hosts of this architecture, such as aarch64=showdown-aarch64
    #[arg(long, value_name = "ARCHITECTURE=PATH")]
    pub program: Vec<String>,

    /// Print the answer as text or as JSON
    #[arg(long, value_enum, default_value = "text")]
    pub format: AnswerFormat,
}

/// Runs the verb.
pub fn run(args: &HostsArgs) -> anyhow::Result<CommandStatus> {
    let hosts = Hosts::read(args.hosts.as_deref()).map_err(usage)?;
    let interrupted = interrupt::flag()?;
    let reach = AgentAccess::to(&hosts.0, &args.program).map_err(usage)?;
    let options = SurveyOptions { reach, network: (!args.each.is_zero()).then_some(args.each) };
    let progress = HostsProgress::start();
    let report = survey::survey(&hosts, &options, &interrupted, &|event| progress.observe(event));
    progress.finish();
    let report = match report {
        Err(MachineError::Interrupted) => return Ok(CommandStatus::Interrupted),
        report => report?,
    };
    args.format.print(&report, || show::hosts::report(&report))?;
    let mut status = CommandStatus::Success;
    for problem in report.problems() {
        print_failure(problem);
        status = CommandStatus::Failed;
    }
    Ok(status)
}
