//! `showdown selftest`: is the instrument true on this host?

use std::io::IsTerminal;
use std::time::Duration;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use truth::instrument::{CheckError, Instrument};
use truth::selftest::{self, Fitness, Part};

use super::options::Format;
use crate::exit::Ending;
use crate::interrupt;
use crate::print::print;
use crate::show;

/// Options of `showdown selftest`.
#[derive(clap::Args, Debug)]
#[command(after_long_help = "\
Starts servers of known behaviour, loads them, and shows what is known beside what was measured. Takes under a \
minute. Nothing else should run on this host meanwhile.

Exit codes: 0 fit, or fit with limits; 3 unfit; 2 usage, 1 failure, 130 interrupted.")]
pub struct Args {
    /// Only these parts
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PART")]
    pub only: Vec<Part>,

    /// How the answer is printed
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,

    /// Everything drawn at random follows from this
    #[arg(long, default_value = "1")]
    pub seed: u64,
}

/// Runs the verb.
pub fn run(args: &Args) -> anyhow::Result<Ending> {
    let context = interrupt::context()?;
    let directory =
        tempfile::Builder::new().prefix("showdown-selftest-").tempdir().context("a temporary directory")?;
    let parts = if args.only.is_empty() { Part::ALL.to_vec() } else { args.only.clone() };
    let bar = progress(parts.len() as u64);
    let report = Instrument::new(&context, directory.path(), args.seed).and_then(|instrument| {
        selftest::run(&instrument, &parts, &mut |part| {
            bar.set_message(part.doing());
            bar.inc(1);
        })
    });
    bar.finish_and_clear();
    let report = match report {
        Err(CheckError::Interrupted) => return Ok(Ending::Interrupted),
        report => report?,
    };
    match args.format {
        Format::Json => print(&(serde_json::to_string(&report)? + "\n"))?,
        Format::Text => print(&show::selftest::report(&report))?,
    }
    Ok(match report.fitness {
        Fitness::Fit | Fitness::FitWithLimits => Ending::Success,
        Fitness::Unfit => Ending::Invalid,
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
