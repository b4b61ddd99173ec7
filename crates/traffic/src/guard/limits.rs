//! Hard limits: what is so bad in two of three windows that no statistics is waited for, and data that is missing for three windows.

use std::collections::{BTreeMap, VecDeque};

use super::reason::{Breach, Reason, Stop};
use crate::name::Name;
use crate::observation::{Failures, MailWindow, ServerState, ServerWindow, Window};
use crate::weights::Participants;

/// Windows that a limit looks at.
const WINDOWS: usize = 3;
/// Windows above the limit that are a breach.
const ABOVE: usize = 2;
/// Fewer events within the windows are no breach, whatever their share: a server with few requests has large shares by chance.
const FEWEST_EVENTS: u64 = 5;

/// A server that answers so often in a second, in the mean, answers in each of two seconds: e⁻²⁰ is the probability of none by chance.
const OFTEN: u64 = 10;

/// The limits of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HardLimits {
    /// The share of requests that may fail.
    pub failed: f64,
    /// The share of answers that may be late.
    pub late: f64,
    /// The share of messages that a mail server may defer.
    pub deferred: f64,
    /// How long a message may be in the queue of a mail server, in seconds.
    pub queued_s: u64,
    /// What is late, in ms.
    pub objective_ms: u32,
}

/// What a limit needs of one window of a server.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    requests: u64,
    in_progress: u64,
    failed: Failures,
    late: u64,
    answered: u64,
    lines: u64,
    has_counters: bool,
    has_log: bool,
    mail: Option<MailWindow>,
}

impl Seen {
    /// Whether requests wait, and none is answered.
    fn is_hanging(&self) -> bool {
        self.has_counters && self.has_log && self.lines == 0 && self.in_progress >= FEWEST_EVENTS
    }
}

/// The last windows of each server that takes part.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    hard: HardLimits,
    seen: BTreeMap<Name, VecDeque<Seen>>,
    habits: BTreeMap<Name, Habit>,
}

/// How often a server answers.
#[derive(Debug, Clone, Copy, Default)]
struct Habit {
    windows: u64,
    lines: u64,
}

impl Habit {
    fn add(&mut self, seen: &Seen) {
        self.windows += 1;
        self.lines += seen.lines;
    }

    /// Whether it has answers in each second: then two seconds without one are no long sessions.
    fn is_often(self) -> bool {
        self.windows > 0 && self.lines >= OFTEN * self.windows
    }
}

impl Limits {
    pub(super) fn new(hard: HardLimits) -> Self {
        Self { hard, seen: BTreeMap::new(), habits: BTreeMap::new() }
    }

    /// The control is looked at first: where both breach a limit, the candidate is not to blame.
    pub(super) fn check(&mut self, window: &Window, participants: &Participants) -> Option<Reason> {
        for name in participants.all() {
            let seen = window.server(name.as_str()).map_or_else(Seen::default, |server| self.see(server));
            let last = self.seen.entry(name.clone()).or_default();
            last.push_back(seen);
            if last.len() > WINDOWS
                && let Some(earlier) = last.pop_front()
            {
                self.habits.entry(name.clone()).or_default().add(&earlier);
            }
        }
        if let Some(control) = &participants.control
            && let Some(breach) = self.breach(window, control)
        {
            return Some(match breach {
                no_data @ Breach::NoData { .. } => no_data.into(),
                breach => Stop::ControlFailed(Box::new(breach)).into(),
            });
        }
        self.breach(window, &participants.candidate).map(Reason::from)
    }

    fn see(&self, server: &ServerWindow) -> Seen {
        Seen {
            requests: server.requests,
            in_progress: server.in_progress,
            failed: server.failed,
            late: server.late(self.hard.objective_ms),
            answered: server.response_ms.len() as u64,
            lines: server.log_lines,
            has_counters: server.counters_arrived,
            has_log: server.log_arrived,
            mail: server.mail,
        }
    }

