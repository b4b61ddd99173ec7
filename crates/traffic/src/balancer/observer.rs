//! One second of a balancer: its counters as differences, the lines of its log, and what somebody else has changed. What follows from it is
//! decided elsewhere.

use std::collections::HashMap;
use std::path::Path;

use super::interface::{BackendCounters, Balancer, BalancerError, ServerCounters, ServerReading};
use super::log::line::FORMAT;
use super::log::receiver::{LogReceiver, ReceivedLog, ServerLog};
use super::watch::Watch;
use crate::observation::{Alarm, BalancerIdentity, Change, Failures, ServerState, ServerWindow, Window};

/// After how many windows in a row lines and counters that do not agree are an alarm.
const WINDOWS_OF_DISAGREEMENT: u32 = 3;

/// By how many requests they may always differ: what ends while both are read.
const SLACK: u64 = 20;

/// What the balancer said in one moment.
struct Moment {
    identity: BalancerIdentity,
    servers: Vec<ServerReading>,
    counters: BackendCounters,
}

fn ask(balancer: &mut dyn Balancer) -> Result<Moment, BalancerError> {
    let servers = balancer.read()?;
    let (identity, counters) = balancer.now()?;
    Ok(Moment { identity, servers, counters })
}

/// Whether the log of a server has as many lines as the balancer has counted requests.
#[derive(Debug, Clone, Default)]
struct Agreement {
    lines: u64,
    /// Requests that may have a line by now.
    most: u64,
    /// Requests that have no line of this server: another one answered in the end, or nobody did.
    without_line: u64,
    in_progress_at_first: u64,
    windows: u32,
    is_reported: bool,
}

impl Agreement {
    /// Adds a window. Returns what is wrong, once.
    fn add(&mut self, window: &ServerWindow, without_line: u64) -> Option<Alarm> {
        self.lines += window.log_lines;
        self.most += window.requests;
        self.without_line += window.failed.redispatched + without_line;
        let most = self.most + self.in_progress_at_first;
        let least = self.most.saturating_sub(self.without_line + window.in_progress);
        let slack = SLACK + 2 * window.requests;
        let agrees = (least.saturating_sub(slack)..=most + slack).contains(&self.lines);
        self.windows = if agrees { 0 } else { self.windows + 1 };
        if self.windows < WINDOWS_OF_DISAGREEMENT || self.is_reported {
            return None;
        }
        self.is_reported = true;
        let (server, lines, requests) = (window.server.clone(), self.lines, self.most);
        Some(if lines == 0 {
            Alarm::NoLog { server, requests, format: FORMAT }
        } else {
            Alarm::LogDisagrees { server, lines, requests }
        })
    }
}

/// Looks at a balancer once a second.
pub struct Observer {
    watch: Watch,
    /// Counters of the last window that was read, and whose they were.
    before: (BalancerIdentity, BackendCounters),
    agreements: HashMap<String, Agreement>,
    /// All servers that were ever there, in the order of their appearance.
    known: Vec<String>,
    /// The process of before a reload, until it has ended.
    old_process: Option<u32>,
    second: u64,
}

impl Observer {
    /// Begins with everything as it is now.
    pub fn start(balancer: &mut dyn Balancer, backend: &str) -> Result<Self, BalancerError> {
        let Moment { identity, servers, counters } = ask(balancer)?;
        let mut observer = Self {
            watch: Watch::new(backend, identity.clone(), &servers),
            agreements: HashMap::new(),
            known: servers.iter().map(|server| server.name.clone()).collect(),
            before: (identity, BackendCounters::default()),
            old_process: None,
            second: 0,
        };
        observer.begin_counting(counters);
        Ok(observer)
    }

    /// What is expected of the balancer: this run's own changes are not reported.
    pub fn watch(&mut self) -> &mut Watch {
        &mut self.watch
    }

    /// This run has added a server, which looks so now.
    pub fn add(&mut self, reading: &ServerReading) {
        self.watch.expect_server(reading);
        if !self.known.contains(&reading.name) {
            self.known.push(reading.name.clone());
        }
    }

    /// The process that answered last.
    pub fn identity(&self) -> &BalancerIdentity {
        &self.before.0
    }

