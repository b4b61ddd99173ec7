//! Watches waits by samples of the states of threads, for those who may not see the kernel's records of switches.
//!
//! The scheduler's accounts (`schedstat`) have the exact times on and for a CPU; samples of the stacks of waiting threads divide
//! the rest. A round takes as many threads as the limit of CPU time permits, and the next round goes on with the others.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use host::process::thread_cpu_time;

use super::finish::{Collected, Finished, WakerTable};
use super::result::{WaitSource, Waits};
use super::snapshot::Snapshots;
use super::stack_table::{StackId, StackTable};
use super::tally::TalliedWait;
use crate::ProcessSet;
use crate::code::stack_reader::StackReader;
use crate::thread_names::ThreadNames;
use crate::threads::read::{SchedulerAccount, scheduler_account, threads_of_all};

/// The time between two rounds. Its half is added in turns, so that rounds are not in step with periodic work.
const ROUND: Duration = Duration::from_millis(20);

/// How often threads are listed.
const LIST: Duration = Duration::from_millis(500);

/// Most CPU time, as a share of one CPU.
const MOST_CPU: f64 = 0.03;

struct Sampled {
    pid: u32,
    thread: usize,
    first: (Instant, SchedulerAccount),
    last: (Instant, SchedulerAccount),
    stacks: HashMap<StackId, u64>,
    has_ended: bool,
}

struct Watcher {
    threads: BTreeMap<u32, Sampled>,
    /// Threads whose ID was used again.
    ended: Vec<(u32, Sampled)>,
    names: ThreadNames,
    reader: StackReader,
    table: StackTable,
    snapshots: Snapshots,
    next: u32,
    samples: u64,
}

/// Watches until `stop`. `started` is called when it watches.
pub(super) fn watch(processes: &ProcessSet, why: &str, stop: &AtomicBool, started: impl FnOnce()) -> Waits {
    let mut watcher = Watcher::new(&processes.now());
    started();
    let (begin, begin_cpu) = (Instant::now(), thread_cpu_time());
    watcher.list(&processes.now());
    let mut listed = begin;
    // An estimate, which the rounds correct.
    let mut thread_cost = Duration::from_micros(200);
    let mut round = 0_u32;
    while !stop.load(Ordering::Relaxed) {
        thread::park_timeout(ROUND + ROUND / 2 * (round % 2));
        round = round.wrapping_add(1);
        let used = thread_cpu_time().saturating_sub(begin_cpu);
        let left = begin.elapsed().mul_f64(MOST_CPU).saturating_sub(used).min(ROUND / 2);
        if listed.elapsed() >= LIST && !left.is_zero() {
            watcher.list(&processes.now());
            listed = Instant::now();
        }
        let before = thread_cpu_time();
        let taken = watcher.round(left.div_duration_f64(thread_cost) as usize);
        if taken > 0 {
            let cost = thread_cpu_time().saturating_sub(before) / taken as u32;
            thread_cost = ((thread_cost * 7 + cost) / 8).max(Duration::from_micros(1));
        }
    }
    watcher.list(&processes.now());
    let cost = thread_cpu_time().saturating_sub(begin_cpu);
    let length = begin.elapsed();
    let mut waits = watcher.finish();
    waits.notes.insert(0, why.to_owned());
    Waits { length, cost, ..waits }
}

impl Watcher {
    fn new(pids: &[u32]) -> Self {
        let mut reader = StackReader::new();
        reader.prepare(pids, true);
        Self {
            threads: BTreeMap::new(),
            ended: Vec::new(),
            names: ThreadNames::default(),
            reader,
            table: StackTable::new(),
            snapshots: Snapshots::default(),
            next: 0,
            samples: 0,
        }
    }

    fn list(&mut self, pids: &[u32]) {
        self.threads.values_mut().for_each(|thread| thread.has_ended = true);
        for (pid, tid) in threads_of_all(pids) {
            let reading = (Instant::now(), scheduler_account(pid, tid).unwrap_or_default());
            if let Some(known) = self.threads.get_mut(&tid).filter(|thread| thread.pid == pid) {
                known.last = reading;
                known.has_ended = false;
                continue;
            }
            let sampled = Sampled {
                pid,
                thread: self.names.of(pid, tid),
                first: reading,
                last: reading,
                stacks: HashMap::new(),
                has_ended: false,
            };
            self.ended.extend(self.threads.insert(tid, sampled).map(|before| (tid, before)));
        }
    }