    fn breach(&self, window: &Window, name: &Name) -> Option<Breach> {
        if let Some(state) = window.server(name.as_str()).and_then(|server| server.state)
            && state != ServerState::Up
        {
            return Some(Breach::NotUp { server: name.clone(), state });
        }
        let seen = self.seen.get(name)?;
        let is_full = seen.len() == WINDOWS;
        for (what, is_missing) in [
            ("counters", is_full && seen.iter().all(|seen| !seen.has_counters)),
            ("log", is_full && seen.iter().all(|seen| !seen.has_log)),
            ("mail log", is_full && seen.iter().all(|seen| seen.mail.is_some_and(|mail| !mail.log_arrived))),
        ] {
            if is_missing {
                return Some(Breach::NoData { what, server: name.clone() });
            }
        }
        let requests: u64 = seen.iter().map(|seen| seen.requests).sum();
        let failed: u64 = seen.iter().map(|seen| seen.failed.total()).sum();
        if is_above(seen.iter().map(|seen| (seen.failed.total(), seen.requests)), self.hard.failed) {
            let kinds = kinds(seen.iter().map(|seen| seen.failed));
            return Some(Breach::HardFailures { failed, requests, kinds, limit: self.hard.failed });
        }
        if is_above(seen.iter().map(|seen| (seen.late, seen.answered)), self.hard.late) {
            let late = seen.iter().map(|seen| seen.late).sum();
            let requests = seen.iter().map(|seen| seen.answered).sum();
            return Some(Breach::HardLateness { late, requests, limit: self.hard.late });
        }
        if seen.iter().any(|seen| seen.mail.is_some()) {
            return self.breach_of_mail(name, seen);
        }
        let is_silent = is_full && seen.iter().all(|seen| seen.requests > 0 && seen.lines == 0);
        if is_silent && requests >= FEWEST_EVENTS {
            return Some(Breach::NoAnswers { requests });
        }
        // Users who wait for a server that hangs send it nothing more.
        let in_progress = seen.back()?.in_progress;
        let hangs = seen.iter().rev().take(ABOVE).all(Seen::is_hanging);
        let mut habit = self.habits.get(name).copied().unwrap_or_default();
        if is_full {
            habit.add(&seen[0]);
        }
        (hangs && habit.is_often()).then_some(Breach::Hangs { in_progress })
    }

    /// A session of mail may last for minutes, and its line of the balancer's log comes at its end: that there is none says nothing. Its
    /// server has a line from the beginning on.
    fn breach_of_mail(&self, name: &Name, seen: &VecDeque<Seen>) -> Option<Breach> {
        let mails: Vec<MailWindow> = seen.iter().filter_map(|seen| seen.mail).collect();
        if is_above(mails.iter().map(|mail| (mail.deferred, mail.messages)), self.hard.deferred) {
            let deferred = mails.iter().map(|mail| mail.deferred).sum();
            let messages = mails.iter().map(|mail| mail.messages).sum();
            return Some(Breach::HardDeferrals { deferred, messages, limit: self.hard.deferred });
        }
        let last = mails.last()?;
        // A few messages may be for servers that are down.
        if last.overdue >= FEWEST_EVENTS {
            return Some(Breach::Overdue {
                server: name.clone(),
                overdue: last.overdue,
                oldest_s: last.oldest_queued_s,
                limit_s: self.hard.queued_s,
            });
        }
        let requests: u64 = seen.iter().map(|seen| seen.requests).sum();
        let is_silent =
            mails.len() == WINDOWS && mails.iter().all(|mail| mail.log_arrived && mail.lines == 0);
        let has_sessions = seen.iter().all(|seen| seen.requests > 0) && requests >= FEWEST_EVENTS;
        (is_silent && has_sessions).then(|| Breach::SilentMailLog { server: name.clone(), requests })
    }
}

/// Whether the share of events is above the limit in two of three windows, and the events are no accident of few requests.
fn is_above(windows: impl Iterator<Item = (u64, u64)>, limit: f64) -> bool {
    let (mut above, mut events) = (0, 0);
    for (of_window, requests) in windows {
        events += of_window;
        if of_window > 0 && of_window as f64 > limit * requests as f64 {
            above += 1;
        }
    }
    above >= ABOVE && events >= FEWEST_EVENTS
}

/// The kinds of failures in words: "3 × refused, 2 × status 5xx".
fn kinds(failures: impl Iterator<Item = Failures>) -> String {
    let mut sums = [("refused", 0), ("reset", 0), ("status 5xx", 0), ("sent to another server", 0)];
    for failed in failures {
        let counts = [failed.refused, failed.reset, failed.status_5xx, failed.redispatched];
        for (sum, count) in sums.iter_mut().zip(counts) {
            sum.1 += count;
        }
    }
    let present = sums.iter().filter(|(_, count)| *count > 0);
    present.map(|(kind, count)| format!("{count} × {kind}")).collect::<Vec<_>>().join(", ")
}
