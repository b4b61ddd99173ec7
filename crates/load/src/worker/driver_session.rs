//! A driver's turns: what it is given, what it writes, and what it makes of the server's words. Keeps the
//! driver's side of the bargain narrow: nothing outside sees a [`Turn`].

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::driver::{Demand, Driver, Fault, OperationId, Step, Turn};

/// The driver of one worker, with what it needs in its turns.
pub(super) struct DriverSession<D> {
    driver: D,
    rng: Pcg64Mcg,
    out: Vec<u8>,
}

impl<D: Driver> DriverSession<D> {
    /// Everything drawn at random follows from `seed`.
    pub fn new(driver: D, seed: u64) -> Self {
        Self { driver, rng: Pcg64Mcg::seed_from_u64(seed), out: Vec::with_capacity(4096) }
    }

    /// What the last turn wrote, to be sent.
    #[inline]
    pub fn output(&self) -> &[u8] {
        &self.out
    }

    /// See [`Driver::dialogue`].
    pub fn dialogue(&mut self) -> D::Dialogue {
        self.driver.dialogue()
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

    /// See [`Driver::begin`].
    #[inline]
    pub fn begin(&mut self, dialogue: &mut D::Dialogue, counters: &mut [u64]) -> OperationId {
        self.out.clear();
        self.driver.begin(dialogue, Turn { out: &mut self.out, rng: &mut self.rng, counters })
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

    /// See [`Driver::closed`]. Whatever the driver thinks, the connection is gone and nothing more will come.
    pub fn closed(&mut self, dialogue: &mut D::Dialogue) -> Step {
        self.out.clear();
        match self.driver.closed(dialogue) {
            Step::Done { .. } => Step::Done { reuse: false },
            Step::Failed(fault) => Step::Failed(Fault { reuse: false, ..fault }),
            Step::Wait | Step::Secure => {
                Step::Failed(Fault::closed("the server closed before its reply was whole"))
            }
        }
    }
}
