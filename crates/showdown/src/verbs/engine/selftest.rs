//! `showdown selftest`: check the load engine on this host against servers of known behaviour.

use std::io::IsTerminal;
use std::time::Duration;

use anyhow::Context;
use host::scratch::ScratchDirectory;
use indicatif::{ProgressBar, ProgressStyle};
use truth::instrument::{CheckError, Instrument};
use truth::selftest::{self, Fitness, SelftestPart};

use super::selftest_clients;
use crate::args::clients::ClientOptions;
use crate::args::options::AnswerFormat;
use crate::exit::CommandStatus;
use crate::interrupt;
use crate::print::OtherMeasurement;
use crate::show;

/// Options of `showdown selftest`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "\
Examples:
  showdown selftest
  showdown selftest --only counts,freeze --format json
  showdown selftest --clients c1,c2 --hosts hosts.toml",
    after_long_help = "\
Starts servers of known behaviour, loads them, and prints the known values beside the measured ones. It takes less \
than a minute. Run nothing else on this host meanwhile.

Examples:
  showdown selftest
  showdown selftest --only counts,freeze --format json
  showdown selftest --clients c1,c2 --hosts hosts.toml

With --clients, each of these hosts tests itself, all at the same time. Then they load a server of known behaviour on the \
first of them together, and their counts are compared with its own.

Exit codes: 0 fit, or fit with limits; 3 unfit; 2 usage error, 1 failure, 130 interrupted."
)]
pub struct SelftestArgs {
    /// Run only these parts
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PART")]
    pub only: Vec<SelftestPart>,

    /// Print the answer as text or as JSON
    #[arg(long, value_enum, default_value = "text")]
    pub format: AnswerFormat,

    /// Derive all random numbers from this seed
    #[arg(long, default_value = "1")]
    pub seed: u64,

    /// The hosts to test.
    #[command(flatten)]
    pub clients: ClientOptions,

    /// Stop at the end of the standard input
    #[arg(long, hide = true)]
    pub until_eof: bool,
}

/// Runs the verb.
pub fn run(args: &SelftestArgs) -> anyhow::Result<CommandStatus> {
    if let Some(clients) = args.clients.named()? {
        return selftest_clients::run(&clients, &args.only, args.seed, args.format);
    }
    let context = interrupt::context()?;
    if args.until_eof {
        interrupt::at_end_of_input(&context.interrupted);
    }
    let mut other = OtherMeasurement::look();
    let directory = ScratchDirectory::create().context("cannot create a temporary directory")?;
    let parts = if args.only.is_empty() { SelftestPart::ALL.to_vec() } else { args.only.clone() };
    let bar = progress(parts.len() as u64);
    let report = Instrument::new(&context, directory.path(), args.seed).and_then(|instrument| {
        selftest::run(&instrument, &parts, &mut |part| {
            bar.set_message(part.activity());
            bar.inc(1);
        })
    });
    bar.finish_and_clear();
    let mut report = match report {
        Err(CheckError::Interrupted) => return Ok(CommandStatus::Interrupted),
        report => report?,
    };
    other.look_again();
    report.other_measurement = other.holder().map(str::to_owned);
    args.format.print(&report, || show::selftest::report(&report))?;
    Ok(match report.fitness {
        Fitness::Fit | Fitness::FitWithLimits => CommandStatus::Success,
        Fitness::Unfit => CommandStatus::Invalid,
    })
}

fn progress(parts: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(parts);
    let style =
        ProgressStyle::with_template("{spinner} {pos}/{len} {msg} ({elapsed})").expect("a fixed template");
    bar.set_style(style);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
