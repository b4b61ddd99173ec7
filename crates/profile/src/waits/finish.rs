//! From sums of waits to the result: names of functions, kinds, and which waits are for work.

use std::collections::HashMap;
use std::time::Duration;

use indexmap::IndexSet;

use super::kinds::{self, Circumstances};
use super::result::{self, WaitStack, Waker, WakerKind};
use super::stack_table::{StackId, StackTable, WaitingStack};
use super::tally::{TalliedWait, WakerId};
use crate::code::stack_reader::StackReader;
use crate::stacks::Frame;
use crate::thread_names::ThreadNames;
use crate::threads::WaitKind;

/// Who wakes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum WakerKey {
    /// A thread of the processes: its name's index and its stack.
    Thread(usize, StackId),
    /// A thread of another process.
    Other(String),
    /// An interrupt.
    Interrupt,
}

/// Wakers, each once.
#[derive(Debug, Default)]
pub(super) struct WakerTable(IndexSet<WakerKey>);

impl WakerTable {
    pub(super) fn id(&mut self, waker: WakerKey) -> WakerId {
        self.0.insert_full(waker).0 as WakerId
    }
}

/// What was collected.
pub(super) struct Collected<'c> {
    pub waits: Vec<TalliedWait>,
    /// How often each thread had each stack.
    pub by_thread: HashMap<u32, HashMap<StackId, u64>>,
    pub table: &'c StackTable,
    pub wakers: &'c WakerTable,
    pub names: &'c ThreadNames,
    pub reader: &'c StackReader,
}

/// What was collected, with names and kinds.
pub(super) struct Finished {
    /// The waits of each thread's name and stack.
    waits: Vec<(usize, Option<StackId>, WaitStack)>,
    /// The functions of each stack, outermost first.
    frames: Vec<Vec<Frame>>,
}

impl Finished {
    /// Finds names and kinds.
    pub(super) fn of(collected: &Collected<'_>) -> Self {
        let Collected { table, reader, .. } = collected;
        let names = reader.names(table.functions());
        let in_order = |stack: &WaitingStack| -> Vec<Frame> {
            stack.functions.iter().rev().map(|function| reader.frame(&names, *function)).collect()
        };
        let frames: Vec<Vec<Frame>> = table.all().map(in_order).collect();
        let frames_of = |id: StackId| frames[id as usize].clone();
        let mut kinds: HashMap<StackId, WaitKind> = HashMap::new();
        for id in collected.by_thread.values().flat_map(HashMap::keys) {
            let kind = || kinds::of_stack(table.get(*id).kind, &frames[*id as usize], false);
            kinds.entry(*id).or_insert_with(kind);
        }
        let outermost = outermost(&collected.by_thread, table, &kinds);
        let mut waits: Vec<(usize, Option<StackId>, WaitStack)> = Vec::new();
        for wait in &collected.waits {
            let frames = wait.stack.map(frames_of).unwrap_or_default();
            let known = wait.stack.and_then(|id| table.get(id).kind);
            let kind = kinds::of_stack(known, &frames, wait.is_preempted);
            let wakers = collected.wakers(&wait.wakers, &frames_of);
            let circumstances = Circumstances {
                is_outermost: wait.stack.is_some_and(|id| outermost.get(&id).copied().unwrap_or_default()),
                is_ended_by_server: ended_by_server(&wakers),
            };
            let stack = WaitStack {
                thread: collected.names.get(wait.thread).to_owned(),
                kind,
                is_idle: kinds::is_idle(kind, circumstances),
                frames,
                time: Duration::from_nanos(wait.ns as u64),
                waits: wait.waits,
                wakers,
            };
            waits.push((wait.thread, wait.stack, stack));
        }
        judge_unread(&mut waits);
        Self { waits, frames }
    }

    /// The waits by stack, in the order of the result.
    pub(super) fn joined(self) -> Vec<WaitStack> {
        result::joined(self.waits.into_iter().map(|(_, _, wait)| wait).collect())
    }

    /// The waits of each thread's name and stack.
    pub(super) fn waits(&self) -> impl Iterator<Item = (usize, StackId, &WaitStack)> {
        self.waits.iter().filter_map(|(thread, stack, wait)| Some((*thread, (*stack)?, wait)))
    }

    /// The functions of a stack, outermost first.
    pub(super) fn frames(&self, id: StackId) -> Vec<Frame> {
        self.frames[id as usize].clone()
    }
}

/// Waits without a stack are like most of the time that the thread's other waits took.
fn judge_unread(waits: &mut [(usize, Option<StackId>, WaitStack)]) {
    let mut read: HashMap<String, (Duration, Duration)> = HashMap::new();
    let with_stack = |wait: &&WaitStack| !wait.frames.is_empty() && wait.kind != WaitKind::Cpu;
    for wait in waits.iter().map(|(_, _, wait)| wait).filter(with_stack) {
        let (idle, all) = read.entry(wait.thread.clone()).or_default();
        *all += wait.time;
        *idle += if wait.is_idle { wait.time } else { Duration::ZERO };
    }
    let without = |wait: &&mut WaitStack| wait.frames.is_empty() && wait.kind == WaitKind::Unknown;
    for wait in waits.iter_mut().map(|(_, _, wait)| wait).filter(without) {
        wait.is_idle = read.get(&wait.thread).is_some_and(|(idle, all)| *idle * 2 > *all);
    }
}

