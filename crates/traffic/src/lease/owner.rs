//! The run's end of a lease: it starts the process, renews the lease and hears what the process says. A lease that is dropped is lost, and
//! the process takes the servers out.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::protocol::{LeaseEvent, LeaseOrder, PROCESS_NAME, Renewal, VERB};
use crate::name::Name;
use crate::observation::Alarm;

/// How long the process may take to listen, or to end.
const START_LIMIT: Duration = Duration::from_secs(20);

/// The longest line of the process.
const MOST_LINE_BYTES: u64 = 1 << 20;

/// Why there is no lease.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// The process does not start.
    #[error("cannot start the process of the lease, {}: {source}: no weight is raised without it", program.display())]
    Start {
        /// Its program.
        program: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The process does not do what it is asked.
    #[error("there is no lease on the balancer: {0}")]
    Refused(String),
}

/// A lease that this run has.
#[derive(Debug)]
pub struct Lease {
    child: Child,
    /// None once the lease was given back or lost.
    renewals: Option<ChildStdin>,
    events: Receiver<LeaseEvent>,
    beacons: Vec<SocketAddr>,
    valid: Duration,
    sent: u64,
    answered: u64,
    /// When the oldest renewal without an answer was sent.
    unanswered_since: Option<Instant>,
    lost: Option<String>,
    /// News that were heard and not asked for yet.
    pending: Vec<Alarm>,
    /// Servers that do not work.
    unhealthy: Vec<Name>,
}

impl Lease {
    /// Starts the process: `program` is one that calls [`super::lease_main`] first.
    pub fn start(program: &Path, order: &LeaseOrder) -> Result<Self, LeaseError> {
        let mut child = Command::new(program)
            .arg0(PROCESS_NAME)
            .arg(VERB)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|source| start_error(program, source))?;
        let (Some(mut renewals), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(start_error(program, io::ErrorKind::BrokenPipe.into()));
        };
        let (sender, events) = channel();
        thread::spawn(move || receive(output, &sender));
        send(&mut renewals, order).map_err(|source| start_error(program, source))?;
        let beacons = match events.recv_timeout(START_LIMIT) {
            Ok(LeaseEvent::Listening(beacons)) if beacons.len() == order.members.len() => beacons,
            Ok(LeaseEvent::Refused(reason)) => return Err(LeaseError::Refused(reason)),
            Ok(other) => return Err(LeaseError::Refused(format!("the process says {other:?}"))),
            Err(_) => {
                let reason = "the process does not answer: does its main call traffic::lease::lease_main?";
                return Err(start_error(program, io::Error::other(reason)));
            }
        };
        Ok(Self {
            child,
            renewals: Some(renewals),
            events,
            beacons,
            valid: Duration::from_millis(order.valid_ms),
            sent: 0,
            answered: 0,
            unanswered_since: None,
            lost: None,
            pending: Vec::new(),
            unhealthy: Vec::new(),
        })
    }

    /// Where the checks of each member go.
    pub fn beacons(&self) -> &[SocketAddr] {
        &self.beacons
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Renews the lease. The loop that watches the traffic calls this itself: a loop that hangs must lose its lease.
    pub fn renew(&mut self) {
        if self.lost.is_some() {
            return;
        }
        self.sent += 1;
        self.unanswered_since.get_or_insert_with(Instant::now);
        let line = Renewal::Renew(self.sent);
        let written = self.renewals.as_mut().map(|renewals| send(renewals, &line));
        if let Some(Err(error)) = written {
            self.lose(format!("the process of the lease has ended ({error})"));
        }
    }

    /// What has happened since the last call: servers that do not work, and the loss of the lease. Each once.
    pub fn news(&mut self) -> Vec<Alarm> {
        loop {
            match self.events.try_recv() {
                Ok(event) => self.hear(event),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    self.lose("the process of the lease has ended".to_owned());
                    break;
                }
            }
        }
        if self.unanswered_since.is_some_and(|since| since.elapsed() > self.valid) {
            self.lose("the process of the lease does not answer".to_owned());
        }
        std::mem::take(&mut self.pending)
    }

    fn hear(&mut self, event: LeaseEvent) {
        match event {
            LeaseEvent::Renewed(number) => {
                self.answered = number;
                self.unanswered_since = if number < self.sent { Some(Instant::now()) } else { None };
            }
            LeaseEvent::Unhealthy { server, reason } => {
                self.pending.push(Alarm::DoesNotWork { server: server.clone(), reason });
                self.unhealthy.push(server);
            }
            LeaseEvent::Lost(reason) => self.lose(reason),
            LeaseEvent::TakenOut(what) => self.pending.extend(what.into_iter().map(Alarm::TakenOut)),
            LeaseEvent::Listening(_) | LeaseEvent::Refused(_) => {}
        }
    }

    /// Whether the process answers now, and every server works: asks it, and waits at most for the time that the lease is valid. A weight is
    /// raised only after it.
    pub fn is_valid(&mut self) -> bool {
        self.renew();
        let (number, start) = (self.sent, Instant::now());
        while self.lost.is_none() && self.answered < number {
            match self.events.recv_timeout(self.valid.saturating_sub(start.elapsed())) {
                Ok(event) => self.hear(event),
                Err(_) => self.lose("the process of the lease does not answer".to_owned()),
            }
        }
        self.lost.is_none() && self.unhealthy.is_empty()
    }

    fn lose(&mut self, reason: String) {
        if self.lost.is_none() {
            self.pending.push(Alarm::LeaseLost(reason.clone()));
            self.lost = Some(reason);
            // The process takes the servers out, if it can.
            self.renewals = None;
        }
    }

    /// Servers whose beacon is closed, because they do not work.
    pub fn unhealthy(&self) -> &[Name] {
        &self.unhealthy
    }

    /// Why the lease is lost, if it is.
    pub fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    /// Gives the lease back. The servers are removed by then.
    pub fn release(mut self) {
        if let Some(renewals) = &mut self.renewals {
            let _ = send(renewals, &Renewal::Release);
        }
        self.renewals = None;
        let start = Instant::now();
        while start.elapsed() < START_LIMIT {
            match self.child.try_wait() {
                Ok(None) => thread::sleep(Duration::from_millis(5)),
                Ok(Some(_)) | Err(_) => return,
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start_error(program: &Path, source: io::Error) -> LeaseError {
    LeaseError::Start { program: program.to_owned(), source }
}

fn send(to: &mut ChildStdin, line: &impl serde::Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    to.write_all(&bytes)?;
    to.flush()
}

fn receive(output: impl Read, events: &Sender<LeaseEvent>) {
    let mut output = BufReader::new(output);
    loop {
        let mut line = String::new();
        let read = output.by_ref().take(MOST_LINE_BYTES).read_line(&mut line);
        if !matches!(read, Ok(length) if length > 0) {
            return;
        }
        if let Ok(event) = serde_json::from_str(&line)
            && events.send(event).is_err()
        {
            return;
        }
    }
}
