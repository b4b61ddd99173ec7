//! `showdown power`: measure the power of this host, with its own counters and meters on the network.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cost::targets::TargetsFile;
use host::Host;
use load::inputs::units::parse_duration;
use power::local::LocalSources;
use power::{
    MeanOfTicks, NotMeasured, PowerMonitor, PowerReport, PowerSource, PowerTick, SourceDescription, Stated,
    local,
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::args::meters::described_by;
use crate::args::options::AnswerFormat;
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

/// The sources that the user named.
#[derive(Default)]
struct Named {
    /// Meters on the network. They should give watts.
    meters: Vec<Box<dyn PowerSource>>,
    /// Meters whose secrets are not there.
    closed: Vec<NotMeasured>,
    /// What somebody typed in. It needs no watching.
    stated: Vec<Box<dyn PowerSource>>,
}

/// Runs the verb.
pub fn run(args: &PowerArgs) -> anyhow::Result<CommandStatus> {
    let named = Named::read(args)?;
    let interrupted = interrupt::flag()?;
    let machine = Host::local().facts().machine;
    let local = local::find(Path::new("/"), machine.virtualization.as_deref());
    if args.watch {
        return watch(args, local, named, &interrupted);
    }
    let mut not_measured = local.not_measured;
    if named.meters.is_empty() && named.closed.is_empty() {
        not_measured.push(NotMeasured::new(
            "network",
            "no plug, PDU or BMC is named: name one with --source KIND=ADDRESS, or as [power.NAME] in a file of targets",
        ));
    }
    let mut silent: Vec<String> = named.closed.iter().map(|closed| closed.name.clone()).collect();
    not_measured.extend(named.closed);
    let named_meters = local.sources.len()..local.sources.len() + named.meters.len();
    let sources = local.sources.into_iter().chain(named.meters).chain(named.stated);
    let mut monitor = PowerMonitor::new(sources.collect());
    // Counters give watts from the second reading on.
    monitor.tick();
    let end = Instant::now() + args.duration.unwrap_or(MEASURED);
    let mut mean = MeanOfTicks::default();
    loop {
        if wait((Instant::now() + PERIOD).min(end), &interrupted) {
            return Ok(CommandStatus::Interrupted);
        }
        mean.add(monitor.tick());
        if Instant::now() >= end {
            break;
        }
    }
    let sources = mean.finish();
    let failed = sources[named_meters].iter().filter(|source| source.watts.is_none());
    silent.extend(failed.map(|source| source.name.clone()));
    let report = PowerReport::new(machine.hostname, machine.virtualization, sources, not_measured);
    args.format.print(&report, || show::costs::power::text(&report))?;
    if silent.is_empty() {
        return Ok(CommandStatus::Success);
    }
    print_failure(&format!("{} gave no watts: the answer has the reason", silent.join(", ")));
    Ok(CommandStatus::Failed)
}

impl Named {
    /// The meters of the file and of the command line, and what the file states. A mistake in either is a usage error.
    fn read(args: &PowerArgs) -> anyhow::Result<Self> {
        let mut named = Self::default();
        let mut described = Vec::new();
        if let Some(path) = targets_file(args.targets.as_deref())? {
            let file = TargetsFile::read(path).map_err(usage)?;
            described = file.meters;
            // A file that only has meters has no targets; other mistakes in them are told by `cost`.
            let targets = file.targets.map(|targets| targets.targets).unwrap_or_default();
            named.stated = targets.iter().filter_map(stated).collect();
        }
        for argument in &args.source {
            let is_taken =
                |name: &str| described.iter().any(|other: &SourceDescription| other.about().name == name);
            let source = described_by(argument, is_taken);
            described.push(source.map_err(|error| usage(format!("--source: {error}")))?);
        }
        for source in described {
            match source.open() {
                Ok(meter) => named.meters.push(meter),
                Err(why) => named.closed.push(NotMeasured::new(source.about().name.clone(), why)),
            }
        }
        Ok(named)
    }
}

/// The file of targets: the one that is named, or that of the working directory if it is the user's own. It names addresses to
/// which secrets are sent.
fn targets_file(named: Option<&Path>) -> anyhow::Result<Option<&Path>> {
    let own = Path::new(TARGETS_FILE);
    match named {
        Some(path) => Ok(Some(path)),
        None if own.exists() => {
            host::ownership::check(own).map_err(|error| {
                usage(format!("{error}; to use it all the same, name it: --targets {TARGETS_FILE}"))
            })?;
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

/// Prints the watts of each second, until the time is over or Ctrl-C.
fn watch(
    args: &PowerArgs,
    local: LocalSources,
    named: Named,
    interrupted: &AtomicBool,
) -> anyhow::Result<CommandStatus> {
    for closed in &named.closed {
        note(&format!("{}: {}", closed.name, closed.why));
    }
    let sources: Vec<_> = local.sources.into_iter().chain(named.meters).collect();
    if sources.is_empty() {
        print_failure("there is nothing to watch: showdown power without --watch says why, and what to do");
        return Ok(CommandStatus::Failed);
    }
    let mut monitor = PowerMonitor::new(sources);
    let begin = Instant::now();
    let end = args.duration.map(|duration| begin + duration);
    let mut columns = show::costs::power::WatchColumns::default();
    let mut next = begin;
    loop {
        let tick = monitor.tick();
        print_tick(args.format, &tick, &mut columns)?;
        if is_reader_gone() {
            return Ok(CommandStatus::Success);
        }
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
    columns: &mut show::costs::power::WatchColumns,
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

/// Whether the reader of the standard output has closed it (`| head`): a pipe then reports an error.
fn is_reader_gone() -> bool {
    let stdout = io::stdout();
    let mut polled = [PollFd::new(&stdout, PollFlags::empty())];
    let at_once = Timespec::default();
    poll(&mut polled, Some(&at_once)).is_ok() && polled[0].revents().contains(PollFlags::ERR)
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