    /// Samples at most this many threads, and returns how many.
    fn round(&mut self, most: usize) -> usize {
        let from_next = self.threads.range(self.next..).chain(self.threads.range(..self.next));
        let running = from_next.filter(|(_, thread)| !thread.has_ended);
        let chosen: Vec<(u32, u32)> = running.map(|(tid, thread)| (*tid, thread.pid)).take(most).collect();
        self.next = chosen.last().map_or(self.next, |(tid, _)| tid.wrapping_add(1));
        for (tid, pid) in &chosen {
            let Some(stack) = self.snapshots.read(*pid, *tid, &mut self.reader) else { continue };
            let stack = self.table.id(stack);
            self.samples += 1;
            if let Some(thread) = self.threads.get_mut(tid) {
                *thread.stacks.entry(stack).or_default() += 1;
            }
        }
        chosen.len()
    }

    fn finish(self) -> Waits {
        let Self { threads, ended, names, reader, table, snapshots, samples, .. } = self;
        let threads: Vec<(u32, Sampled)> = threads.into_iter().chain(ended).collect();
        let waits = threads.iter().flat_map(|(_, thread)| divided(thread)).collect();
        let by_thread = threads.into_iter().map(|(tid, thread)| (tid, thread.stacks)).collect();
        let wakers = WakerTable::default();
        let collected =
            Collected { waits, by_thread, table: &table, wakers: &wakers, names: &names, reader: &reader };
        let mut notes = Vec::new();
        if snapshots.refused {
            notes.push("stacks of some threads could not be read: run as root".to_owned());
        }
        Waits {
            source: WaitSource::Samples,
            length: Duration::ZERO,
            stacks: Finished::of(&collected).joined(),
            sampled: samples,
            every: None,
            dropped: 0,
            lost: 0,
            stopped_after: None,
            notes,
            cost: Duration::ZERO,
        }
    }
}

/// The time of a thread off its CPU, by stack.
fn divided(thread: &Sampled) -> Vec<TalliedWait> {
    let time = thread.last.0.saturating_duration_since(thread.first.0);
    let running = thread.last.1.running.saturating_sub(thread.first.1.running);
    let runnable = thread.last.1.runnable.saturating_sub(thread.first.1.runnable).min(time);
    let waiting = time.saturating_sub(running).saturating_sub(runnable).as_nanos() as f64;
    let wait = |stack, is_preempted, ns| TalliedWait {
        thread: thread.thread,
        is_preempted,
        stack,
        ns,
        waits: None,
        wakers: HashMap::new(),
    };
    let samples: u64 = thread.stacks.values().sum();
    let mut waits = vec![wait(None, true, runnable.as_nanos() as f64)];
    if samples == 0 {
        waits.push(wait(None, false, waiting));
    }
    for (stack, count) in &thread.stacks {
        waits.push(wait(Some(*stack), false, waiting * *count as f64 / samples as f64));
    }
    waits.retain(|wait| wait.ns > 0.0);
    waits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_divide_the_time_that_is_not_for_a_cpu() {
        let first = Instant::now();
        let ms = Duration::from_millis;
        let account = |running, runnable| SchedulerAccount { running: ms(running), runnable: ms(runnable) };
        let thread = Sampled {
            pid: 1,
            thread: 0,
            first: (first, account(5, 5)),
            last: (first + ms(1000), account(305, 105)),
            stacks: HashMap::from([(1, 30), (2, 10)]),
            has_ended: false,
        };
        let mut found: Vec<_> =
            divided(&thread).iter().map(|wait| (wait.stack, wait.is_preempted, wait.ns)).collect();
        found.sort_by(|a, b| a.partial_cmp(b).expect("times are numbers"));
        assert_eq!(found, [(None, true, 100e6), (Some(1), false, 450e6), (Some(2), false, 150e6)]);
        let without = divided(&Sampled { stacks: HashMap::new(), ..thread });
        assert!((without.iter().map(|wait| wait.ns).sum::<f64>() - 700e6).abs() < 1.0);
    }
}
