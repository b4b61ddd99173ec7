//! `showdown concurrency`: how many downloads a server has in progress at once before it breaks.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use archive::Run;
use archive::model::{Plan, PlannedConcurrency};
use concurrency::{ConcurrencyError, ConcurrencyPermissions, ConcurrencyRequest};
use host::Host;
use load::inputs::units::{parse_count, parse_duration, parse_rate, parse_share, parse_size};
use load::transfers::SMALLEST_WINDOW;
use machine::Hosts;
use workload::names_host;

use super::clients::ClientOptions;
use super::consent;
use super::options::{AnswerFormat, ProgressOption, RunsDir};
use crate::exit::{CommandStatus, InterruptedError, usage};
use crate::interrupt;
use crate::show;
use crate::show::explain_progress::ExplainProgress;

/// Options of `showdown concurrency`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown concurrency nginx --to 50000
  showdown concurrency apache:mpm=event --to 20k --client-rate 1k
  showdown concurrency nginx --from 125k --to 1M --hold-last 60s
  showdown concurrency nginx --on sut --clients c1,c2 --to 40k
  showdown concurrency http://127.0.0.1:8080/big.iso --step 2x --until 'availability<50%'

A transfer is a download in progress: its client reads at a set pace, so that it stays open. Steps rise by a factor until \
the server breaks, and are finer near the break. Then all clients leave, and the run watches how long it takes until new \
ones are answered within a second.

Before the first step, the run says what this machine can hold. As root it changes the kernel settings that are too small \
(net.ipv4.tcp_mem, net.ipv4.tcp_notsent_lowat), and puts them back, also when it is killed.

A client whose reads are too late for its pace, or that runs out of ports, ends the run: it would measure itself.

Exit codes: 0 an answer, 2 usage error, 3 the client was the limit, 1 failure, 130 interrupted.")]
pub struct ConcurrencyArgs {
    /// Load this server of a workload (SERVER or SERVER:KNOB=VALUE,KNOB=VALUE), or the file of this URL
    #[arg(value_name = "SERVER|URL")]
    pub target: String,

    /// Use this workload: a name, or the path of a workload.toml [default: download]
    #[arg(long, short)]
    pub workload: Option<String>,

    /// Download the file of this operation of the workload, such as get-10m
    #[arg(long, value_name = "OPERATION")]
    pub on_op: Option<String>,

    /// Begin with this number of transfers [default: 1000, or --to if that is less]
    #[arg(long, value_parser = parse_transfers)]
    pub from: Option<u32>,

    /// Go up to this number of transfers
    #[arg(long, default_value = "50000", value_parser = parse_transfers)]
    pub to: u32,

    /// Take steps of this factor
    #[arg(long, default_value = "2x", value_parser = parse_step)]
    pub step: f64,

    /// Take this number of finer steps near the break
    #[arg(long, default_value = "2")]
    pub finer: u32,

    /// Stop at this availability: the server is broken
    #[arg(long, default_value = "availability<50%", value_parser = parse_until)]
    pub until: f64,

    /// Read each transfer at this pace, bytes a second [default: 1792 up to 20,000 transfers, then less, so that all clients
    /// together make about 40,000 reads a second, and each one in 28 s]
    #[arg(long, value_name = "RATE", value_parser = parse_pace)]
    pub client_rate: Option<u64>,

    /// Maintain each step for this long at least, and until it is steady
    #[arg(long, default_value = "5s", value_parser = parse_duration)]
    pub hold: Duration,

    /// Maintain the last step for this long at least [default: --hold]
    #[arg(long, value_parser = parse_duration)]
    pub hold_last: Option<Duration>,

    /// Open at most this number of connections a second while a step rises
    #[arg(long, default_value = "10000", value_name = "RATE", value_parser = parse_rate)]
    pub begin_rate: f64,

    /// Give the 99th percentile of the time to first byte up to which clients are comfortable
    #[arg(long, default_value = "1s", value_parser = parse_duration)]
    pub comfort: Duration,

    /// Keep all kernel settings as they are
    #[arg(long)]
    pub keep_settings: bool,

    /// Allow a URL with a public address: the server there is yours
    #[arg(long)]
    pub target_is_mine: bool,

