//! The interface between the closed loop and what it measures: synchronous operations, and operations in a queue.

use rand_pcg::Pcg64Mcg;

use crate::{BuiltinRunnerError, OperationFailure};

/// Operations of which a thread has one in flight, and which it waits for.
pub trait SyncOperations: Sync {
    /// The state of one thread: a connection, a buffer.
    type ThreadState: Send;

    /// The names of the operations.
    fn operations(&self) -> Vec<String>;

    /// How many bytes each operation moves; 0 if this is not reported.
    fn bytes_each(&self) -> u64 {
        0
    }

    /// Makes the state of one thread, for one run.
    fn thread_state(&self) -> Result<Self::ThreadState, BuiltinRunnerError>;

    /// Executes an operation, given as an index into [`SyncOperations::operations`]. The closed loop times this call.
    fn execute(
        &self,
        state: &mut Self::ThreadState,
        operation: usize,
        rng: &mut Pcg64Mcg,
    ) -> Result<(), OperationFailure>;
}

/// Operations of which a thread can have several in flight, each in a slot from 0 to the queue depth - 1.
pub trait QueuedOperations: Sync {
    /// The state of one thread.
    type ThreadState: Send;

    /// The names of the operations.
    fn operations(&self) -> Vec<String>;

    /// How many bytes each operation moves; 0 if this is not reported.
    fn bytes_each(&self) -> u64;

    /// The queue depth: how many operations a thread has in flight.
    fn depth(&self) -> usize;

    /// Makes the state of one thread, for one run.
    fn thread_state(&self) -> Result<Self::ThreadState, BuiltinRunnerError>;

    /// Begins an operation, given as an index into [`QueuedOperations::operations`], in a free slot.
    fn begin(&self, state: &mut Self::ThreadState, slot: usize, operation: usize, rng: &mut Pcg64Mcg);

    /// Waits until at least one operation is complete, and adds all complete ones to `completions`.
    fn wait(&self, state: &mut Self::ThreadState, rng: &mut Pcg64Mcg, completions: &mut Vec<Completion>);
}

/// A completed operation.
pub struct Completion {
    /// The slot that it occupied.
    pub slot: usize,
    /// Whether it succeeded.
    pub result: Result<(), OperationFailure>,
}

/// Synchronous operations are a queue with one slot: an operation is complete when `begin` returns.
impl<O: SyncOperations> QueuedOperations for O {
    type ThreadState = (O::ThreadState, Option<Completion>);

    fn operations(&self) -> Vec<String> {
        SyncOperations::operations(self)
    }

    fn bytes_each(&self) -> u64 {
        SyncOperations::bytes_each(self)
    }

    fn depth(&self) -> usize {
        1
    }

    fn thread_state(&self) -> Result<Self::ThreadState, BuiltinRunnerError> {
        Ok((SyncOperations::thread_state(self)?, None))
    }

    fn begin(
        &self,
        (state, completion): &mut Self::ThreadState,
        slot: usize,
        operation: usize,
        rng: &mut Pcg64Mcg,
    ) {
        *completion = Some(Completion { slot, result: self.execute(state, operation, rng) });
    }

    fn wait(
        &self,
        (_, completion): &mut Self::ThreadState,
        _: &mut Pcg64Mcg,
        completions: &mut Vec<Completion>,
    ) {
        completions.extend(completion.take());
    }
}