    fn begin_counting(&mut self, mut counters: BackendCounters) {
        self.agreements.clear();
        for server in &mut counters.servers {
            // Those that are being answered now, and were counted, may show as unanswered when they have ended.
            server.unanswered += server.in_progress;
            let agreement = Agreement { in_progress_at_first: server.in_progress, ..Agreement::default() };
            self.agreements.insert(server.name.clone(), agreement);
        }
        self.before.1 = counters;
    }

    /// The window since the last call, and what somebody else has changed. It is never an error: what was not read is missing in it.
    pub fn observe(&mut self, balancer: &mut dyn Balancer, log: &LogReceiver) -> (Window, Vec<Change>) {
        let asked = ask(balancer);
        let received = log.take();
        let second = self.second;
        self.second += 1;
        let mut alarms = Vec::new();
        if !log.is_open() {
            alarms.push(Alarm::LogClosed { address: log.address().to_string() });
        }
        let Ok(moment) = asked else {
            let pid = self.before.0.pid;
            let mut servers: Vec<ServerWindow> =
                self.known.iter().map(|name| unanswered(name, &received)).collect();
            if !is_alive(pid) {
                alarms.push(Alarm::BalancerEnded { pid });
                // With the process, its servers and their sessions are gone.
                for server in &mut servers {
                    server.state = Some(ServerState::Absent);
                }
            }
            let old_process = self.old_process.filter(|pid| is_alive(*pid));
            return (Window { second, identity: None, servers, old_process, alarms }, Vec::new());
        };
        let Moment { identity, servers, counters } = moment;
        let changes = self.watch.changes(&identity, &servers, is_alive);
        for change in &changes {
            if let Change::Reloaded { before, .. } = change {
                self.old_process = Some(*before);
            }
        }
        self.old_process.take_if(|pid| !is_alive(*pid));
        let is_same_process =
            (self.before.0.pid, self.before.0.started_s) == (identity.pid, identity.started_s);
        let has_dropped = counters.dropped_log_lines != self.before.1.dropped_log_lines;
        let mut windows = Vec::new();
        for reading in &servers {
            if !self.known.contains(&reading.name) {
                self.known.push(reading.name.clone());
            }
            let now = of(&counters, &reading.name);
            let before = of(&self.before.1, &reading.name);
            let lines = received.servers.get(&reading.name).cloned().unwrap_or_default();
            let log_arrived = log.is_open() && !has_dropped && !lines.has_overflowed;
            let silent = lines.silent;
            let mut window = window(reading, lines, log_arrived);
            window.is_backup = now.is_some_and(|now| now.is_backup);
            // A server that was added has no counters before.
            let before = if is_same_process { Some(before.cloned().unwrap_or_default()) } else { None };
            if let Some((now, before)) = now.zip(before)
                && let Some(without_line) = fill(&mut window, now, &before)
            {
                window.failed.reset += silent;
                let agreement = self.agreements.entry(reading.name.clone()).or_default();
                alarms.extend(agreement.add(&window, without_line));
            }
            windows.push(window);
        }
        for name in &self.known {
            if !servers.iter().any(|server| server.name == *name) {
                windows
                    .push(ServerWindow { state: Some(ServerState::Absent), ..unanswered(name, &received) });
            }
        }
        self.before.0 = identity.clone();
        if is_same_process {
            self.before.1 = at_least(counters, &self.before.1);
        } else {
            self.begin_counting(counters);
        }
        let old_process = self.old_process;
        (Window { second, identity: Some(identity), servers: windows, old_process, alarms }, changes)
    }
}

fn is_alive(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

fn of<'a>(counters: &'a BackendCounters, name: &str) -> Option<&'a ServerCounters> {
    counters.servers.iter().find(|server| server.name == name)
}

fn unanswered(name: &str, received: &ReceivedLog) -> ServerWindow {
    let lines = received.servers.get(name).cloned().unwrap_or_default();
    ServerWindow { log_lines: lines.lines, response_ms: lines.response_ms, ..ServerWindow::nothing(name) }
}

fn window(reading: &ServerReading, lines: ServerLog, log_arrived: bool) -> ServerWindow {
    ServerWindow {
        address: reading.address.clone(),
        weight: Some(reading.weight),
        state: Some(reading.state),
        log_lines: lines.lines,
        response_ms: lines.response_ms,
        log_arrived,
        ..ServerWindow::nothing(&reading.name)
    }
}

