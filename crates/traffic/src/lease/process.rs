//! The process of a lease. It outlives the run: it is this program, started with a hidden argument, in a session of its own.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigEvent, SigevNotify, Signal};
use nix::sys::time::TimeSpec;
use nix::sys::timer::{Expiration, Timer, TimerSetTimeFlags};
use nix::time::ClockId;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use super::beacon::{self, Beacon};
use super::protocol::{LeaseEvent, LeaseOrder, LeaseRecord, PROCESS_NAME, RECORD_NAME, Renewal, VERB};
use crate::balancer::Haproxy;
use crate::balancer::interface::{Balancer, BalancerError};
use crate::balancer::lock::{BalancerLock, LockRole};
use crate::journal::{ShiftJournal, now_s};
use crate::name::Name;
use crate::recovery::{self, Recovered, take_out};

/// The longest line from the run: an order with some servers.
const MOST_LINE_BYTES: usize = 1 << 20;

/// How long a balancer that answers badly is asked again. One that is gone has no such servers any more.
const LONGEST_TRY: Duration = Duration::from_mins(1);
const LONGEST_TRY_UNREACHABLE: Duration = Duration::from_secs(5);
const TRY_INTERVAL: Duration = Duration::from_millis(200);

/// How long the process waits for sessions to end, so that it can remove the servers.
const LONGEST_DRAIN: Duration = Duration::from_secs(30);

/// How long the balancer may take to close connections that it has kept open to a server without a session.
const LONGEST_REMOVAL: Duration = Duration::from_secs(15);

/// Runs as the process of a lease if the arguments ask for it. None for all other arguments: continue as usual. A program that shifts weight
/// calls this first, before it parses arguments, opens files or starts threads.
pub fn lease_main(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    if args.into_iter().nth(1)? != VERB {
        return None;
    }
    // No message: the run reads only events.
    Some(if run().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn run() -> io::Result<()> {
    rustix::thread::set_name(c"sd-lease")?;
    debug_assert_eq!(PROCESS_NAME, "sd-lease", "the name above");
    // A new session: neither Ctrl-C nor a signal to the run's process group reaches this process.
    let _ = rustix::process::setsid();
    std::env::set_current_dir("/")?;
    let mut input = Input::default();
    let Some(line) = input.next(None)? else { return Ok(()) };
    let order: LeaseOrder = serde_json::from_str(&line)?;
    let lock = match BalancerLock::take(&order.socket, LockRole::Lease) {
        Ok(lock) => lock,
        Err(error) => return send(&LeaseEvent::Refused(error.to_string())),
    };
    let mut beacons = Vec::new();
    for member in &order.members {
        match Beacon::open(member.address) {
            Ok(beacon) => beacons.push(beacon),
            Err(error) => {
                return send(&LeaseEvent::Refused(format!(
                    "cannot listen for checks of {}: {error}",
                    member.server
                )));
            }
        }
    }
    let mut timer = match KillTimer::start(Duration::from_millis(order.valid_ms)) {
        Ok(timer) => timer,
        Err(error) => return send(&LeaseEvent::Refused(format!("the kernel gives no timer: {error}"))),
    };
    // What is written to a run that has died is lost, and the loss of the lease is seen at the other pipe.
    let _ = send(&LeaseEvent::Listening(beacons.iter().map(Beacon::address).collect()));
    for (member, beacon) in order.members.iter().cloned().zip(beacons.iter().cloned()) {
        thread::Builder::new().name("sd-probe".to_owned()).spawn(move || {
            if let Some(reason) = beacon::watch(member.address, &member.probe, &beacon) {
                let _ = send(&LeaseEvent::Unhealthy { server: member.server, reason });
            }
        })?;
    }
    let lost = serve(&mut input, Duration::from_millis(order.valid_ms), &mut timer);
    // First of all, and whatever comes after: the balancer alone stops sending.
    for beacon in &beacons {
        beacon.close();
    }
    // What follows may take longer.
    drop(timer);
    if let Some(lost) = lost {
        let _ = send(&LeaseEvent::Lost(lost.clone()));
        take_over(&order, lost);
    }
    drop(lock);
    Ok(())
}

/// A timer of the kernel that kills this process if it is not set again in time. For most checks the kernel alone answers at a beacon, also
/// while the process is stopped (`SIGSTOP`, a debugger, a frozen control group) or its thread hangs. A process that is killed has no beacon.
struct KillTimer {
    timer: Timer,
    limit: Duration,
}

impl KillTimer {
    /// The process may be late by half the time that its lease is valid.
    fn start(valid: Duration) -> io::Result<Self> {
        let kill = SigevNotify::SigevSignal { signal: Signal::SIGKILL, si_value: 0 };
        let timer = Timer::new(ClockId::CLOCK_MONOTONIC, SigEvent::new(kill))?;
        let mut started = Self { timer, limit: valid + valid / 2 };
        started.set_again()?;
        Ok(started)
    }

    fn set_again(&mut self) -> io::Result<()> {
        let expiration = Expiration::OneShot(TimeSpec::from_duration(self.limit));
        Ok(self.timer.set(expiration, TimerSetTimeFlags::empty())?)
    }
}

/// Answers renewals until the lease is given back (None) or lost (why).
fn serve(input: &mut Input, valid: Duration, timer: &mut KillTimer) -> Option<String> {
    let mut until = Instant::now() + valid;
    loop {
        if let Err(error) = timer.set_again() {
            return Some(format!("the kernel does not set its timer: {error}"));
        }
        let line = match input.next(Some(until.min(Instant::now() + valid / 8))) {
            Ok(Some(line)) => line,
            Ok(None) => return Some("the run has ended".to_owned()),
            Err(error) if error.kind() == io::ErrorKind::TimedOut && Instant::now() < until => continue,
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                return Some(format!("the run has not renewed its lease for {} s", valid.as_secs_f64()));
            }
            Err(error) => return Some(format!("the run cannot be read: {error}")),
        };
        match serde_json::from_str(&line) {
            Ok(Renewal::Renew(number)) => {
                until = Instant::now() + valid;
                let _ = send(&LeaseEvent::Renewed(number));
            }
            Ok(Renewal::Release) => return None,
            Err(error) => return Some(format!("a line of the run cannot be read: {error}")),
        }
    }
}

/// Takes the servers out, then undoes the rest of the journal, and writes down what was done.
fn take_over(order: &LeaseOrder, lost: String) {
    let mut balancer = Haproxy::new(&order.socket, &order.backend);
    let at_s = now_s();
    let mut recovered = Recovered::default();
    for member in &order.members {
        match persistently(&mut balancer, &member.server) {
            Ok(()) => recovered.done.push(format!("{} has weight 0 and is out of service", member.server)),
            Err(error) => recovered.left.push(error.to_string()),
        }
    }
    let mut record = LeaseRecord { lost, at_s, done: recovered.done, left: recovered.left };
    let _ = write_record(order, &record);
    let said = if record.left.is_empty() { &record.done } else { &record.left };
    let _ = send(&LeaseEvent::TakenOut(said.clone()));
    wait_for_sessions(&mut balancer, order);
    remove(&mut balancer, order);
    // A run that hangs has its journal locked. Whoever ends it undoes the rest.
    if let Ok(mut journal) = ShiftJournal::lock(&order.directory)
        && let Ok(rest) = recovery::recover(&mut journal, Duration::ZERO)
    {
        record.done.extend(rest.done);
        record.done.extend(rest.stays);
        record.left.extend(rest.left);
        let _ = write_record(order, &record);
    }
}

/// Tries until the server is out, or the balancer is gone.
fn persistently(balancer: &mut Haproxy, server: &Name) -> Result<(), BalancerError> {
    let start = Instant::now();
    loop {
        let Err(error) = take_out(balancer, server) else { return Ok(()) };
        let limit = match error {
            BalancerError::Unreachable { .. } => LONGEST_TRY_UNREACHABLE,
            _ => LONGEST_TRY,
        };
        if start.elapsed() > limit {
            return Err(error);
        }
        thread::sleep(TRY_INTERVAL);
    }
}

fn wait_for_sessions(balancer: &mut Haproxy, order: &LeaseOrder) {
    let start = Instant::now();
    while start.elapsed() < LONGEST_DRAIN {
        let mut is_busy = false;
        for member in &order.members {
            if let Ok(remaining) = balancer.remaining(&member.server) {
                is_busy |= remaining.sessions + remaining.queued > 0;
            }
        }
        if !is_busy {
            return;
        }
        thread::sleep(TRY_INTERVAL);
    }
}

/// Removes the servers as soon as the balancer has closed its connections to them. One that stays is in maintenance, and a reload removes it.
fn remove(balancer: &mut Haproxy, order: &LeaseOrder) {
    let start = Instant::now();
    for member in &order.members {
        while let Err(BalancerError::Refused { .. }) = balancer.remove(&member.server)
            && start.elapsed() < LONGEST_REMOVAL
        {
            thread::sleep(TRY_INTERVAL);
        }
    }
}

/// Writes the record as a whole: who reads it sees the old one or the new one.
fn write_record(order: &LeaseOrder, record: &LeaseRecord) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(&order.directory)?;
    serde_json::to_writer_pretty(&mut file, record)?;
    file.as_file().sync_all()?;
    file.persist(order.directory.join(RECORD_NAME))?;
    fs::File::open(&order.directory)?.sync_all()
}

