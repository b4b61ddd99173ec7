//! `showdown doctor`: is this host fit to measure, and what would make it fitter.

use std::fmt::Write;
use std::time::Duration;

use host::Host;
use host::doctor::{Evidence, Finding, Level, examine};

use super::options::Format;
use crate::exit::Ending;

/// How long the host is watched.
const WATCHED: Duration = Duration::from_secs(1);

/// Options of `showdown doctor`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// How the answer is printed
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}

/// Runs the verb.
pub fn run(args: &Args) -> anyhow::Result<Ending> {
    let host = Host::local();
    let sampler = host.sample(Vec::new(), WATCHED / 4)?;
    std::thread::sleep(WATCHED);
    let evidence = Evidence { facts: host.facts(), allowed_cpus: host.allowed_cpus()?, idle: sampler.stop() };
    let findings = examine(&evidence);
    args.format.print(&findings, || text(&findings))?;
    Ok(Ending::Success)
}

fn text(findings: &[Finding]) -> String {
    let count = |level: Level| findings.iter().filter(|finding| finding.level == level).count();
    let mut out = match count(Level::Warn) {
        0 => "This host is fit to measure.\n\n".to_owned(),
        1 => "This host can measure, with one thing that will disturb.\n\n".to_owned(),
        many => format!("This host can measure, with {many} things that will disturb.\n\n"),
    };
    for finding in findings {
        let mark = match finding.level {
            Level::Ok => "ok  ",
            Level::Note => "note",
            Level::Warn => "WARN",
        };
        let _ = writeln!(out, "{mark}  {}: {}", finding.id, finding.found);
        if finding.level != Level::Ok {
            let _ = writeln!(out, "      {}", finding.why);
        }
        if let Some(mend) = &finding.mend {
            let _ = writeln!(out, "      → {mend}");
        }
    }
    out
}
