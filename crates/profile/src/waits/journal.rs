//! Collects what threads did, instant by instant, with the connections that they served. What is made of it is an
//! [`Activity`].

use std::collections::{BTreeMap, HashMap};

use super::activity::{Activity, ActivityPlace, ThreadActivity, ThreadWait, Transfer};
use super::finish::{Collected, Finished};
use super::stack_table::StackId;
use super::tally::{WakerId, length_class};
use super::tracker::{JournalWait, Journaled, UnseenTime};
use crate::threads::WaitKind;

/// Most records of each sort: some hundred MB together.
const MOST_RECORDS: usize = 2_000_000;

/// A place is likely for a wait without a stack where it has this share of the waits of the same sort.
const LIKELY: f64 = 0.8;

/// A read or a send.
struct SocketUse {
    time: u64,
    tid: u32,
    socket: u64,
    /// The other end's port, of reads.
    peer_port: Option<u16>,
}

/// A thread on a CPU.
struct Run {
    time: u64,
    tid: u32,
    /// Index of its name.
    thread: usize,
    stack: StackId,
}

/// What is kept of each instant.
pub(super) struct Journal {
    sees_sends: bool,
    uses: Vec<SocketUse>,
    runs: Vec<Run>,
}

impl Journal {
    pub(super) fn new(sees_sends: bool) -> Self {
        Self { sees_sends, uses: Vec::new(), runs: Vec::new() }
    }

    /// Whether there is no more room, with this number of waits.
    pub(super) fn is_full(&self, waits: usize) -> bool {
        waits.max(self.uses.len()).max(self.runs.len()) >= MOST_RECORDS
    }

    /// A thread runs.
    pub(super) fn runs(&mut self, tid: u32, thread: usize, time: u64, stack: StackId) {
        self.runs.push(Run { time, tid, thread, stack });
    }

    /// A thread has read data that came from this port.
    pub(super) fn read(&mut self, tid: u32, time: u64, socket: u64, peer_port: u16) {
        self.uses.push(SocketUse { time, tid, socket, peer_port: Some(peer_port) });
    }

    /// A thread has sent data.
    pub(super) fn sent(&mut self, tid: u32, time: u64, socket: u64) {
        self.uses.push(SocketUse { time, tid, socket, peer_port: None });
    }

    /// The activity of threads, without times and notes of the whole.
    pub(super) fn finish(
        self,
        Journaled { waits, unseen }: &Journaled,
        collected: &Collected<'_>,
        finished: &Finished,
    ) -> Activity {
        let mut activity =
            Activity { sees_sends: self.sees_sends, transfers: transfers(self.uses), ..Activity::default() };
        let mut places: HashMap<(usize, StackId), u32> = HashMap::new();
        for (thread, stack, wait) in finished.waits().filter(|(.., wait)| wait.kind != WaitKind::Cpu) {
            places.insert((thread, stack), activity.places.len() as u32);
            let frames = wait.frames.clone();
            activity.places.push(ActivityPlace { kind: wait.kind, is_idle: wait.is_idle, frames });
        }
        let likely = likely(waits, &places);
        let mut wakers: HashMap<WakerId, u32> = HashMap::new();
        for wait in waits {
            let own = wait.stack.and_then(|stack| places.get(&(wait.thread, stack)).copied());
            let of_others = || likely.get(&class(wait)).copied();
            let waker = wait.waker.map(|id| {
                *wakers.entry(id).or_insert_with(|| {
                    activity.wakers.push(collected.waker(id, 1, &|stack| finished.frames(stack)));
                    activity.wakers.len() as u32 - 1
                })
            });
            let found = ThreadWait {
                from: wait.from,
                until: wait.until,
                woken: wait.woken,
                is_preempted: wait.is_preempted,
                place: own.or_else(of_others),
                is_likely: own.is_none(),
                waker,
            };
            thread_of(&mut activity.threads, wait.tid, wait.thread, collected).waits.push(found);
        }
        for UnseenTime { tid, thread, from, until } in unseen {
            thread_of(&mut activity.threads, *tid, *thread, collected).unseen.push((*from, *until));
        }
        let mut running: HashMap<StackId, u32> = HashMap::new();
        for run in &self.runs {
            let place = *running.entry(run.stack).or_insert_with(|| {
                let frames = finished.frames(run.stack);
                activity.places.push(ActivityPlace { kind: WaitKind::Cpu, is_idle: false, frames });
                activity.places.len() as u32 - 1
            });
            thread_of(&mut activity.threads, run.tid, run.thread, collected).samples.push((run.time, place));
        }
        for thread in activity.threads.values_mut() {
            thread.waits.sort_by_key(|wait| (wait.from, wait.until));
            thread.unseen.sort_unstable();
            thread.samples.sort_unstable();
        }
        activity
    }
}