/// Events come from several threads.
static OUTPUT: Mutex<()> = Mutex::new(());

fn send(event: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(event)?;
    line.push(b'\n');
    let _one_at_a_time = OUTPUT.lock().unwrap_or_else(PoisonError::into_inner);
    let mut output = io::stdout().lock();
    output.write_all(&line)?;
    output.flush()
}

/// Lines of the standard input, with a time limit. It is not buffered elsewhere: a line that was read by somebody else would be missed.
#[derive(Default)]
struct Input {
    buffer: Vec<u8>,
    is_over: bool,
}

impl Input {
    /// The next line. None at the end of the input; an error of the kind `TimedOut` after the time limit.
    fn next(&mut self, until: Option<Instant>) -> io::Result<Option<String>> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return Ok(Some(String::from_utf8_lossy(&line).trim_end().to_owned()));
            }
            if self.is_over {
                return Ok(None);
            }
            if self.buffer.len() > MOST_LINE_BYTES {
                return Err(io::Error::other("a line is too long"));
            }
            wait_for_input(until)?;
            let mut chunk = [0; 4096];
            match rustix::io::read(io::stdin().as_fd(), &mut chunk) {
                Ok(0) => self.is_over = true,
                Ok(length) => self.buffer.extend_from_slice(&chunk[..length]),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn wait_for_input(until: Option<Instant>) -> io::Result<()> {
    let stdin = io::stdin();
    loop {
        let timeout = match until {
            None => None,
            Some(until) => {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                Some(Timespec::try_from(left).map_err(io::Error::other)?)
            }
        };
        let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut fds, timeout.as_ref()) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}
