//! `showdown doctor`: check whether this host is fit for benchmarking, and how to improve it.

use std::fmt::Write;
use std::time::Duration;

use host::Host;
use host::doctor::{HostFinding, Severity, examine};

use crate::args::options::AnswerFormat;
use crate::color;
use crate::exit::CommandStatus;
use crate::show::layout::units::plural;

/// How long the host is sampled.
const SAMPLED: Duration = Duration::from_secs(1);

/// Options of `showdown doctor`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown doctor
  showdown doctor --format json")]
pub struct DoctorArgs {
    /// Print the answer as text or as JSON
    #[arg(long, value_enum, default_value = "text")]
    pub format: AnswerFormat,
}

/// Runs the verb.
pub fn run(args: &DoctorArgs) -> anyhow::Result<CommandStatus> {
    let findings = examine(&Host::local().evidence(SAMPLED)?);
    args.format.print(&findings, || text(&findings))?;
    Ok(CommandStatus::Success)
}

fn text(findings: &[HostFinding]) -> String {
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