fn thread_of<'t>(
    threads: &'t mut BTreeMap<u32, ThreadActivity>,
    tid: u32,
    name: usize,
    collected: &Collected<'_>,
) -> &'t mut ThreadActivity {
    let name = || collected.names.get(name).to_owned();
    threads.entry(tid).or_insert_with(|| ThreadActivity { name: name(), ..ThreadActivity::default() })
}

/// By the ports of clients. A send is known by its socket, once data was read from that.
fn transfers(mut uses: Vec<SocketUse>) -> BTreeMap<u16, Vec<Transfer>> {
    uses.sort_by_key(|found| found.time);
    let mut ports: HashMap<u64, u16> = HashMap::new();
    let mut transfers: BTreeMap<u16, Vec<Transfer>> = BTreeMap::new();
    for SocketUse { time, tid, socket, peer_port } in uses {
        if let Some(port) = peer_port {
            ports.insert(socket, port);
        }
        if let Some(port) = ports.get(&socket) {
            transfers.entry(*port).or_default().push(Transfer { time, tid, is_read: peer_port.is_some() });
        }
    }
    transfers
}

/// Waits that are alike: their thread's name, and the class of their length.
fn class(wait: &JournalWait) -> (usize, u32) {
    (wait.thread, length_class(wait.until.saturating_sub(wait.from)))
}

/// The place of nearly all waits of a class that have a stack.
fn likely(waits: &[JournalWait], places: &HashMap<(usize, StackId), u32>) -> HashMap<(usize, u32), u32> {
    let mut counts: HashMap<(usize, u32), HashMap<u32, u64>> = HashMap::new();
    for wait in waits.iter().filter(|wait| !wait.is_preempted) {
        let place = wait.stack.and_then(|stack| places.get(&(wait.thread, stack)));
        if let Some(place) = place {
            *counts.entry(class(wait)).or_default().entry(*place).or_default() += 1;
        }
    }
    let most = |counts: &HashMap<u32, u64>| {
        let all: u64 = counts.values().sum();
        let (place, count) = counts.iter().max_by_key(|(place, count)| (**count, **place))?;
        (*count as f64 >= LIKELY * all as f64).then_some(*place)
    };
    counts.iter().filter_map(|(class, counts)| Some((*class, most(counts)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sends_belong_to_the_connection_of_their_socket() {
        let mut journal = Journal::new(true);
        journal.sent(1, 3, 77);
        journal.read(1, 5, 77, 4000);
        journal.sent(2, 9, 77);
        // The socket's memory is that of another connection now.
        journal.read(1, 20, 77, 4001);
        journal.sent(1, 7, 77);
        let found = transfers(journal.uses);
        let times = |port: u16| -> Vec<(u64, u32, bool)> {
            found[&port].iter().map(|t| (t.time, t.tid, t.is_read)).collect()
        };
        assert_eq!(times(4000), [(5, 1, true), (7, 1, false), (9, 2, false)]);
        assert_eq!(times(4001), [(20, 1, true)]);
    }

    #[test]
    fn a_wait_without_a_stack_is_likely_like_nearly_all_others_of_its_length() {
        let wait = |stack, ns: u64| JournalWait {
            tid: 1,
            thread: 0,
            from: 100,
            until: 100 + ns,
            woken: None,
            is_preempted: false,
            stack,
            waker: None,
        };
        let places = HashMap::from([((0, 5), 50), ((0, 6), 60)]);
        let mut waits = vec![wait(Some(5), 1000); 9];
        waits.extend([wait(Some(6), 1000), wait(None, 1000)]);
        waits.extend([wait(Some(5), 1_000_000), wait(Some(6), 1_000_000)]);
        let found = likely(&waits, &places);
        assert_eq!(found.get(&class(&wait(None, 900))), Some(&50));
        assert_eq!(found.get(&class(&wait(None, 1_000_000))), None, "one of two is not nearly all");
        assert_eq!(found.get(&class(&wait(None, 1))), None);
    }
}