/// With no fewer unanswered requests than before: an answer in progress hides one until it has ended.
fn at_least(mut counters: BackendCounters, before: &BackendCounters) -> BackendCounters {
    for server in &mut counters.servers {
        let known = of(before, &server.name).map_or(0, |before| before.unanswered);
        // Counters that somebody has cleared begin anew.
        if server.requests >= known {
            server.unanswered = server.unanswered.max(known);
        }
    }
    counters
}

/// Fills in the differences of the counters, and returns how many requests have no line of the log: those that were tried again, and
/// those that nobody answered. None if a counter goes backwards: somebody has cleared them (`clear counters all`), and the next window
/// begins anew.
fn fill(window: &mut ServerWindow, now: &ServerCounters, before: &ServerCounters) -> Option<u64> {
    let requests = now.requests.checked_sub(before.requests)?;
    let unanswered = now.unanswered.saturating_sub(before.unanswered);
    let failed = Failures {
        refused: now.connection_errors.checked_sub(before.connection_errors)?,
        reset: now.response_errors.checked_sub(before.response_errors)? + unanswered,
        status_5xx: now.status_5xx.checked_sub(before.status_5xx)?,
        redispatched: now.redispatches.checked_sub(before.redispatches)?,
    };
    let retries = now.retries.checked_sub(before.retries)?;
    window.requests = requests;
    window.failed = failed;
    window.in_progress = now.in_progress;
    window.counters_arrived = true;
    Some(retries + unanswered)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agreement(windows: &[(u64, u64)]) -> Vec<String> {
        let mut agreement = Agreement::default();
        let mut found = Vec::new();
        for (requests, lines) in windows {
            let received = ReceivedLog::default();
            let window =
                ServerWindow { requests: *requests, log_lines: *lines, ..unanswered("new", &received) };
            found.extend(agreement.add(&window, 0).map(|alarm| alarm.to_string()));
        }
        found
    }

    #[test]
    fn lines_that_are_late_agree_and_lines_that_are_lost_do_not() {
        assert_eq!(agreement(&[(50, 50); 20]), [""; 0]);
        assert_eq!(agreement(&[(50, 0), (50, 50), (50, 100), (0, 0), (0, 0), (0, 0)]), [""; 0]);
        let lost = agreement(&[(50, 40); 30]);
        assert!(lost.len() == 1 && lost[0].contains("lines are lost"), "{lost:?}");
        let none = agreement(&[(50, 0); 6]);
        assert!(none.len() == 1 && none[0].contains("no line of the log about new"), "{none:?}");
        let forged = agreement(&[(50, 90); 30]);
        assert!(forged.len() == 1 && forged[0].contains("somebody else sends"), "{forged:?}");
        assert_eq!(agreement(&[(0, 0); 10]), [""; 0], "no traffic needs no lines");
    }

    #[test]
    fn counters_are_differences_and_those_that_go_backwards_are_none() {
        let received = ReceivedLog::default();
        let mut window = unanswered("new", &received);
        let before =
            ServerCounters { requests: 10, status_5xx: 1, redispatches: 2, ..ServerCounters::default() };
        let now =
            ServerCounters { requests: 15, status_5xx: 3, redispatches: 2, in_progress: 4, ..before.clone() };
        assert_eq!(fill(&mut window, &now, &before), Some(0));
        assert_eq!((window.requests, window.failed.status_5xx, window.in_progress), (5, 2, 4));
        assert!(window.counters_arrived);
        let mut cleared = unanswered("new", &received);
        assert_eq!(fill(&mut cleared, &ServerCounters::default(), &before), None);
        assert!(!cleared.counters_arrived);
    }

    fn counters_with(unanswered: u64) -> BackendCounters {
        let server =
            ServerCounters { name: "new".to_owned(), requests: 50, unanswered, ..ServerCounters::default() };
        BackendCounters { servers: vec![server], dropped_log_lines: 0 }
    }

    #[test]
    fn an_answer_in_progress_takes_no_failure_back() {
        let mut total = 0;
        let mut before = counters_with(0);
        for seen in [3, 1, 3, 4] {
            let now = counters_with(seen);
            let mut window = unanswered("new", &ReceivedLog::default());
            let (of_now, of_before) = (&now.servers[0], &before.servers[0]);
            assert_eq!(
                fill(&mut window, of_now, of_before),
                Some(window.failed.reset),
                "none of them has a line"
            );
            total += window.failed.reset;
            before = at_least(now, &before);
        }
        assert_eq!(total, 4);
    }
}
