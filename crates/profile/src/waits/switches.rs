//! Watches waits by the kernel's records of switches.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use host::process::thread_cpu_time;
use rustix::time::{ClockId, clock_gettime};

use super::activity::Activity;
use super::finish::{Collected, Finished, WakerKey, WakerTable};
use super::journal::Journal;
use super::options::WaitSamplerOptions;
use super::result::{WaitSource, Waits};
use super::snapshot::Snapshots;
use super::stack_table::{StackId, StackTable, WaitingStack};
use super::switch_events::{STACK_BYTES, SwitchEvents, SwitchRecord};
use super::tally::WakerId;
use super::tracker::{Change, Tracker};
use super::traffic_events::{TrafficEvents, TrafficRecord};
use crate::ProcessSet;
use crate::code::stack_reader::StackReader;
use crate::followed::follow;
use crate::kernel_events::{ProcessChange, ThreadSample};
use crate::thread_names::ThreadNames;
use crate::threads::read::threads_of_all;

/// How often records are read: a buffer has room for several times as many.
const DRAIN: Duration = Duration::from_millis(20);

/// How often processes are listed. Those that start in between are known from the records of their parents.
const LIST: Duration = Duration::from_secs(2);

/// How often the number of stacks is corrected.
const CORRECT: Duration = Duration::from_millis(100);

/// Over this time the CPU time of the sampler is compared with its limit.
const GUARD: Duration = Duration::from_millis(500);

/// Records of one CPU may be written this much later than their time says.
const LATE: u64 = 1_000_000;

/// Most CPU time for the stacks of threads that wait when watching begins.
const MOST_AT_BEGIN: Duration = Duration::from_millis(300);

/// A wait that is longer and has no stack gets one from `/proc`, nanoseconds; and most of these stacks at a time.
const LONG: (u64, usize) = (60_000_000, 50);

/// The same for a journal, which is about single waits.
const LONG_OF_JOURNAL: (u64, usize) = (5_000_000, 6);

/// The stack of wakers of which none was taken: that of the others.
const NO_STACK: StackId = 0;

struct Queued {
    time: u64,
    pid: u32,
    tid: u32,
    thread: usize,
    change: Change,
}

struct Watcher {
    members: HashSet<u32>,
    names: ThreadNames,
    reader: StackReader,
    table: StackTable,
    wakers: WakerTable,
    snapshots: Snapshots,
    tracker: Tracker,
    /// What is kept of each instant, if anything.
    journal: Option<Journal>,
    /// Changes of several CPUs, of which some before them may not have been read.
    queue: Vec<Queued>,
    /// Until here changes were taken.
    settled: u64,
    lost: u64,
    /// Switches were lost since then.
    has_lost: bool,
}

/// Watches until `stop`, or until it costs too much. `started` is called when it watches.
pub(super) fn watch(
    processes: &ProcessSet,
    options: &WaitSamplerOptions,
    mut events: SwitchEvents,
    traffic: Option<&TrafficEvents>,
    stop: &AtomicBool,
    started: impl FnOnce(),
) -> (Waits, Option<Activity>) {
    let mut watcher = Watcher::new(&processes.now(), traffic);
    let from = now();
    watcher.settled = from;
    events.enable();
    traffic.into_iter().for_each(TrafficEvents::enable);
    watcher.read_waiting(&processes.now(), from);
    started();
    let (begin, begin_cpu) = (Instant::now(), thread_cpu_time());
    let (mut listed, mut corrected, mut guarded) = (begin, begin, (begin, begin_cpu));
    let mut stopped_after = None;
    while !stop.load(Ordering::Relaxed) {
        thread::park_timeout(DRAIN);
        if stopped_after.is_some() {
            continue;
        }
        if listed.elapsed() >= LIST {
            watcher.members.extend(processes.now());
            listed = Instant::now();
        }
        watcher.round(&mut events, traffic);
        if corrected.elapsed() >= CORRECT {
            events.correct(f64::from(options.stacks_per_s) * corrected.elapsed().as_secs_f64());
            corrected = Instant::now();
        }
        if guarded.0.elapsed() >= GUARD {
            let used = thread_cpu_time().saturating_sub(guarded.1);
            if used > guarded.0.elapsed().mul_f64(options.most_cpu) || watcher.is_full() {
                events.disable();
                traffic.into_iter().for_each(TrafficEvents::disable);
                stopped_after = Some(begin.elapsed());
            }
            guarded = (Instant::now(), thread_cpu_time());
        }
    }
    if stopped_after.is_none() {
        // The kernel tells what it lost with the next record that it has room for.
        watcher.round(&mut events, traffic);
        thread::sleep(DRAIN);
    }
    events.disable();
    traffic.into_iter().for_each(TrafficEvents::disable);
    let (end, cost) = (now(), thread_cpu_time().saturating_sub(begin_cpu));
    let length = stopped_after.unwrap_or_else(|| begin.elapsed());
    let end = if stopped_after.is_some() { from + length.as_nanos() as u64 } else { end };
    watcher.drain(&mut events, traffic);
    watcher.settle(u64::MAX);
    let (waits, activity) = watcher.finish((from, end), &events);
    let activity = activity.map(|activity| Activity { stopped_after, cost, ..activity });
    (Waits { length, stopped_after, cost, ..waits }, activity)
}

