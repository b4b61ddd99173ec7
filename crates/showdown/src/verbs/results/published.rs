//! `showdown published`: published evaluations as data, and what can be computed from them.

use std::path::PathBuf;

use clap::ValueEnum;
use cost::published::{self, Published, page};

use crate::exit::{CommandStatus, usage};
use crate::output_file;
use crate::print::{print, print_json, print_text};
use crate::show;

/// The form of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PublishedFormat {
    /// For people
    Text,
    /// One object, see docs/FORMATS.md
    Json,
    /// The page docs/results/cost.md
    Md,
}

/// Options of `showdown published`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown published
  showdown published --workload static-web
  showdown published --format md -o cost.md")]
pub struct PublishedArgs {
    /// List only figures of this kind of work, such as static-web, cache, mail or power
    #[arg(long)]
    pub workload: Option<String>,
    /// Print the answer as text, JSON or Markdown
    #[arg(long, value_enum, default_value = "text")]
    pub format: PublishedFormat,
    /// Write to this file, or to standard output with `-`
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Runs the verb.
pub fn run(args: &PublishedArgs) -> anyhow::Result<CommandStatus> {
    let published = Published::shipped();
    if let Some(workload) = &args.workload {
        let known = published.workloads();
        if !known.contains(&workload.as_str()) {
            let known = known.join(", ");
            return Err(usage(format!(
                "no figure is published of {workload:?}: there are figures of {known}"
            )));
        }
        if args.format == PublishedFormat::Md {
            return Err(usage("--workload does not go with --format md: the page has all figures"));
        }
    }
    let report = published::report(&published, args.workload.as_deref());
    let json = || anyhow::Ok(serde_json::to_string(&report)? + "\n");
    match (&args.output, args.format) {
        (None, PublishedFormat::Text) => print_text(&show::costs::published::text(&report))?,
        (None, PublishedFormat::Json) => print_json(&json()?)?,
        (None, PublishedFormat::Md) => print(&page(&published))?,
        (Some(path), format) => {
            let text = match format {
                PublishedFormat::Text => {
                    anstream::adapter::strip_str(&show::costs::published::text(&report)).to_string()
                }
                PublishedFormat::Json => json()?,
                PublishedFormat::Md => page(&published),
            };
            output_file::write("-o", path, text.as_bytes())?;
        }
    }
    Ok(CommandStatus::Success)
}
