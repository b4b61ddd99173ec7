//! One operation step by step: the client's instants, the reads and sends of its connection, and what the thread that served it
//! did in between. The steps have no gaps and sum to its response time. Which operations are looked at is left to
//! [`slow_requests`](crate::watching::slow_requests).

use std::collections::{BTreeMap, HashMap};

#[cfg(test)]
use load::clock::Nanos;
use load::record::SingleOperation;
use profile::Activity;
use profile::threads::WaitKind;
use profile::waits::{ThreadSpan, ThreadState, Transfer};

/// A server's send ends up to this long after the client's kernel has its data, nanoseconds.
const SEND_ENDS: u64 = 1_000_000;

/// What happens in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The client waits for a connection, or sends late.
    Client,
    /// The request is on its way, or waits to be accepted, and the thread that reads it waits for work.
    Network,
    /// The thread that reads it does something else.
    Behind,
    /// The thread that has it runs.
    OnCpu,
    /// The thread that has it waits for a CPU.
    Runnable,
    /// The thread that has it waits for something else.
    Blocked(WaitKind),
    /// Another thread read it than the one that answers, and that one was not woken yet.
    HandedOver,
    /// The server has answered a part, and the client has not sent its next request yet.
    Between,
    /// The reply is on its way.
    Reply,
}

impl Part {
    /// Its name for readers.
    pub fn name(self) -> String {
        let name = match self {
            Self::Client => "client late",
            Self::Network => "network and accept queue",
            Self::Behind => "behind other operations of its thread",
            Self::OnCpu => "on the CPU",
            Self::Runnable => "waiting for a CPU",
            Self::Blocked(kind) => return format!("blocked: {}", kind.name()),
            Self::HandedOver => "handed to another thread",
            Self::Between => "between its requests",
            Self::Reply => "reply on its way",
        };
        name.to_owned()
    }
}

/// A step. Instants are nanoseconds of the machine's monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Its begin.
    pub from: u64,
    /// Its end.
    pub until: u64,
    /// What happens.
    pub part: Part,
    /// The server's thread, if one has the operation.
    pub tid: Option<u32>,
    /// Where it is blocked, and whether that is only likely.
    pub place: Option<(u32, bool)>,
    /// Who ended it.
    pub waker: Option<u32>,
}

impl Step {
    /// Its length, nanoseconds.
    pub fn ns(&self) -> u64 {
        self.until - self.from
    }
}

/// The activity of a server, with what each thread served.
pub struct Served<'a> {
    /// What its threads did.
    pub activity: &'a Activity,
    /// Reads and sends of each thread, ascending.
    by_thread: HashMap<u32, Vec<u64>>,
}

impl<'a> Served<'a> {
    /// Of an activity.
    pub fn new(activity: &'a Activity) -> Self {
        let mut by_thread: HashMap<u32, Vec<u64>> = HashMap::new();
        for Transfer { time, tid, .. } in activity.transfers.values().flatten() {
            by_thread.entry(*tid).or_default().push(*time);
        }
        for times in by_thread.values_mut() {
            times.sort_unstable();
        }
        Self { activity, by_thread }
    }

    /// The last read or send of a thread in a time, if there is one.
    fn last_served(&self, tid: u32, from: u64, until: u64) -> Option<u64> {
        let times = self.by_thread.get(&tid)?;
        let before = times.partition_point(|time| *time < until);
        times[..before].last().copied().filter(|time| *time >= from)
    }

    fn is_idle(&self, place: Option<u32>) -> Option<bool> {
        Some(self.activity.place(place?)?.is_idle)
    }

    fn kind(&self, place: Option<u32>) -> WaitKind {
        place.and_then(|place| self.activity.place(place)).map_or(WaitKind::Unknown, |place| place.kind)
    }
}

/// The steps of an operation. None where they are not known: it was not watched from begin to end, or nobody saw who read it, or
/// what the thread did then.
pub fn waterfall(single: &SingleOperation, served: &Served<'_>) -> Option<Vec<Step>> {
    let activity = served.activity;
    let (begin, sent, received) = (single.intended_start.0, single.sent.0, single.received.0);
    let port = single.local_port?;
    if sent < activity.from || received > activity.until || received <= sent || sent < begin {
        return None;
    }
    let mut steps = Steps { served, done: Vec::new(), at: begin };
    steps.add(sent, Part::Client, None);
    let mut transfers: Vec<Transfer> = activity.transfers(port, sent, received).to_vec();
    let after = activity.transfers(port, received + 1, received + SEND_ENDS);
    transfers
        .extend(after.first().filter(|next| !next.is_read).map(|next| Transfer { time: received, ..*next }));
    let mut reader = None;
    let mut has_answered = false;
    for Transfer { time, tid, is_read } in transfers {
        match (is_read, reader) {
            (true, None) if has_answered => {
                steps.add(time, Part::Between, None);
                reader = Some(tid);
            }
            (true, None) => {
                steps.arrive(time, tid)?;
                reader = Some(tid);
            }
            (false, Some(first)) => {
                steps.handle(time, tid, first)?;
                (reader, has_answered) = (None, true);
            }
            // A further part of the reply.
            (false, None) if has_answered => steps.handle(time, tid, tid)?,
            // A further part of the request, or a reply whose request was not seen.
            _ => {}
        }
    }
    match reader {
        Some(tid) => steps.handle(received, tid, tid)?,
        None if has_answered => steps.add(received, Part::Reply, None),
        None => return None,
    }
    Some(steps.done)
}

