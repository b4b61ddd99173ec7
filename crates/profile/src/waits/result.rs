//! What threads waited for, by stack.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Stacks;
use crate::stacks::{Frame, Losses, StacksBuilder};
use crate::threads::WaitKind;

/// What a sample of [`Waits::to_stacks`] stands for.
const STACK_PERIOD: Duration = Duration::from_micros(1);

/// The label of stacks that wait for work.
const IDLE: &str = "waiting for work";

/// Where waits come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitSource {
    /// The kernel's records of each switch.
    Switches,
    /// Samples of the states of threads.
    Samples,
}

/// What ends a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WakerKind {
    /// A thread of the processes.
    Thread,
    /// A thread of another process.
    Other,
    /// An interrupt: the network, a disk, a timer.
    Interrupt,
}

/// Who ended waits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Waker {
    /// What it is.
    pub kind: WakerKind,
    /// The thread's name; empty for interrupts.
    pub thread: String,
    /// Its functions, outermost first; of a thread of the processes only.
    pub frames: Vec<Frame>,
    /// How often it was seen.
    pub wakes: u64,
}

/// The waits of one stack.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitStack {
    /// The threads' name.
    pub thread: String,
    /// For what they waited.
    pub kind: WaitKind,
    /// Whether for work: outside of any operation.
    pub is_idle: bool,
    /// Functions, outermost first; none where no wait had its stack.
    pub frames: Vec<Frame>,
    /// How long, all threads together.
    pub time: Duration,
    /// How often, all threads together; none where waits cannot be counted.
    pub waits: Option<f64>,
    /// Who ended them, the most frequent first, as far as it was seen.
    pub wakers: Vec<Waker>,
}

/// What threads waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Waits {
    /// Where they come from.
    pub source: WaitSource,
    /// How long threads were watched.
    pub length: Duration,
    /// By stack: those within operations first, and of these the longest.
    pub stacks: Vec<WaitStack>,
    /// Waits whose stack was read.
    pub sampled: u64,
    /// At the end one switch in so many had its stack; none where waits were sampled by time.
    pub every: Option<u64>,
    /// Waits of which the begin or the end is not known, because records were lost.
    pub dropped: u64,
    /// Records that the kernel could not store.
    pub lost: u64,
    /// After this time watching ended by itself, because it used too much CPU time.
    pub stopped_after: Option<Duration>,
    /// What a reader must know, a sentence each.
    pub notes: Vec<String>,
    /// The CPU time of the sampler itself.
    pub cost: Duration,
}

impl Waits {
    /// Several passes as one. None of an empty list, or if they come from different sources.
    pub fn merged(passes: &[Self]) -> Option<Self> {
        let first = passes.first()?;
        if passes.iter().any(|pass| pass.source != first.source) {
            return None;
        }
        let stacks = joined(passes.iter().flat_map(|pass| pass.stacks.iter().cloned()).collect());
        let mut notes: Vec<String> = passes.iter().flat_map(|pass| pass.notes.clone()).collect();
        notes.sort();
        notes.dedup();
        Some(Self {
            source: first.source,
            length: passes.iter().map(|pass| pass.length).sum(),
            stacks,
            sampled: passes.iter().map(|pass| pass.sampled).sum(),
            every: passes.iter().filter_map(|pass| pass.every).max(),
            dropped: passes.iter().map(|pass| pass.dropped).sum(),
            lost: passes.iter().map(|pass| pass.lost).sum(),
            stopped_after: passes.iter().filter_map(|pass| pass.stopped_after).min(),
            notes,
            cost: passes.iter().map(|pass| pass.cost).sum(),
        })
    }

    /// The waits as stacks: whether for work, the kind, and the functions. A sample stands for 1 µs of a thread.
    pub fn to_stacks(&self) -> Stacks {
        let mut builder = StacksBuilder::default();
        for wait in &self.stacks {
            let samples = wait.time.as_micros() as u64;
            if samples == 0 {
                continue;
            }
            let idle = wait.is_idle.then(|| Frame::label(IDLE));
            let kind = Frame::label(wait.kind.name());
            builder.add(&wait.thread, idle.into_iter().chain([kind]).chain(wait.frames.clone()), samples);
        }
        Stacks {
            losses: Losses { lost: self.lost, ..Losses::default() },
            notes: self.notes.clone(),
            ..builder.off_cpu(STACK_PERIOD, self.length, self.cost)
        }
    }
}