impl Watcher {
    fn new(pids: &[u32], traffic: Option<&TrafficEvents>) -> Self {
        let mut reader = StackReader::new();
        reader.prepare(pids, true);
        Self {
            members: pids.iter().copied().collect(),
            names: ThreadNames::default(),
            reader,
            table: StackTable::new(),
            wakers: WakerTable::default(),
            snapshots: Snapshots::default(),
            tracker: if traffic.is_some() { Tracker::with_journal() } else { Tracker::default() },
            journal: traffic.map(|traffic| Journal::new(traffic.sees_sends())),
            queue: Vec::new(),
            settled: 0,
            lost: 0,
            has_lost: false,
        }
    }

    /// Reads the stacks of threads that wait already: some do not run for as long as they are watched.
    fn read_waiting(&mut self, pids: &[u32], began: u64) {
        let begin_cpu = thread_cpu_time();
        for (pid, tid) in threads_of_all(pids) {
            if thread_cpu_time().saturating_sub(begin_cpu) > MOST_AT_BEGIN {
                break;
            }
            if let Some(stack) = self.snapshots.read(pid, tid, &mut self.reader) {
                let stack = self.table.id(stack);
                self.push(pid, tid, began, Change::Waiting(Some(stack)));
            }
        }
    }

    /// Whether the journal has no more room.
    fn is_full(&self) -> bool {
        self.journal.as_ref().is_some_and(|journal| journal.is_full(self.tracker.journaled()))
    }

    fn drain(&mut self, events: &mut SwitchEvents, traffic: Option<&TrafficEvents>) {
        events.drain(&mut |record| self.take(record));
        if let Some(traffic) = traffic {
            traffic.drain(&mut |record| self.take_traffic(record));
        }
    }

    fn round(&mut self, events: &mut SwitchEvents, traffic: Option<&TrafficEvents>) {
        let horizon = now().saturating_sub(LATE);
        self.drain(events, traffic);
        self.settle(horizon);
        let (long, most) = if self.journal.is_some() { LONG_OF_JOURNAL } else { LONG };
        for (pid, tid, since) in self.tracker.long_without_stack(horizon, long).into_iter().take(most) {
            if let Some(stack) = self.snapshots.read(pid, tid, &mut self.reader) {
                let stack = self.table.id(stack);
                self.tracker.read_later(tid, since, now(), stack);
            }
        }
    }

    fn push(&mut self, pid: u32, tid: u32, time: u64, change: Change) {
        let thread = self.names.of(pid, tid);
        self.queue.push(Queued { time, pid, tid, thread, change });
    }

    fn take(&mut self, record: SwitchRecord) {
        match record {
            SwitchRecord::Stack(sample, time) if self.members.contains(&sample.pid) => {
                let stack = self.stack(&sample);
                self.push(sample.pid, sample.tid, time, Change::Stack(stack));
            }
            SwitchRecord::Out { pid, tid, time, is_preempted } if self.members.contains(&pid) => {
                self.push(pid, tid, time, Change::Out { is_preempted });
            }
            SwitchRecord::In { pid, tid, time } if self.members.contains(&pid) => {
                self.push(pid, tid, time, Change::In);
            }
            SwitchRecord::Wakes { sample, time, tid, is_interrupt } => {
                if let Some(pid) = self.tracker.knows(tid) {
                    let by = (sample.pid, sample.tid);
                    let waker = self.waker(by, is_interrupt, |watcher| watcher.stack(&sample));
                    self.push(pid, tid, time, Change::Woken { waker, has_stack: true });
                }
            }
            SwitchRecord::Ended { pid, tid, time } if self.members.contains(&pid) => {
                self.push(pid, tid, time, Change::Ended);
            }
            SwitchRecord::Changed(change) => self.change(change),
            SwitchRecord::LostSamples(samples) => self.lost += samples,
            _ => {}
        }
    }

    fn change(&mut self, change: ProcessChange) {
        let lost = follow(change, &mut self.members, &mut self.reader, &mut self.names);
        self.lost += lost;
        self.has_lost |= lost > 0;
    }

