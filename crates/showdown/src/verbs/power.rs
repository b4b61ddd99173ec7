//! `showdown power`: measure the power of this host, with its own counters and meters on the network.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cost::Targets;
use cost::targets::read_meters;
use host::Host;
use load::inputs::units::parse_duration;
use power::{
    NotMeasured, PowerMonitor, PowerReport, PowerSource, PowerTick, SourceDescription, SourceKeys, Stated, local,
};

use super::options::AnswerFormat;
use crate::exit::{CommandStatus, print_failure, usage};
use crate::print::{note, print_json, print_text};
use crate::{interrupt, show};

/// The file of targets where none is named.
const TARGETS_FILE: &str = "targets.toml";

/// The default of `--for` without `--watch`.
const MEASURED: Duration = Duration::from_secs(1);

/// The time between two lines of `--watch`.
const PERIOD: Duration = Duration::from_secs(1);

/// How soon Ctrl-C is noticed.
const NOTICED: Duration = Duration::from_millis(50);

/// Options of `showdown power`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "\
Examples:
  showdown power
  showdown power --watch
  showdown power --source shelly=http://10.0.0.31 --source apc-rpdu2=10.0.0.9,outlet=5
  showdown power --targets lab.toml --watch --format json",
    after_long_help = "\
The host's own meters (RAPL, hwmon, its BMC) are found. Those on the network are named: with --source, or as a table of a file of \
targets (docs/COST.md has all keys):

  [power.rack]
  kind    = \"apc-rpdu2\"       or apc-rpdu, raritan-px2, shelly, tasmota, redfish, ipmi-dcmi
  address = \"10.0.0.9\"        plugs and Redfish have a URL: \"http://10.0.0.31\"
  outlet  = 5

  [power.bmc]
  kind         = \"redfish\"
  address      = \"https://10.0.0.10\"
  user         = \"operator\"
  password_env = \"BMC_PASSWORD\"   the variable that has the password, never the password itself
  boundary     = \"wall\"           where the BMC's manual says so

Examples:
  showdown power
  showdown power --watch
  showdown power --source shelly=http://10.0.0.31 --source apc-rpdu2=10.0.0.9,outlet=5
  showdown power --targets lab.toml --watch --format json

Exit codes: 0 done; 1 a source that was named gives no watts, or there is nothing to watch; 2 usage error, 130 interrupted."
)]
pub struct PowerArgs {
    /// Read meters on the network from this file; without it, from targets.toml of the working directory if that is yours
    #[arg(long, value_name = "FILE")]
    pub targets: Option<PathBuf>,

    /// Add a meter on the network, such as apc-rpdu2=10.0.0.9,outlet=5
    #[arg(long, value_name = "KIND=ADDRESS")]
    pub source: Vec<String>,

    /// Print the watts every second until Ctrl-C; with --format json, an object a line
    #[arg(long)]
    pub watch: bool,

    /// Measure for this long; without it for 1s, or with --watch until Ctrl-C
    #[arg(long = "for", value_parser = parse_duration, value_name = "TIME")]
    pub duration: Option<Duration>,

    /// Print the answer as text or as JSON
    #[arg(long, value_enum, default_value = "text")]
    pub format: AnswerFormat,
}

/// What is measured, and what is not.
#[derive(Default)]
struct Found {
    sources: Vec<Box<dyn PowerSource>>,
    not_measured: Vec<NotMeasured>,
    /// The names of the sources that the user named: they should work.
    named: Vec<String>,
    /// What somebody typed in. It needs no watching.
    stated: Vec<Box<dyn PowerSource>>,
}

/// Runs the verb.
pub fn run(args: &PowerArgs) -> anyhow::Result<CommandStatus> {
    let mut found = Found::default();
    found.name_sources(args)?;
    let interrupted = interrupt::flag()?;
    let machine = Host::local().facts().machine;
    let local = local::find(Path::new("/"), machine.virtualization.as_deref());
    found.sources.splice(0..0, local.sources);
    found.not_measured.splice(0..0, local.not_measured);
    if args.watch {
        return watch(args, found, &interrupted);
    }
    if found.named.is_empty() {
        found.not_measured.push(NotMeasured::new(
            "network",
            "no plug, PDU or BMC is named: name one with --source KIND=ADDRESS, or as [power.NAME] in a file of targets",
        ));
    }
    found.sources.append(&mut found.stated);
    let mut monitor = PowerMonitor::new(found.sources);
    // Counters give watts from the second reading on.
    let mut tick = monitor.tick();
    if wait(Instant::now() + args.duration.unwrap_or(MEASURED), &interrupted) {
        return Ok(CommandStatus::Interrupted);
    }
    if !tick.sources.is_empty() {
        tick = monitor.tick();
    }
    let report = PowerReport::new(machine.hostname, machine.virtualization, tick.sources, found.not_measured);
    args.format.print(&report, || show::power::text(&report))?;
    let silent = report.sources.iter().filter(|source| source.watts.is_none()).map(|source| &source.name);
    let silent = silent.chain(report.not_measured.iter().map(|missing| &missing.name));
    let silent: Vec<&str> = silent.filter(|name| found.named.contains(name)).map(String::as_str).collect();
    if silent.is_empty() {
        return Ok(CommandStatus::Success);
    }
    print_failure(&format!("{} gave no watts: the answer has the reason", silent.join(", ")));
    Ok(CommandStatus::Failed)
}

