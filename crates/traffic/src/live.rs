//! One run at one balancer: everything that acts, as the deciding part calls it. It observes a second, does what is asked, and leaves the
//! balancer as it was, however the run ends.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::balancer::haproxy::new_server;
use crate::balancer::haproxy::refusals::{self, Refusal, Unseen};
use crate::balancer::interface::{Balancer, BalancerError};
use crate::balancer::lock::{BalancerLock, BalancerLockError, LockRole};
use crate::balancer::log::receiver::{LogAddress, LogError, LogReceiver};
use crate::balancer::observer::Observer;
use crate::balancer::{Haproxy, NewServer};
use crate::control::{self, Control};
use crate::journal::{JournalError, JournalLine, Opened, ShiftJournal, now_s};
use crate::lease::protocol::LeaseOrder;
use crate::lease::{Lease, LeaseError, LeaseMember, Probe};
use crate::mail::logs::{MailLogError, MailLogs, MailSettings};
use crate::name::Name;
use crate::observation::{Action, Alarm, Window};
use crate::recovery::{self, REMOVE_INTERVAL, REMOVE_LIMIT, Recovered, take_out};

/// Where a run works.
#[derive(Debug, Clone)]
pub struct LiveSettings {
    /// The balancer's admin socket.
    pub socket: PathBuf,
    /// The backend.
    pub backend: Name,
    /// Where its log arrives.
    pub log: LogAddress,
    /// The run's directory: journal, control socket, record of the lease.
    pub directory: PathBuf,
    /// The logs of mail servers. None if this is no mail.
    pub mail: Option<MailSettings>,
    /// HAProxy's configuration, if the plan names it.
    pub configuration: Option<PathBuf>,
    /// The program that becomes the process of the lease: one whose main calls [`crate::lease::lease_main`].
    pub program: PathBuf,
    /// How long the lease is valid without a renewal.
    pub lease_valid: Duration,
}

/// A server that joins the backend for the run: the candidate, or its control.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joining {
    /// Its name in the backend.
    pub name: Name,
    /// Where it listens.
    pub address: SocketAddr,
    /// How the lease asks whether it works.
    pub probe: Probe,
    /// Whether the balancer begins each connection with the PROXY protocol.
    pub sends_proxy_header: bool,
    /// The most connections at once.
    pub most_connections: Option<u32>,
}