    /// What a journal has beside the switches.
    fn take_traffic(&mut self, record: TrafficRecord) {
        match record {
            TrafficRecord::Woken { tid, time, by, is_interrupt } => {
                let Some(pid) = self.tracker.knows(tid) else { return };
                let waker = self.waker(by, is_interrupt, |_| NO_STACK);
                self.push(pid, tid, time, Change::Woken { waker, has_stack: false });
            }
            TrafficRecord::Runs(sample, time) if self.members.contains(&sample.pid) => {
                let stack = self.stack(&sample);
                let thread = self.names.of(sample.pid, sample.tid);
                self.journal.iter_mut().for_each(|journal| journal.runs(sample.tid, thread, time, stack));
            }
            TrafficRecord::Read { pid, tid, time, socket, peer_port } if self.members.contains(&pid) => {
                self.journal.iter_mut().for_each(|journal| journal.read(tid, time, socket, peer_port));
            }
            TrafficRecord::Sent { pid, tid, time, socket } if self.members.contains(&pid) => {
                self.journal.iter_mut().for_each(|journal| journal.sent(tid, time, socket));
            }
            TrafficRecord::Lost(records) => self.lost += records,
            _ => {}
        }
    }

    fn stack(&mut self, sample: &ThreadSample) -> StackId {
        let mut functions = self.reader.kernel_functions(&sample.kernel);
        let mut depth = None;
        if let Some((registers, copy)) = &sample.user {
            let is_cut = copy.len() < STACK_BYTES as usize;
            if let Some(user) = self.reader.user((sample.pid, sample.tid), *registers, copy, is_cut) {
                depth = user.is_complete.then_some(user.frames.len());
                functions.extend(self.reader.user_functions(&user.frames));
            }
        }
        self.table.id(WaitingStack { kind: None, functions, depth })
    }

    /// Who has woken a thread: an interrupt, a thread of the server with its stack, or another program.
    fn waker(
        &mut self,
        (pid, tid): (u32, u32),
        is_interrupt: bool,
        stack: impl FnOnce(&mut Self) -> StackId,
    ) -> WakerId {
        let key = if is_interrupt || pid == 0 {
            WakerKey::Interrupt
        } else if self.members.contains(&pid) {
            WakerKey::Thread(self.names.of(pid, tid), stack(self))
        } else {
            let name = self.names.of(pid, tid);
            WakerKey::Other(self.names.get(name).to_owned())
        };
        self.wakers.id(key)
    }

    /// Takes the changes until a time, before which all have been read.
    fn settle(&mut self, until: u64) {
        self.queue.sort_by_key(|queued| queued.time);
        let ready = if self.has_lost {
            self.queue.len()
        } else {
            self.queue.partition_point(|queued| queued.time < until)
        };
        for Queued { time, pid, tid, thread, change } in self.queue.drain(..ready) {
            self.tracker.take((pid, tid), thread, time, change);
        }
        if std::mem::take(&mut self.has_lost) {
            self.tracker.lose(self.settled);
        }
        self.settled = until;
    }

    fn finish(self, (from, end): (u64, u64), events: &SwitchEvents) -> (Waits, Option<Activity>) {
        let Self { names, reader, table, wakers, snapshots, tracker, journal, lost, .. } = self;
        let dropped = tracker.dropped;
        let (tally, journaled) = tracker.finish(end);
        let collected = Collected {
            waits: tally.waits(),
            by_thread: tally.by_thread,
            table: &table,
            wakers: &wakers,
            names: &names,
            reader: &reader,
        };
        let mut notes: Vec<String> = Vec::new();
        notes.extend(events.no_wakers.as_ref().map(|why| format!("who woke a thread is not known: {why}")));
        if snapshots.refused {
            notes.push("stacks of some long waits could not be read from /proc/PID/mem".to_owned());
        }
        if reader.kernel.is_empty() {
            notes.push("functions of the kernel have no names: set kernel.kptr_restrict to 0".to_owned());
        }
        let finished = Finished::of(&collected);
        let activity = journal.map(|journal| {
            let activity = journal.finish(&journaled, &collected, &finished);
            Activity { from, until: end, lost, notes: notes.clone(), ..activity }
        });
        let waits = Waits {
            source: WaitSource::Switches,
            length: Duration::ZERO,
            stacks: finished.joined(),
            sampled: tally.sampled,
            every: Some(events.every()),
            dropped,
            lost,
            stopped_after: None,
            notes,
            cost: Duration::ZERO,
        };
        (waits, activity)
    }
}

/// The clock of the records, nanoseconds.
fn now() -> u64 {
    Duration::try_from(clock_gettime(ClockId::Monotonic)).map_or(0, |time| time.as_nanos() as u64)
}
