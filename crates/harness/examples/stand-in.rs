//! A stand-in for `showdown` that measures nothing, for `make bench-harness`: a controller starts it as it starts the real program.
//! It writes a small made-up run, tells of itself at an even rate, and appends what happens to it to one file of all stand-ins.
//!
//! | variable | content |
//! |---|---|
//! | `STAND_IN_LOG` | the file: lines `WHAT SEED TOKEN MICROSECONDS` by the monotonic clock of the machine |
//! | `STAND_IN_LOCKS` | a directory with a lock for each host: who finds one taken writes `conflict` |
//! | `STAND_IN_MS`, `STAND_IN_EVERY_MS` | how long a run takes, and the time between two lines |

use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

/// How often it looks for a signal.
const LOOK_US: u64 = 5_000;

/// What a tick of the real program has beside its place in the stream, about.
const TICK: &str =
    "throughput 123456.7 /s, p50 74 us, p99 512 us, offered 130000 /s, block 7 of 24, nginx, 12.3 s left";

fn main() -> anyhow::Result<ExitCode> {
    let args: Vec<String> = env::args().skip(1).collect();
    // `showdown undo` has nothing to put back.
    if !matches!(args.first().map(String::as_str), Some("run" | "resume")) {
        return Ok(ExitCode::SUCCESS);
    }
    let runs = PathBuf::from(option(&args, "--runs").context("--runs")?);
    let progress = option(&args, "--progress-fd").context("--progress-fd")?;
    let plan = args.get(1).context("a plan")?;
    let stand_in = StandIn::new(Path::new(plan))?;
    stand_in.note("begin")?;
    let lock = File::create(variable("STAND_IN_LOCKS")?.join(rustix::system::uname().nodename().to_str()?))?;
    if lock.try_lock().is_err() {
        stand_in.note("conflict")?;
    }
    let run = if args[0] == "run" {
        archive::example::one_of_many(&runs, stand_in.token)?.to_string()
    } else {
        plan.clone()
    };
    let ending =
        stand_in.tell(&mut File::options().write(true).open(format!("/proc/self/fd/{progress}"))?, &run)?;
    stand_in.note(ending)?;
    Ok(if ending == "sigint" { ExitCode::from(130) } else { ExitCode::SUCCESS })
}

fn option<'a>(args: &'a [String], name: &str) -> Option<&'a str> {
    let at = args.iter().position(|arg| arg == name)?;
    args.get(at + 1).map(String::as_str)
}

fn variable(name: &str) -> anyhow::Result<PathBuf> {
    Ok(env::var_os(name).with_context(|| format!("the variable {name} is missing"))?.into())
}

fn number(name: &str) -> anyhow::Result<u64> {
    Ok(env::var(name)?.parse()?)
}

fn monotonic_us() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000 + now.tv_nsec.cast_unsigned() / 1_000
}

/// One run that measures nothing.
struct StandIn {
    /// The seed of the plan: the entry that it is of.
    seed: String,
    /// The token of the attempt.
    token: u32,
    log: PathBuf,
    stopped: Arc<AtomicBool>,
}

impl StandIn {
    fn new(plan: &Path) -> anyhow::Result<Self> {
        let stopped = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(&stopped))?;
        let text = fs::read_to_string(plan).unwrap_or_default();
        let seed = text.lines().find_map(|line| line.strip_prefix("seed = ")).unwrap_or("0");
        let folder = plan.parent().and_then(Path::file_name).unwrap_or_default();
        let token = folder.to_string_lossy().parse().unwrap_or(0);
        Ok(Self { seed: seed.to_owned(), token, log: variable("STAND_IN_LOG")?, stopped })
    }

    fn note(&self, what: &str) -> anyhow::Result<()> {
        // One write, so that lines of several stand-ins do not mix.
        let line = format!("{what} {} {} {}\n", self.seed, self.token, monotonic_us());
        Ok(File::options().append(true).create(true).open(&self.log)?.write_all(line.as_bytes())?)
    }

    /// Tells of itself until its time is over; how it ended.
    fn tell(&self, pipe: &mut File, run: &str) -> anyhow::Result<&'static str> {
        let (every_us, lasts_us) = (number("STAND_IN_EVERY_MS")? * 1_000, number("STAND_IN_MS")? * 1_000);
        let began = monotonic_us();
        let mut seq = 1;
        let begins = json!({ "format": 1, "seq": seq, "event": "run_begins", "run": run });
        writeln!(pipe, "{begins}")?;
        // Runs do not begin at the same moment of a period.
        let mut next = began + u64::from(std::process::id()) * 7_919 % every_us;
        while monotonic_us() < began + lasts_us {
            if self.stopped.load(Ordering::Relaxed) {
                return Ok("sigint");
            }
            if monotonic_us() < next {
                thread::sleep(Duration::from_micros(LOOK_US.min(every_us)));
                continue;
            }
            next += every_us;
            seq += 1;
            let tick = json!({ "seq": seq, "event": "tick", "text": TICK, "mono_us": monotonic_us() });
            if writeln!(pipe, "{tick}").is_err() {
                // Its controller has died.
                return Ok("alone");
            }
        }
        let ends = json!({ "seq": seq + 1, "event": "stream_ends", "run": run });
        Ok(if writeln!(pipe, "{ends}").is_ok() { "end" } else { "alone" })
    }
}