/// Why a run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// Another run uses the balancer.
    #[error(transparent)]
    Locked(#[from] BalancerLockError),
    /// The balancer, or a server, is not fit for it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The log does not arrive.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The log of a mail server cannot be read.
    #[error(transparent)]
    MailLog(#[from] MailLogError),
    /// The journal cannot be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// There is no lease.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// The balancer does not do what it is asked.
    #[error(transparent)]
    Balancer(#[from] BalancerError),
    /// The control socket cannot be made.
    #[error("cannot make the control socket in {}: {source}: choose another directory for runs", directory.display())]
    Control {
        /// The run's directory.
        directory: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// What an earlier run has left cannot be undone.
    #[error(
        "an earlier run has left the balancer changed, and it cannot be undone: {0}: run `showdown shift PLAN --abort`"
    )]
    Unfinished(String),
    /// A weight is to be raised after something went wrong.
    #[error("the weight of {server} is not raised: {reason}")]
    NotRaised {
        /// The server.
        server: String,
        /// Why.
        reason: String,
    },
    /// The name is none.
    #[error(transparent)]
    Name(#[from] crate::name::BadName),
}

/// A run at a balancer. Dropped before [`Action::Done`], it takes its servers out.
pub struct LiveBalancer {
    settings: LiveSettings,
    balancer: Haproxy,
    observer: Observer,
    journal: ShiftJournal,
    log: LogReceiver,
    mail: Option<MailLogs>,
    lease: Option<Lease>,
    control: Control,
    unseen: Vec<Unseen>,
    notes: Vec<String>,
    recovered: Recovered,
    /// The weight of each server, as this run has set or found it.
    weights: BTreeMap<Name, u32>,
    added: Vec<Name>,
    /// Why no weight is raised any more.
    only_lowers: Option<String>,
    /// The balancer's process has ended, and with it all weights that this run has set.
    has_ended: bool,
    /// Alarms for the next window.
    alarms: Vec<Alarm>,
    _lock: BalancerLock,
}

impl LiveBalancer {
    /// Checks a balancer and begins a run at it. What a killed run has left is undone first.
    pub fn open(mut settings: LiveSettings) -> Result<Self, LiveError> {
        // The process of the lease has another working directory.
        for path in [&mut settings.socket, &mut settings.directory] {
            if let Ok(absolute) = std::path::absolute(&*path) {
                *path = absolute;
            }
        }
        let lock = BalancerLock::take(&settings.socket, LockRole::Run)?;
        let mut journal = ShiftJournal::lock(&settings.directory)?;
        let recovered = recovery::recover(&mut journal, REMOVE_LIMIT)?;
        if let Some(left) = recovered.left.first() {
            return Err(LiveError::Unfinished(left.clone()));
        }
        let mut balancer = Haproxy::new(&settings.socket, &settings.backend);
        let checked =
            refusals::check(&mut balancer, settings.mail.is_some(), settings.configuration.as_deref())?;
        let mail = settings.mail.as_ref().map(MailLogs::open).transpose()?;
        let log = LogReceiver::start(&settings.log, settings.backend.as_str())?;
        let observer = Observer::start(&mut balancer, settings.backend.as_str())?;
        let mut weights = BTreeMap::new();
        for server in balancer.read()? {
            weights.insert(server.name.parse::<Name>()?, server.weight);
        }
        control::forget_earlier(&settings.directory);
        journal.begin(Opened {
            socket: settings.socket.canonicalize().unwrap_or_else(|_| settings.socket.clone()),
            backend: settings.backend.clone(),
            identity: observer.identity().clone(),
            weights: weights.iter().map(|(name, weight)| (name.to_string(), *weight)).collect(),
            at_s: now_s(),
        })?;
        let control = Control::serve(&settings.directory)
            .map_err(|source| LiveError::Control { directory: settings.directory.clone(), source })?;
        Ok(Self {
            balancer,
            observer,
            journal,
            log,
            mail,
            lease: None,
            control,
            unseen: checked.unseen,
            notes: checked.notes,
            recovered,
            weights,
            added: Vec::new(),
            only_lowers: None,
            has_ended: false,
            alarms: Vec::new(),
            settings,
            _lock: lock,
        })
    }

    /// Writes down where the record of this run is: whoever comes after its death finds it.
    pub fn journal_record(&mut self, directory: &Path) -> Result<(), LiveError> {
        Ok(self.journal.write(JournalLine::Record(directory.to_owned()))?)
    }

    /// What could not be checked, and a person has to vouch for.
    pub fn unseen(&self) -> &[Unseen] {
        &self.unseen
    }

    /// What a person should know before the start.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What was undone: before the start what an earlier run had left, at the end what this run has changed.
    pub fn recovered(&self) -> &Recovered {
        &self.recovered
    }

    /// Where the log arrives.
    pub fn log_address(&self) -> &LogAddress {
        self.log.address()
    }

    /// Where the balancer reaches a server; none if that is no address with a port, or the server is not there.
    pub fn address_of(&mut self, server: &Name) -> Option<SocketAddr> {
        let readings = self.balancer.read().ok()?;
        readings.iter().find(|reading| reading.name == server.as_str())?.address.parse().ok()
    }

    /// The process of the lease, once servers have joined.
    pub fn lease_pid(&self) -> Option<u32> {
        self.lease.as_ref().map(Lease::pid)
    }

    /// Checks that servers can join, and changes nothing.
    pub fn check_joining(&mut self, joining: &[Joining]) -> Result<(), LiveError> {
        for server in joining {
            new_server::check_new(&mut self.balancer, &new_server(server, None))?;
        }
        Ok(())
    }

    /// Adds servers with weight 0, under a lease. Called once, before any weight is raised.
    pub fn join(&mut self, joining: &[Joining]) -> Result<(), LiveError> {
        // Again: a person may have thought about the question for an hour.
        self.check_joining(joining)?;
        let mut members = Vec::new();
        for Joining { name, address, probe, .. } in joining {
            members.push(LeaseMember { server: name.clone(), address: *address, probe: probe.clone() });
        }
        let order = LeaseOrder {
            socket: self.settings.socket.clone(),
            backend: self.settings.backend.clone(),
            members,
            valid_ms: u64::try_from(self.settings.lease_valid.as_millis()).unwrap_or(u64::MAX),
            directory: self.settings.directory.clone(),
        };
        let lease = Lease::start(&self.settings.program, &order)?;
        let beacons = lease.beacons().to_vec();
        self.lease = Some(lease);
        for (server, beacon) in joining.iter().zip(beacons) {
            let new = new_server(server, Some(beacon));
            self.journal.write(JournalLine::Adding(new.clone()))?;
            self.added.push(server.name.clone());
            self.balancer.add(&new)?;
            self.weights.insert(server.name.clone(), 0);
            self.renew();
        }
        for reading in self.balancer.read()? {
            if joining.iter().any(|server| server.name.as_str() == reading.name) {
                self.observer.add(&reading);
            }
        }
        Ok(())
    }

    /// Renews the lease. The loop of the run calls this several times a second, and no other thread does. A server that does not work gets
    /// weight 0 at once, and after the loss of the lease all that were added: the next window says why.
    pub fn renew(&mut self) {
        let Some(lease) = &mut self.lease else { return };
        lease.renew();
        let news = lease.news();
        if news.is_empty() {
            return;
        }
        let is_lost = lease.lost().is_some();
        let mut lowered = if is_lost { self.added.clone() } else { lease.unhealthy().to_vec() };
        self.only_lowers.get_or_insert_with(|| news[0].to_string());
        self.alarms.extend(news);
        lowered.retain(|server| self.weights.get(server).is_some_and(|weight| *weight > 0));
        for server in lowered {
            if let Err(error) = self.set_weight(&server, 0) {
                self.alarms.push(Alarm::NotDone(error.to_string()));
            }
        }
    }

    /// What happened since the last call: called once a second. After an alarm no weight of an added server is raised.
    pub fn observe(&mut self) -> Window {
        let (mut window, changes) = self.observer.observe(&mut self.balancer, &self.log);
        if let Some(mail) = &mut self.mail {
            mail.fill(&mut window);
        }
        // After the balancer was read: what the process of the lease has changed there, it has said before.
        self.renew();
        let mut alarms = std::mem::take(&mut self.alarms);
        alarms.extend(self.control.abort_request().map(|by| Alarm::Aborted { by }));
        for change in changes {
            // After the loss of the lease its process takes them out: this is no stranger.
            let is_of_lease = self.has_lost_lease()
                && self.added.iter().any(|added| change.server() == Some(added.as_str()));
            if !is_of_lease {
                alarms.push(Alarm::Changed(change));
            }
        }
        alarms.append(&mut window.alarms);
        self.has_ended |= alarms.iter().any(|alarm| matches!(alarm, Alarm::BalancerEnded { .. }));
        window.alarms = alarms;
        if let Some(alarm) = window.alarms.first() {
            self.only_lowers.get_or_insert_with(|| alarm.to_string());
        }
        self.say_if_out();
        control::write_window(&self.settings.directory, &window);
        window
    }

    fn has_lost_lease(&self) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.lost().is_some())
    }

    /// Does what is asked, and reads it back.
    pub fn apply(&mut self, action: &Action) -> Result<(), LiveError> {
        match action {
            Action::SetWeight { server, weight } => self.set_weight(server, *weight)?,
            Action::Done => self.finish()?,
        }
        self.say_if_out();
        Ok(())
    }

    /// After an alarm nothing is raised, and the request for the end is one.
    fn say_if_out(&self) {
        if self.only_lowers.is_some() && self.added.iter().all(|server| self.weights.get(server) == Some(&0))
        {
            self.control.say_out();
        }
    }

    fn set_weight(&mut self, server: &Name, weight: u32) -> Result<(), LiveError> {
        let is_added = self.added.contains(server);
        let before = self.weights.get(server).copied();
        let is_raise = before.is_none_or(|before| weight > before);
        if is_raise && is_added {
            self.check_raise(server)?;
        }
        let line = JournalLine::Setting { server: server.clone(), weight, at_s: now_s() };
        match self.journal.write(line) {
            Ok(()) => {}
            Err(error) if is_raise => return Err(error.into()),
            // The journal must not stand in the way of a rollback.
            Err(error) => self.alarms.push(Alarm::NotDone(error.to_string())),
        }
        if is_added && !is_raise && before != Some(weight) {
            self.only_lowers.get_or_insert_with(|| {
                format!("its weight was lowered to {weight}, and a rollback only lowers")
            });
        }
        match self.balancer.set(server, weight) {
            Ok(()) => {}
            // The balancer was reloaded: a server that it does not know gets nothing.
            Err(BalancerError::NoServer { .. }) if weight == 0 => {
                self.weights.insert(server.clone(), 0);
                return Ok(());
            }
            // It has ended: it sends nothing, and comes back with the weights of its configuration.
            Err(BalancerError::Unreachable { .. }) if self.has_ended => {
                self.weights.insert(server.clone(), weight);
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
        self.weights.insert(server.clone(), weight);
        self.observer.watch().expect_weight(server.as_str(), weight);
        let was_set = self.journal.write(JournalLine::WasSet { server: server.clone(), weight });
        if let Err(error) = was_set {
            self.alarms.push(Alarm::NotDone(error.to_string()));
        }
        Ok(())
    }

    fn check_raise(&mut self, server: &Name) -> Result<(), LiveError> {
        let not_raised =
            |reason: &str| LiveError::NotRaised { server: server.to_string(), reason: reason.to_owned() };
        if let Some(reason) = &self.only_lowers {
            return Err(not_raised(reason));
        }
        let Some(lease) = &mut self.lease else { return Err(not_raised("it has no lease")) };
        if lease.is_valid() {
            return Ok(());
        }
        Err(not_raised(lease.lost().unwrap_or("a server of the lease does not work")))
    }

    /// Takes the added servers out, removes those without a connection, gives the others their weights back, and ends journal and lease.
    fn finish(&mut self) -> Result<(), LiveError> {
        self.only_lowers.get_or_insert_with(|| "the run has ended".to_owned());
        for server in self.added.clone() {
            match take_out(&mut self.balancer, &server) {
                Ok(()) => {}
                Err(error) if error.has_ended() => {}
                Err(error) => return Err(error.into()),
            }
            self.journal.write(JournalLine::Withdrawn(server.clone()))?;
            self.weights.insert(server.clone(), 0);
        }
        let start = Instant::now();
        for server in self.added.clone() {
            while start.elapsed() < REMOVE_LIMIT {
                match self.balancer.remove(&server) {
                    Err(BalancerError::Refused { .. }) => {}
                    _ => break,
                }
                self.renew();
                thread::sleep(REMOVE_INTERVAL);
            }
            self.observer.watch().expect_no_server(server.as_str());
        }
        let recovered = recovery::recover(&mut self.journal, Duration::ZERO)?;
        if let Some(left) = recovered.left.first() {
            return Err(LiveError::Unfinished(left.clone()));
        }
        self.recovered = recovered;
        self.added.clear();
        if let Some(lease) = self.lease.take() {
            lease.release();
        }
        Ok(())
    }
}

impl Drop for LiveBalancer {
    /// What cannot be done here, the process of the lease does.
    fn drop(&mut self) {
        if self.journal.state().opened.is_some() {
            let _ = recovery::recover(&mut self.journal, Duration::ZERO);
        }
    }
}

fn new_server(server: &Joining, check: Option<SocketAddr>) -> NewServer {
    NewServer {
        name: server.name.clone(),
        address: server.address,
        check,
        sends_proxy_header: server.sends_proxy_header,
        most_connections: server.most_connections,
    }
}
