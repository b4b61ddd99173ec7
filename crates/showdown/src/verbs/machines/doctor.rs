//! `showdown doctor`: check whether this host is fit for benchmarking, and how to improve it.

use std::fmt::Write;
use std::time::Duration;

use anyhow::Context;
use bakeoff::event::Event;
use host::Host;
use host::doctor::{HostFinding, Severity, examine};
use runs::{PRECISION_BLOCKS, PrecisionNow};
use serde::Serialize;

use crate::answer::execute::why_not;
use crate::args::options::{AnswerFormat, ProgressOption};
use crate::color;
use crate::exit::CommandStatus;
use crate::interrupt;
use crate::show;
use crate::show::layout::units::plural;
use crate::show::progress::bar;

/// How long the host is sampled.
const SAMPLED: Duration = Duration::from_secs(1);

/// What this host can still be asked, without `--precision`.
const PRECISION: &str = "\n`showdown doctor --precision` measures how precise a comparison is on this host now, in half a minute.\n";

/// Options of `showdown doctor`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown doctor
  showdown doctor --precision
  showdown doctor --format json")]
pub struct DoctorArgs {
    /// Compare a server with itself for half a minute, and say how precise a comparison is on this host now
    #[arg(long)]
    pub precision: bool,

    /// Measure it in this many blocks
    #[arg(long, hide = true, default_value_t = PRECISION_BLOCKS)]
    pub blocks: u32,

    /// Print the answer as text or as JSON
    #[arg(long, value_enum, default_value = "text")]
    pub format: AnswerFormat,

    /// Show the progress of --precision on standard error in this form
    #[arg(long, value_enum, default_value = "auto")]
    pub progress: ProgressOption,
}

/// A finding for a program: that of the precision has its figures.
#[derive(Debug, Serialize)]
pub struct DoctorFinding {
    /// The finding.
    #[serde(flatten)]
    pub finding: HostFinding,
    /// What was measured, with `--precision`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<PrecisionNow>,
}

/// Runs the verb.
pub fn run(args: &DoctorArgs) -> anyhow::Result<CommandStatus> {
    let mut findings: Vec<DoctorFinding> = examine(&Host::local().evidence(SAMPLED)?)
        .into_iter()
        .map(|finding| DoctorFinding { finding, precision: None })
        .collect();
    if args.precision {
        let now = precision(args.blocks, args.progress)?;
        findings.push(DoctorFinding { finding: show::precision::finding(&now), precision: Some(now) });
    }
    args.format.print(&findings, || text(&findings) + if args.precision { "" } else { PRECISION })?;
    Ok(CommandStatus::Success)
}

/// Measures the precision, with its progress.
fn precision(blocks: u32, progress: ProgressOption) -> anyhow::Result<PrecisionNow> {
    let context = interrupt::context()?;
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let mode = progress.mode();
    let progress = mode.bar();
    progress.set_style(bar::style("{spinner} {pos}/{len} comparing a server with itself ({elapsed})"));
    progress.set_length(u64::from(runs::precision_trials(blocks)));
    progress.enable_steady_tick(Duration::from_millis(200));
    let now = runs::precision_now(&program, blocks, &context, &mut |event| {
        mode.print_json(&event);
        if matches!(event, Event::TrialEnds { .. }) {
            progress.inc(1);
        }
    });
    progress.finish_and_clear();
    now.map_err(why_not)
}

fn text(findings: &[DoctorFinding]) -> String {
    let findings: Vec<_> = findings.iter().map(|finding| &finding.finding).collect();
    let warnings = findings.iter().filter(|finding| finding.level == Severity::Warn).count();
    let answer = match warnings {
        0 => "This host is fit for benchmarking.".to_owned(),
        count => format!("This host is fit with limits: {}.", plural(count as u64, "warning")),
    };
    let mut out = format!("{}\n\n", color::heading(answer));
    for finding in findings {
        let mark = match finding.level {
            Severity::Ok => color::good("ok  "),
            Severity::Note => "note".to_owned(),
            Severity::Warn => color::caution("WARN"),
        };
        let _ = writeln!(out, "{mark}  {}: {}", finding.id, finding.found);
        if finding.level != Severity::Ok {
            let _ = writeln!(out, "      {}", finding.why);
        }
        if let Some(remedy) = &finding.remedy {
            let _ = writeln!(out, "      → {remedy}");
        }
    }
    out
}