impl Collected<'_> {
    /// Who a waker is.
    pub(super) fn waker(&self, id: WakerId, wakes: u64, frames_of: &impl Fn(StackId) -> Vec<Frame>) -> Waker {
        let (kind, thread, frames) = match &self.wakers.0[id as usize] {
            WakerKey::Thread(name, stack) => {
                (WakerKind::Thread, self.names.get(*name).to_owned(), frames_of(*stack))
            }
            WakerKey::Other(name) => (WakerKind::Other, name.clone(), Vec::new()),
            WakerKey::Interrupt => (WakerKind::Interrupt, String::new(), Vec::new()),
        };
        Waker { kind, thread, frames, wakes }
    }

    fn wakers(&self, seen: &HashMap<WakerId, u64>, frames_of: &impl Fn(StackId) -> Vec<Frame>) -> Vec<Waker> {
        let wakers: Vec<Waker> = seen.iter().map(|(id, wakes)| self.waker(*id, *wakes, frames_of)).collect();
        result::merged_wakers(wakers.iter())
    }
}

/// Whether most of the wakes that were seen came from a thread of the server.
fn ended_by_server(wakers: &[Waker]) -> Option<bool> {
    let all: u64 = wakers.iter().map(|waker| waker.wakes).sum();
    let own: u64 =
        wakers.iter().filter(|waker| waker.kind == WakerKind::Thread).map(|waker| waker.wakes).sum();
    (all > 0).then_some(own * 2 > all)
}

/// The stacks at which most of their waits are of threads that wait for work nowhere nearer to their start.
fn outermost(
    by_thread: &HashMap<u32, HashMap<StackId, u64>>,
    table: &StackTable,
    kinds: &HashMap<StackId, WaitKind>,
) -> HashMap<StackId, bool> {
    let mut votes: HashMap<StackId, (u64, u64)> = HashMap::new();
    for stacks in by_thread.values() {
        let depth = |id: &StackId| {
            let depth = table.get(*id).depth?;
            kinds.get(id).is_some_and(|kind| kinds::may_be_idle(*kind)).then_some(depth)
        };
        let nearest = stacks.keys().filter_map(depth).min();
        for (id, waits) in stacks {
            let (yes, all) = votes.entry(*id).or_default();
            *all += waits;
            if nearest.is_some() && depth(id) == nearest {
                *yes += waits;
            }
        }
    }
    votes.into_iter().map(|(id, (yes, all))| (id, yes * 2 > all)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::stack_reader::Function;

    fn stack(table: &mut StackTable, kind: WaitKind, depth: usize, place: u64) -> StackId {
        table.id(WaitingStack {
            kind: Some(kind),
            functions: vec![Function::Kernel(place)],
            depth: Some(depth),
        })
    }

    #[test]
    fn a_thread_waits_for_work_where_it_is_nearest_to_its_start() {
        let mut table = StackTable::new();
        let queue = stack(&mut table, WaitKind::Futex, 5, 1);
        let commit = stack(&mut table, WaitKind::Sleep, 12, 2);
        // A lock is no place for work, however near.
        let lock = stack(&mut table, WaitKind::Flush, 3, 3);
        let by_thread = HashMap::from([
            (1, HashMap::from([(queue, 10), (commit, 90), (lock, 5)])),
            (2, HashMap::from([(commit, 3), (queue, 1)])),
        ]);
        let wait = |stack, ns| TalliedWait {
            thread: 0,
            is_preempted: false,
            stack,
            ns,
            waits: Some(1.0),
            wakers: HashMap::new(),
        };
        let (mut names, wakers, reader) = (ThreadNames::default(), WakerTable::default(), StackReader::new());
        names.name(1, "worker");
        let collected = Collected {
            waits: vec![
                wait(Some(queue), 9e9),
                wait(Some(commit), 2e6),
                wait(Some(lock), 1e6),
                wait(None, 5e6),
            ],
            by_thread,
            table: &table,
            wakers: &wakers,
            names: &names,
            reader: &reader,
        };
        let found: Vec<_> = Finished::of(&collected)
            .joined()
            .iter()
            .map(|wait| (wait.is_idle, wait.time.as_millis()))
            .collect();
        // The wait without a stack is like the longest of its thread.
        assert_eq!(found, [(false, 2), (false, 1), (true, 9000), (true, 5)]);
    }

    #[test]
    fn most_wakes_decide_who_ends_a_wait() {
        let waker = |kind, wakes| Waker { kind, thread: String::new(), frames: Vec::new(), wakes };
        assert_eq!(ended_by_server(&[]), None);
        let wakers = [waker(WakerKind::Thread, 3), waker(WakerKind::Interrupt, 2)];
        assert_eq!(ended_by_server(&wakers), Some(true));
        assert_eq!(ended_by_server(&[waker(WakerKind::Other, 1), waker(WakerKind::Thread, 1)]), Some(false));
    }
}