struct Steps<'s, 'a> {
    served: &'s Served<'a>,
    done: Vec<Step>,
    /// Until here there are steps.
    at: u64,
}

impl Steps<'_, '_> {
    /// A step from where the last one ended. Neighbours of the same sort are one.
    fn add(&mut self, until: u64, part: Part, tid: Option<u32>) {
        self.add_at(until, part, tid, None, None);
    }

    fn add_at(
        &mut self,
        until: u64,
        part: Part,
        tid: Option<u32>,
        place: Option<(u32, bool)>,
        waker: Option<u32>,
    ) {
        if until <= self.at {
            return;
        }
        let step = Step { from: self.at, until, part, tid, place, waker };
        self.at = until;
        match self.done.last_mut() {
            Some(last) if (last.part, last.tid, last.place) == (part, tid, place) && last.waker == waker => {
                last.until = until;
            }
            _ => self.done.push(step),
        }
    }

    /// The request waits until this thread reads it. None if nobody knows what that did.
    fn arrive(&mut self, read: u64, tid: u32) -> Option<()> {
        let spans = self.served.activity.spans(tid, self.at, read)?;
        let last_wait = spans.iter().rposition(|span| matches!(span.state, ThreadState::Blocked(..)));
        for (at, ThreadSpan { from, until, state }) in spans.iter().copied().enumerate() {
            match state {
                ThreadState::OnCpu => {
                    // What it does after it has served another connection is for this one.
                    let others = self.served.last_served(tid, from, until);
                    let is_last = at + 1 == spans.len();
                    let is_after_wait = last_wait.is_some_and(|wait| wait < at);
                    match others {
                        Some(other) if is_last => {
                            self.add(other, Part::Behind, Some(tid));
                            self.add(until, Part::OnCpu, Some(tid));
                        }
                        None if is_last && is_after_wait => self.add(until, Part::OnCpu, Some(tid)),
                        _ => self.add(until, Part::Behind, Some(tid)),
                    }
                }
                ThreadState::Runnable => self.add(until, Part::Runnable, Some(tid)),
                ThreadState::Blocked(place, is_likely, waker) => {
                    // The last wait before the read is for work, unless its stack says otherwise.
                    let is_idle = self.served.is_idle(place).unwrap_or(Some(at) == last_wait);
                    if is_idle {
                        self.add(until, Part::Network, None);
                    } else {
                        let place = place.map(|place| (place, is_likely));
                        self.add_at(until, Part::Behind, Some(tid), place, waker);
                    }
                }
            }
        }
        Some(())
    }

    /// A thread has the request, which another one may have read. None if nobody knows what it did.
    fn handle(&mut self, until: u64, tid: u32, reader: u32) -> Option<()> {
        let spans = self.served.activity.spans(tid, self.at, until)?;
        for ThreadSpan { until, state, .. } in spans {
            match state {
                ThreadState::OnCpu => self.add(until, Part::OnCpu, Some(tid)),
                ThreadState::Runnable => self.add(until, Part::Runnable, Some(tid)),
                ThreadState::Blocked(place, ..)
                    if tid != reader && self.served.is_idle(place) != Some(false) =>
                {
                    self.add(until, Part::HandedOver, None);
                }
                ThreadState::Blocked(place, is_likely, waker) => {
                    // Within an operation it does not wait for work, as others of its name do.
                    let waits_for_work = is_likely && self.served.is_idle(place) == Some(true);
                    let place = if waits_for_work { None } else { place };
                    let part = Part::Blocked(self.served.kind(place));
                    let place = place.map(|place| (place, is_likely));
                    self.add_at(until, part, Some(tid), place, waker);
                }
            }
        }
        Some(())
    }
}

/// The time of each part, nanoseconds.
pub fn parts(steps: &[Step]) -> BTreeMap<Part, u64> {
    let mut parts = BTreeMap::new();
    for step in steps {
        *parts.entry(step.part).or_default() += step.ns();
    }
    parts
}

/// The instants of an operation of the client that is due at once.
#[cfg(test)]
pub(crate) fn single(begin: u64, sent: u64, received: u64) -> SingleOperation {
    SingleOperation {
        response: Nanos(received - begin),
        operation: 0,
        local_port: Some(4000),
        intended_start: Nanos(begin),
        ready: Nanos(begin),
        sent: Nanos(sent),
        unread_before: Nanos(0),
        received: Nanos(received),
        read: Nanos(received + 5),
    }
}

#[cfg(test)]
mod tests;
