//! The turns of a driver: its input, its output and its random numbers. No other file of the engine uses a [`Turn`].

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::driver::{Demand, Driver, Fault, OperationId, Step, Turn};

/// The driver of one worker, with its output and its random numbers.
pub(super) struct DriverSession<D> {
    driver: D,
    rng: Pcg64Mcg,
    out: Vec<u8>,
}

impl<D: Driver> DriverSession<D> {
    /// All random numbers follow from `seed`.
    pub fn new(driver: D, seed: u64) -> Self {
        Self { driver, rng: Pcg64Mcg::seed_from_u64(seed), out: Vec::with_capacity(4096) }
    }

    /// Begins the random numbers of the next part of a load: parts with one seed draw the same operations.
    pub fn reseed(&mut self, seed: u64) {
        self.rng = Pcg64Mcg::seed_from_u64(seed);
    }

    /// The output of the last turn.
    #[inline]
    pub fn output(&self) -> &[u8] {
        &self.out
    }

    /// See [`Driver::dialogue`].
    pub fn dialogue(&mut self, slot: u32) -> D::Dialogue {
        self.driver.dialogue(slot)
    }

    /// See [`Driver::arrive`].
    pub fn arrive(&mut self, slot: u32) {
        self.driver.arrive(slot, &mut self.rng);
    }

    /// See [`Driver::choose`].
    #[inline]
    pub fn choose(&mut self) -> OperationId {
        self.driver.choose(&mut self.rng)
    }

    /// See [`Driver::greet`].
    pub fn greet(&mut self, dialogue: &mut D::Dialogue, counters: &mut [u64]) -> Step {
        self.out.clear();
        self.driver.greet(dialogue, Turn { out: &mut self.out, rng: &mut self.rng, counters })
    }

    /// See [`Driver::secured`].
    pub fn secured(&mut self, dialogue: &mut D::Dialogue, counters: &mut [u64]) -> Step {
        self.out.clear();
        self.driver.secured(dialogue, Turn { out: &mut self.out, rng: &mut self.rng, counters })
    }

    /// See [`Driver::operations_left`].
    #[inline(always)]
    pub fn operations_left(&self) -> u64 {
        self.driver.operations_left()
    }

    /// See [`Driver::begin`].
    #[inline]
    pub fn begin(&mut self, dialogue: &mut D::Dialogue, operation: OperationId, counters: &mut [u64]) {
        self.out.clear();
        self.driver.begin(dialogue, operation, Turn { out: &mut self.out, rng: &mut self.rng, counters });
    }

    /// See [`Driver::reconnected`].
    pub fn reconnected(&mut self, dialogue: &mut D::Dialogue, counters: &mut [u64]) -> Step {
        self.out.clear();
        self.driver.reconnected(dialogue, Turn { out: &mut self.out, rng: &mut self.rng, counters })
    }

    /// See [`Driver::receive`].
    #[inline]
    pub fn receive(&mut self, dialogue: &mut D::Dialogue, input: &[u8], counters: &mut [u64]) -> Step {
        self.out.clear();
        self.driver.receive(dialogue, input, Turn { out: &mut self.out, rng: &mut self.rng, counters })
    }

    /// See [`Driver::demand`].
    #[inline(always)]
    pub fn demand(&self, dialogue: &D::Dialogue) -> Demand {
        self.driver.demand(dialogue)
    }

    /// See [`Driver::skip`].
    #[inline(always)]
    pub fn skip(&mut self, dialogue: &mut D::Dialogue, bytes: u64) {
        self.driver.skip(dialogue, bytes);
    }

    /// See [`Driver::closed`]. The connection is gone, so it is never used again, and a driver that still waits has
    /// failed.
    pub fn closed(&mut self, dialogue: &mut D::Dialogue, counters: &mut [u64]) -> Step {
        self.out.clear();
        let turn = Turn { out: &mut self.out, rng: &mut self.rng, counters };
        let step = self.driver.closed(dialogue, turn);
        self.out.clear();
        match step {
            Step::Done { .. } => Step::Done { reuse: false },
            Step::Reconnect => Step::Reconnect,
            Step::Failed(fault) => Step::Failed(Fault { reuse: false, ..fault }),
            Step::Wait | Step::Secure => {
                Step::Failed(Fault::closed("the server closed before its reply was complete"))
            }
        }
    }
}