impl Found {
    /// Adds the meters of the file and of the command line, and what the file states. Mistakes in either are of the user's.
    fn name_sources(&mut self, args: &PowerArgs) -> anyhow::Result<()> {
        let mut described = Vec::new();
        if let Some(path) = targets_file(args.targets.as_deref())? {
            described = read_meters(path).map_err(usage)?;
            // A file that only has meters has no targets; other mistakes in them are told by `cost`.
            let targets = Targets::read(path).map(|targets| targets.targets).unwrap_or_default();
            self.stated = targets.iter().filter_map(stated).collect();
        }
        for argument in &args.source {
            let keys = SourceKeys::from_argument(argument);
            let keys = keys.map_err(|error| usage(format!("--source: {error}")))?;
            let name = free_name(keys.kind.as_deref().unwrap_or_default(), &described);
            described.push(keys.check(&name).map_err(|error| usage(format!("--source: {error}")))?);
        }
        for source in described {
            let name = source.about().name.clone();
            match source.open() {
                Ok(source) => self.sources.push(source),
                Err(why) => self.not_measured.push(NotMeasured::new(name.clone(), why)),
            }
            self.named.push(name);
        }
        Ok(())
    }
}

/// The file of targets: the one that is named, or that of the working directory if it is the user's own. It names addresses to
/// which secrets are sent.
fn targets_file(named: Option<&Path>) -> anyhow::Result<Option<&Path>> {
    let own = Path::new(TARGETS_FILE);
    match named {
        Some(path) => Ok(Some(path)),
        None if own.exists() => {
            host::ownership::check(own)
                .map_err(|error| usage(format!("{error}; to use it all the same, name it: --targets {TARGETS_FILE}")))?;
            Ok(Some(own))
        }
        None => Ok(None),
    }
}

/// What the file states of a kind of machine at load.
fn stated(target: &cost::Target) -> Option<Box<dyn PowerSource>> {
    let load = target.load.as_ref()?;
    let name = format!("target.{}", target.name);
    Some(Box::new(Stated::new(&name, load.watts, load.boundary, &load.source)))
}

/// The kind, with a number if a source has that name already.
fn free_name(kind: &str, others: &[SourceDescription]) -> String {
    let is_free = |name: &String| others.iter().all(|other| other.about().name != *name);
    let numbered = (2..).map(|number| format!("{kind}-{number}"));
    std::iter::once(kind.to_owned()).chain(numbered).find(is_free).unwrap_or_default()
}

/// Prints the watts of each second, until the time is over or Ctrl-C.
fn watch(args: &PowerArgs, found: Found, interrupted: &AtomicBool) -> anyhow::Result<CommandStatus> {
    for missing in found.not_measured.iter().filter(|missing| found.named.contains(&missing.name)) {
        note(&format!("{}: {}", missing.name, missing.why));
    }
    if found.sources.is_empty() {
        print_failure("there is nothing to watch: showdown power without --watch says why, and what to do");
        return Ok(CommandStatus::Failed);
    }
    let mut monitor = PowerMonitor::new(found.sources);
    let begin = Instant::now();
    let end = args.duration.map(|duration| begin + duration);
    let mut columns = show::power::WatchColumns::default();
    let mut next = begin;
    loop {
        let tick = monitor.tick();
        print_tick(args.format, &tick, &mut columns)?;
        // A meter that did not answer has taken several seconds: lines that are late are left out.
        next = (next + PERIOD).max(Instant::now());
        if end.is_some_and(|end| next > end) {
            return Ok(CommandStatus::Success);
        }
        if wait(next, interrupted) {
            return Ok(CommandStatus::Interrupted);
        }
    }
}

fn print_tick(
    format: AnswerFormat,
    tick: &PowerTick,
    columns: &mut show::power::WatchColumns,
) -> anyhow::Result<()> {
    match format {
        AnswerFormat::Json => print_json(&(serde_json::to_string(tick)? + "\n")),
        AnswerFormat::Text => {
            for problem in columns.new_problems(tick) {
                note(&problem);
            }
            print_text(&columns.lines(tick))
        }
    }
}

/// Waits until this time, or for Ctrl-C: whether it came.
fn wait(until: Instant, interrupted: &AtomicBool) -> bool {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if interrupted.load(Ordering::Relaxed) || left.is_zero() {
            return interrupted.load(Ordering::Relaxed);
        }
        thread::sleep(left.min(NOTICED));
    }
}