    /// Derive the run from this seed [default: a new one, recorded in the plan]
    #[arg(long)]
    pub seed: Option<u32>,

    /// Mark the run with this tag, for `showdown list --tag`; may be repeated
    #[arg(long)]
    pub tag: Vec<String>,

    /// Print the answer in this form
    #[arg(long, value_enum, default_value = "text")]
    pub format: AnswerFormat,

    /// Show progress on standard error in this form
    #[arg(long, value_enum, default_value = "auto")]
    pub progress: ProgressOption,

    /// Run the server on this host of the hosts file; one without ssh is this machine, by its address
    #[arg(long, value_name = "HOST", help_heading = "Clients")]
    pub on: Option<String>,

    #[command(flatten)]
    pub clients: ClientOptions,

    #[command(flatten)]
    pub runs: RunsDir,
}

/// Parses `50000`, `50k` or `1M`.
pub fn parse_transfers(text: &str) -> Result<u32, String> {
    match parse_count(text).map(u32::try_from) {
        Ok(Ok(transfers)) => Ok(transfers),
        Ok(Err(_)) => Err("expected at most 10,000,000 transfers".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Parses `2x` or `1.5`.
fn parse_step(text: &str) -> Result<f64, String> {
    let factor = text.strip_suffix(['x', 'X']).unwrap_or(text).parse::<f64>();
    match factor {
        Ok(factor) if factor >= 1.05 => Ok(factor),
        _ => Err("expected a factor of at least 1.05, such as 2x".to_owned()),
    }
}

/// Parses `availability<50%`.
fn parse_until(text: &str) -> Result<f64, String> {
    let share = text.strip_prefix("availability<").map(parse_share);
    match share {
        Some(Ok(share)) if share > 0.0 => Ok(share),
        Some(Err(error)) => Err(error.to_string()),
        _ => Err("expected a condition such as availability<50%".to_owned()),
    }
}

/// Parses `100`, `2k` or `2k/s`.
fn parse_pace(text: &str) -> Result<u64, String> {
    match parse_size(text.strip_suffix("/s").unwrap_or(text)) {
        Ok(0) => Err("a client that reads nothing has no pace: give 1 or more".to_owned()),
        Ok(pace) => Ok(pace),
        Err(error) => Err(error.to_string()),
    }
}

/// Availability from which on clients are comfortable.
const COMFORT_AVAILABILITY: f64 = 0.999;

/// The pace at which so many clients use so many windows at once as a CPU does, and each one at least twice a minute. A read gets a
/// window.
fn usual_pace(transfers: u32) -> u64 {
    const WINDOWS_PER_S: f64 = 20_000.0;
    const LONGEST_S: f64 = 28.0;
    let interval_s = (f64::from(transfers) / WINDOWS_PER_S).clamp(1.0, LONGEST_S);
    #[expect(clippy::cast_possible_truncation, reason = "at most a window of bytes")]
    let bytes_per_s = (f64::from(SMALLEST_WINDOW) / interval_s).ceil() as u64;
    bytes_per_s
}

/// The steps of trials whose value is the breaking point: few, short, and up to this number.
pub fn steps_of_trials(to: Option<u32>) -> PlannedConcurrency {
    const MOST: u32 = 20_000;
    const FROM: u32 = 100;
    let to = to.unwrap_or(MOST);
    PlannedConcurrency {
        from: FROM.min(to),
        to,
        step: 2.0,
        finer: 2,
        until_availability: 0.5,
        pace_bytes_per_s: usual_pace(to) as f64,
        hold: Duration::from_secs(4),
        hold_last: Duration::from_secs(4),
        begin_per_s: 10_000.0,
        comfort_availability: COMFORT_AVAILABILITY,
        comfort_first_byte: Duration::from_secs(1),
        keep_settings: false,
        url: None,
    }
}

/// `showdown concurrency`.
pub fn run(args: &ConcurrencyArgs) -> anyhow::Result<CommandStatus> {
    let plan = plan(args)?;
    if plan.concurrency.as_ref().is_some_and(|steps| steps.url.is_none()) {
        consent::note_workload_on_disk(&plan)?;
    }
    let permissions =
        ConcurrencyPermissions { target_is_mine: args.target_is_mine, programs: &args.clients.program };
    run_plan(&plan, permissions, args.format, args.progress, &args.runs)
}

/// The plan of the options.
pub fn plan(args: &ConcurrencyArgs) -> anyhow::Result<Plan> {
    const FIRST: u32 = 1_000;
    let names_host = args.on.is_some() || !args.clients.clients.is_empty() || names_host(&args.target);
    args.clients
        .refuse_without_host(names_host, "write SERVER@HOST, or pass --on HOST or --clients HOSTS")?;
    let request = ConcurrencyRequest {
        command: std::env::args().collect(),
        target: args.target.clone(),
        workload: args.workload.clone(),
        on_op: args.on_op.clone(),
        steps: PlannedConcurrency {
            from: args.from.unwrap_or(FIRST.min(args.to)),
            to: args.to,
            step: args.step,
            finer: args.finer,
            until_availability: args.until,
            pace_bytes_per_s: args.client_rate.unwrap_or_else(|| usual_pace(args.to)) as f64,
            hold: args.hold,
            hold_last: args.hold_last.unwrap_or(args.hold),
            begin_per_s: args.begin_rate,
            comfort_availability: COMFORT_AVAILABILITY,
            comfort_first_byte: args.comfort,
            keep_settings: args.keep_settings,
            url: None,
        },
        seed: args.seed,
        tags: args.tag.clone(),
        on: args.on.clone(),
        hosts: if names_host {
            Hosts::read(args.clients.hosts.as_deref()).map_err(usage)?.0
        } else {
            Vec::new()
        },
        clients: args.clients.clients.clone(),
    };
    concurrency::plan(&request, &Host::local()).map_err(why_not)
}

/// Runs a plan of transfers, writes the report and prints the answer.
pub fn run_plan(
    plan: &Plan,
    permissions: ConcurrencyPermissions<'_>,
    format: AnswerFormat,
    progress: ProgressOption,
    runs: &RunsDir,
) -> anyhow::Result<CommandStatus> {
    let context = interrupt::context()?;
    let progress = ExplainProgress::start(progress.mode());
    let finished = concurrency::run(plan, permissions, &runs.runs, &context, &mut |event| {
        progress.observe(&event);
    });
    progress.finish();
    // Whatever could not be done then: the user has ended it.
    if finished.is_err() && context.interrupted.load(Ordering::Relaxed) {
        return Err(InterruptedError("before the first step").into());
    }
    let finished = finished.map_err(why_not)?;
    let run = Run::open(&finished.dir)?;
    // On a full disk there is an answer, too.
    let report = super::archive::write_report(&run, None);
    let shown = report.as_deref().ok().map(path);
    let text = || show::concurrency::text(&finished.concurrency, &path(&finished.dir), shown.as_deref());
    format.print(&finished.concurrency, text)?;
    if let Some(error) = finished.stopped {
        anyhow::bail!("{error} (what was measured until then is kept in {})", finished.dir.display());
    }
    if !finished.unrestored.is_empty() {
        anyhow::bail!("{} (the run is kept in {})", finished.unrestored.join("; "), finished.dir.display());
    }
    report?;
    Ok(match &finished.concurrency {
        found if found.interrupted => CommandStatus::Interrupted,
        found if found.client_limit.is_some() => CommandStatus::Invalid,
        _ => CommandStatus::Success,
    })
}

fn path(path: &Path) -> String {
    path.display().to_string()
}

fn why_not(error: ConcurrencyError) -> anyhow::Error {
    match error {
        error if error.is_usage() => usage(error),
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_conditions_and_paces_are_parsed() {
        assert_eq!([parse_step("2x"), parse_step("1.5")], [Ok(2.0), Ok(1.5)]);
        assert!(["1x", "x", "-2x", "nanx"].iter().all(|text| parse_step(text).is_err()));
        assert_eq!(parse_until("availability<50%"), Ok(0.5));
        assert!(
            ["50%", "availability>50%", "availability<", "availability<0%"]
                .iter()
                .all(|t| parse_until(t).is_err())
        );
        assert_eq!([parse_pace("100"), parse_pace("2k/s")], [Ok(100), Ok(2048)]);
        assert!(parse_pace("0").is_err());
        assert_eq!([2_000, 80_000, 10_000_000].map(usual_pace), [1_792, 448, 64]);
    }
}