/// Waits of the same thread's name, kind and stack as one, in the order that [`Waits`] documents.
pub(super) fn joined(stacks: Vec<WaitStack>) -> Vec<WaitStack> {
    let mut by_stack: BTreeMap<_, Vec<WaitStack>> = BTreeMap::new();
    for stack in stacks {
        let key = (stack.thread.clone(), stack.kind, stack.frames.clone());
        by_stack.entry(key).or_default().push(stack);
    }
    let joined = by_stack.into_values().filter_map(|all| {
        let time = all.iter().map(|stack| stack.time).sum();
        let waits = all.iter().map(|stack| stack.waits).sum();
        let wakers = merged_wakers(all.iter().flat_map(|stack| &stack.wakers));
        // The longest knows best whether it is one for work.
        let longest = all.into_iter().max_by_key(|stack| stack.time)?;
        Some(WaitStack { time, waits, wakers, ..longest })
    });
    let mut stacks: Vec<WaitStack> = joined.collect();
    sort(&mut stacks);
    stacks
}

/// In the order that [`Waits`] documents.
fn sort(stacks: &mut [WaitStack]) {
    stacks.sort_by(|a, b| {
        let text = |stack: &WaitStack| (stack.thread.clone(), stack.kind, stack.frames.clone());
        (a.is_idle, b.time).cmp(&(b.is_idle, a.time)).then_with(|| text(a).cmp(&text(b)))
    });
}

/// Wakers, each once, the most frequent first.
pub(super) fn merged_wakers<'w>(wakers: impl Iterator<Item = &'w Waker>) -> Vec<Waker> {
    let mut by_waker: BTreeMap<_, u64> = BTreeMap::new();
    for waker in wakers {
        *by_waker.entry((waker.kind, &waker.thread, &waker.frames)).or_default() += waker.wakes;
    }
    let mut merged: Vec<Waker> = by_waker
        .into_iter()
        .map(|((kind, thread, frames), wakes)| Waker {
            kind,
            thread: thread.clone(),
            frames: frames.clone(),
            wakes,
        })
        .collect();
    merged.sort_by(|a, b| b.wakes.cmp(&a.wakes).then_with(|| a.cmp(b)));
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded;
    use crate::stacks::FrameKind;

    fn wait(name: &str, kind: WaitKind, is_idle: bool, us: u64) -> WaitStack {
        let frame = Frame { name: name.to_owned(), module: String::new(), kind: FrameKind::User };
        WaitStack {
            thread: "t".to_owned(),
            kind,
            is_idle,
            frames: vec![frame],
            time: Duration::from_micros(us),
            waits: Some(2.0),
            wakers: Vec::new(),
        }
    }

    fn waits(stacks: Vec<WaitStack>) -> Waits {
        Waits {
            source: WaitSource::Switches,
            length: Duration::from_secs(1),
            stacks,
            sampled: 3,
            every: Some(1),
            dropped: 0,
            lost: 1,
            stopped_after: None,
            notes: vec!["a note".to_owned()],
            cost: Duration::from_millis(1),
        }
    }

    #[test]
    fn passes_are_summed_and_waits_for_work_come_last() {
        let lock = |us| wait("lock", WaitKind::Lock, false, us);
        let a = waits(vec![lock(10), wait("poll", WaitKind::Events, true, 500)]);
        let b = waits(vec![wait("poll", WaitKind::Events, false, 20), lock(30)]);
        let merged = Waits::merged(&[a, b]).expect("passes");
        let found: Vec<_> =
            merged.stacks.iter().map(|wait| (wait.kind, wait.is_idle, wait.time.as_micros())).collect();
        assert_eq!(found, [(WaitKind::Lock, false, 40), (WaitKind::Events, true, 520)]);
        assert_eq!((merged.stacks[0].waits, merged.lost, merged.sampled), (Some(4.0), 2, 6));
        assert_eq!(merged.notes, ["a note"]);
        assert_eq!(Waits::merged(&[]), None);
        assert_eq!(
            folded::write(&merged.to_stacks()),
            "t;<lock>;lock 40\nt;<waiting for work>;<events of connections>;poll 520\n"
        );
    }

    #[test]
    fn wakers_are_counted_once_each() {
        let waker = |thread: &str, wakes| Waker {
            kind: WakerKind::Thread,
            thread: thread.to_owned(),
            frames: Vec::new(),
            wakes,
        };
        let merged = merged_wakers([waker("a", 1), waker("b", 2), waker("a", 3)].iter());
        assert_eq!(merged, [waker("a", 4), waker("b", 2)]);
    }
}
