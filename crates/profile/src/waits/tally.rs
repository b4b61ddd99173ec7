//! Sums waits by stack, of which only some have one.
//!
//! The time and the number of all waits are known from the switches. Where only every n-th switch has its stack, the waits
//! with a stack divide the time of all waits of about their length: otherwise few long waits, whose stacks were not read, would
//! be taken for many short ones. A wait is compared with those of its thread's name, within a factor of four of its length.

use std::collections::HashMap;

use super::stack_table::StackId;

/// The place of a waker in its table.
pub(super) type WakerId = u32;

/// One wait that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EndedWait {
    pub tid: u32,
    /// Index of the thread's name.
    pub thread: usize,
    /// Whether the thread wanted to go on: it waited for a CPU.
    pub is_preempted: bool,
    pub ns: u64,
    pub stack: Option<StackId>,
    pub waker: Option<WakerId>,
}

/// Waits that are compared with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Stratum {
    thread: usize,
    is_preempted: bool,
    /// See [`length_class`].
    length: u32,
}

/// Half of the logarithm of a wait's length to base 2: waits of one class differ by a factor of four at most.
pub(super) fn length_class(ns: u64) -> u32 {
    ns.max(1).ilog2() / 2
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    ns: u64,
    waits: u64,
}

impl Sum {
    fn add(&mut self, ns: u64) {
        self.ns += ns;
        self.waits += 1;
    }
}

#[derive(Debug, Default)]
struct WithStack {
    sum: Sum,
    wakers: HashMap<WakerId, u64>,
}

/// The waits of one stack.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TalliedWait {
    pub thread: usize,
    pub is_preempted: bool,
    /// None: waits of which none had a stack.
    pub stack: Option<StackId>,
    pub ns: f64,
    /// None where waits cannot be counted.
    pub waits: Option<f64>,
    /// How often each waker was seen.
    pub wakers: HashMap<WakerId, u64>,
}

/// Sums of waits.
#[derive(Debug, Default)]
pub(super) struct Tally {
    all: HashMap<Stratum, Sum>,
    with_stack: HashMap<(Stratum, StackId), WithStack>,
    /// How often each thread had each stack, without those that were preempted.
    pub by_thread: HashMap<u32, HashMap<StackId, u64>>,
    /// Waits that had their stack.
    pub sampled: u64,
}

impl Tally {
    pub(super) fn add(&mut self, wait: &EndedWait) {
        let stratum =
            Stratum { thread: wait.thread, is_preempted: wait.is_preempted, length: length_class(wait.ns) };
        self.all.entry(stratum).or_default().add(wait.ns);
        let Some(stack) = wait.stack else { return };
        self.sampled += 1;
        if !wait.is_preempted {
            *self.by_thread.entry(wait.tid).or_default().entry(stack).or_default() += 1;
        }
        let found = self.with_stack.entry((stratum, stack)).or_default();
        found.sum.add(wait.ns);
        if let Some(waker) = wait.waker {
            *found.wakers.entry(waker).or_default() += 1;
        }
    }

    /// The waits by stack. Their times sum to those of all waits.
    pub(super) fn waits(&self) -> Vec<TalliedWait> {
        let mut read: HashMap<Stratum, Sum> = HashMap::new();
        for ((stratum, _), found) in &self.with_stack {
            let sum = read.entry(*stratum).or_default();
            sum.ns += found.sum.ns;
            sum.waits += found.sum.waits;
        }
        let mut waits: HashMap<(usize, bool, Option<StackId>), TalliedWait> = HashMap::new();
        let mut add = |stratum: &Stratum, stack, ns: f64, count: f64, wakers: &HashMap<WakerId, u64>| {
            let key = (stratum.thread, stratum.is_preempted, stack);
            let wait = waits.entry(key).or_insert_with(|| TalliedWait {
                thread: stratum.thread,
                is_preempted: stratum.is_preempted,
                stack,
                ns: 0.0,
                waits: Some(0.0),
                wakers: HashMap::new(),
            });
            wait.ns += ns;
            wait.waits = wait.waits.map(|before| before + count);
            for (waker, times) in wakers {
                *wait.wakers.entry(*waker).or_default() += times;
            }
        };
        for ((stratum, stack), found) in &self.with_stack {
            let (all, read) = (self.all[stratum], read[stratum]);
            let share = |part: u64, of: u64| part as f64 / of.max(1) as f64;
            let ns = all.ns as f64 * share(found.sum.ns, read.ns);
            let count = all.waits as f64 * share(found.sum.waits, read.waits);
            add(stratum, Some(*stack), ns, count, &found.wakers);
        }
        for (stratum, all) in self.all.iter().filter(|(stratum, _)| !read.contains_key(stratum)) {
            add(stratum, None, all.ns as f64, all.waits as f64, &HashMap::new());
        }
        waits.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wait(ns: u64, stack: Option<StackId>) -> EndedWait {
        EndedWait { tid: 1, thread: 0, is_preempted: false, ns, stack, waker: None }
    }

    fn of(waits: &[TalliedWait], stack: Option<StackId>) -> &TalliedWait {
        waits.iter().find(|wait| wait.stack == stack).expect("a wait of the stack")
    }

    #[test]
    fn long_waits_without_a_stack_are_not_taken_for_short_ones() {
        let mut tally = Tally::default();
        for n in 0..1000 {
            tally.add(&wait(50_000, (n % 10 == 0).then_some(1)));
        }
        // A fifth of a second each; none has a stack.
        for _ in 0..5 {
            tally.add(&wait(200_000_000, None));
        }
        let waits = tally.waits();
        assert_eq!((of(&waits, Some(1)).ns, of(&waits, Some(1)).waits), (50e6, Some(1000.0)));
        assert!((of(&waits, None).ns - 1e9).abs() < 1.0);
    }

    #[test]
    fn waits_with_a_stack_divide_the_time_of_those_without() {
        let mut tally = Tally::default();
        for n in 0..400 {
            let stack = match n % 8 {
                0 => Some(1),
                1..=3 => Some(2),
                _ => None,
            };
            tally.add(&wait(1000, stack));
        }
        let waits = tally.waits();
        assert_eq!((of(&waits, Some(1)).ns, of(&waits, Some(2)).ns), (100e3, 300e3));
        assert_eq!(tally.sampled, 200);
    }

    proptest! {
        #[test]
        fn no_time_is_lost(all in prop::collection::vec((0..1_000_000_000_u64, 0..6_u32), 0..200)) {
            let mut tally = Tally::default();
            for (ns, stack) in &all {
                tally.add(&wait(*ns, (*stack > 2).then_some(*stack)));
            }
            let (sum, expected) = (tally.waits().iter().map(|wait| wait.ns).sum::<f64>(), all.iter().map(|(ns, _)| ns).sum::<u64>());
            prop_assert!((sum - expected as f64).abs() <= 1e-6 * (1.0 + expected as f64), "{sum} of {expected}");
            let count: f64 = tally.waits().iter().filter_map(|wait| wait.waits).sum();
            prop_assert!((count - all.len() as f64).abs() < 1e-6);
        }
    }
}
