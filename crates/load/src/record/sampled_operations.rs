//! Single operations of a part with the times of their steps: the slowest, and some that are drawn at random. Memory does not
//! grow with the number of operations. Percentiles are no matter of this file: histograms have all operations.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

use crate::clock::Nanos;

/// How many single operations each worker keeps of a part. 0 and 0: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SingleLimits {
    /// The slowest.
    pub slowest: u32,
    /// Drawn at random, each operation with the same chance.
    pub drawn: u32,
}

/// An operation that succeeded, with the times of its steps on the machine's monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SingleOperation {
    /// From its intended start until the client's kernel had received its reply: its response time but for `unread_before`.
    pub response: Nanos,
    /// Its place in the operations of the load.
    pub operation: u32,
    /// The client's TCP port; none where it is not known.
    pub local_port: Option<u16>,
    /// When it should have begun.
    pub intended_start: Nanos,
    /// From here on only the client could be late: it was due, and its connection was free.
    pub ready: Nanos,
    /// When its first bytes were sent.
    pub sent: Nanos,
    /// For how long earlier replies of the operation lay unread.
    pub unread_before: Nanos,
    /// When the client's kernel had received the last byte.
    pub received: Nanos,
    /// When the client had read it.
    pub read: Nanos,
}

impl SingleOperation {
    /// The same operation with its instants changed by `convert`.
    #[must_use]
    pub fn with_instants(self, convert: impl Fn(Nanos) -> Nanos) -> Self {
        Self {
            intended_start: convert(self.intended_start),
            ready: convert(self.ready),
            sent: convert(self.sent),
            received: convert(self.received),
            read: convert(self.read),
            ..self
        }
    }
}

/// Chooses the single operations of one worker.
#[derive(Debug)]
pub(crate) struct Singles {
    limits: SingleLimits,
    /// Operations that began before this are not measured.
    from: Nanos,
    /// The fastest of them on top.
    slowest: BinaryHeap<Reverse<SingleOperation>>,
    /// A reservoir (Vitter 1985, algorithm R).
    drawn: Vec<SingleOperation>,
    seen: u64,
    rng: Pcg64Mcg,
}

impl Singles {
    /// Chooses among operations that should begin from `from` on. None where none are wanted.
    pub fn new(limits: SingleLimits, from: Nanos, seed: u64) -> Option<Box<Self>> {
        (limits != SingleLimits::default()).then(|| {
            Box::new(Self {
                limits,
                from,
                slowest: BinaryHeap::new(),
                drawn: Vec::new(),
                seen: 0,
                rng: Pcg64Mcg::seed_from_u64(seed),
            })
        })
    }

    /// An operation has ended; `local_port` is asked for only if it is kept.
    pub fn offer(&mut self, mut operation: SingleOperation, local_port: impl FnOnce() -> Option<u16>) {
        if operation.intended_start < self.from {
            return;
        }
        self.seen += 1;
        let drawn_limit = self.limits.drawn as usize;
        let place = if self.drawn.len() < drawn_limit {
            self.drawn.len()
        } else {
            usize::try_from(self.rng.random_range(0..self.seen)).unwrap_or(usize::MAX)
        };
        let is_drawn = place < drawn_limit;
        let is_slow = self.slowest.len() < self.limits.slowest as usize
            || self.slowest.peek().is_some_and(|Reverse(fastest)| operation.response > fastest.response);
        if !is_drawn && !is_slow {
            return;
        }
        operation.local_port = local_port();
        if is_drawn && place == self.drawn.len() {
            self.drawn.push(operation);
        } else if is_drawn {
            self.drawn[place] = operation;
        }
        if is_slow {
            self.slowest.push(Reverse(operation));
            if self.slowest.len() > self.limits.slowest as usize {
                self.slowest.pop();
            }
        }
    }

    /// All that are kept, each once, the slowest first.
    pub fn finish(self) -> Vec<SingleOperation> {
        let mut kept: Vec<SingleOperation> =
            self.slowest.into_iter().map(|Reverse(operation)| operation).chain(self.drawn).collect();
        kept.sort_by(|a, b| b.cmp(a));
        kept.dedup();
        kept
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn operation(number: u64, response: u64) -> SingleOperation {
        let begin = Nanos(1_000 * number);
        SingleOperation {
            response: Nanos(response),
            operation: 0,
            local_port: None,
            intended_start: begin,
            ready: begin,
            sent: begin,
            unread_before: Nanos(0),
            received: Nanos(begin.0 + response),
            read: Nanos(begin.0 + response),
        }
    }

    fn kept(limits: SingleLimits, from: u64, responses: &[u64]) -> Vec<SingleOperation> {
        let mut singles = Singles::new(limits, Nanos(from), 7).expect("some are wanted");
        for (number, response) in responses.iter().enumerate() {
            singles.offer(operation(number as u64, *response), || Some(80));
        }
        singles.finish()
    }

    #[test]
    fn nothing_is_kept_unless_it_is_wanted() {
        assert!(Singles::new(SingleLimits::default(), Nanos(0), 1).is_none());
    }

    #[test]
    fn each_operation_is_drawn_with_the_same_chance() {
        let mut times = [0_u32; 50];
        for seed in 0..2_000 {
            let limits = SingleLimits { slowest: 0, drawn: 5 };
            let mut singles = Singles::new(limits, Nanos(0), seed).expect("some are wanted");
            for number in 0..50 {
                singles.offer(operation(number, 1), || None);
            }
            for drawn in singles.finish() {
                times[(drawn.intended_start.0 / 1_000) as usize] += 1;
            }
        }
        // 200 are expected of each, ±13; the seeds are fixed.
        assert!(times.iter().all(|times| (140..=260).contains(times)), "{times:?}");
    }

    proptest! {
        #[test]
        fn the_slowest_are_kept_and_none_twice(
            responses in prop::collection::vec(0_u64..500, 0..200),
            slowest in 0_u32..20,
            drawn in 0_u32..20,
            from in 0_u64..50,
        ) {
            prop_assume!(slowest + drawn > 0);
            let found = kept(SingleLimits { slowest, drawn }, 1_000 * from, &responses);
            let mut measured: Vec<u64> = responses.iter().skip(from as usize).copied().collect();
            measured.sort_unstable_by(|a, b| b.cmp(a));
            let least = measured.len().min(slowest.max(drawn) as usize);
            prop_assert!((least..=(slowest + drawn) as usize).contains(&found.len()));
            let expected = &measured[..measured.len().min(slowest as usize)];
            let found_responses: Vec<u64> = found.iter().map(|single| single.response.0).collect();
            prop_assert_eq!(&found_responses[..expected.len()], expected);
            let mut begins: Vec<Nanos> = found.iter().map(|single| single.intended_start).collect();
            begins.sort_unstable();
            begins.dedup();
            prop_assert_eq!(begins.len(), found.len());
            let is_right = |single: &SingleOperation| single.intended_start.0 >= 1_000 * from && single.local_port == Some(80);
            prop_assert!(found.iter().all(is_right));
        }
    }
}
