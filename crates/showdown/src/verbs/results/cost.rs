//! `showdown cost`: what the variants of runs cost.

use std::path::{Path, PathBuf};

use archive::Run;
use cost::Targets;
use cost::pricing::CostReport;
use runs::{Prices, PricesError};

use crate::args::options::{AnswerFormat, WhichRuns};
use crate::exit::{CommandStatus, usage};
use crate::show;

/// Options of `showdown cost`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "\
Examples:
  showdown cost
  showdown cost 20261121T0051 --targets lab.toml
  showdown cost 0051-nginx 0630-h2o --format json",
    after_long_help = "\
A file of targets describes machines, each quantity with its unit (docs/COST.md has all keys):

  currency      = \"EUR\"
  pue           = 1.54
  price_per_kwh = \"0.24 EUR/kWh\"
  life          = \"4 years\"

  [target.small]
  variants   = [\"nginx\"]       the variants that ran on it; not needed for a single target
  price      = \"3446 EUR\"      or rate = \"0.40 EUR/hour\"
  rack_units = 1
  load       = \"208 W\"         or \"1.6 A x 240 V x 0.95\"; with boundary = \"wall\", \"dc\" or \"package\"
  nameplate  = \"275 W\"         instead of load
  meter      = \"rack\"          a [power.rack] of the file, which runs with --cost measure with

Watts of a meter beside the load take the place of those of the file. Other watts are called an estimate.

Examples:
  showdown cost
  showdown cost 20261121T0051 --targets lab.toml
  showdown cost 0051-nginx 0630-h2o --format json"
)]
pub struct CostArgs {
    #[command(flatten)]
    pub which: WhichRuns,
    /// Read prices, watts and rack units of the machines from this file
    #[arg(long, value_name = "FILE", default_value = "targets.toml")]
    pub targets: PathBuf,
    /// Print the answer as text or as JSON
    #[arg(long, value_enum, default_value = "text")]
    pub format: AnswerFormat,
}

/// Runs the verb.
pub fn run(args: &CostArgs) -> anyhow::Result<CommandStatus> {
    let report = costs(&args.which.open()?, &args.targets)?;
    args.format.print(&report, || show::costs::cost::text(&report))?;
    Ok(CommandStatus::Success)
}

/// What runs cost by a file of targets.
pub fn costs(runs: &[Run], targets: &Path) -> anyhow::Result<CostReport> {
    let prices = Prices { file: targets.to_owned(), targets: Targets::read(targets).map_err(usage)? };
    prices.costs(runs).map_err(|error| match error {
        PricesError::Targets { .. } => usage(error),
        PricesError::Run(error) => error.into(),
    })
}
