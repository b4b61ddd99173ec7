//! pread(2) and pwrite(2): a thread has one transfer in flight, and stays in the kernel until it is complete.

use std::fs::File;
use std::os::unix::fs::FileExt;

use rand_pcg::Pcg64Mcg;

use super::target::{AlignedBuffer, FileCursor, OPERATIONS, READ, TargetFile};
use crate::error::{BuiltinRunnerError, OperationFailure};
use crate::operations::SyncOperations;

/// Synchronous transfers.
pub struct Psync<'a>(pub TargetFile<'a>);

/// The state of one thread.
pub struct PsyncThread {
    file: File,
    buffer: AlignedBuffer,
    cursor: FileCursor,
}

impl SyncOperations for Psync<'_> {
    type ThreadState = PsyncThread;

    fn operations(&self) -> Vec<String> {
        OPERATIONS.map(str::to_owned).to_vec()
    }

    fn bytes_each(&self) -> u64 {
        self.0.bytes_each()
    }

    fn thread_state(&self) -> Result<PsyncThread, BuiltinRunnerError> {
        Ok(PsyncThread { file: self.0.open()?, buffer: self.0.buffer(), cursor: self.0.cursor() })
    }

    fn execute(
        &self,
        thread: &mut PsyncThread,
        operation: usize,
        rng: &mut Pcg64Mcg,
    ) -> Result<(), OperationFailure> {
        for _ in 0..self.0.transfers() {
            let offset = self.0.offset(&mut thread.cursor, rng);
            if operation == READ {
                thread.file.read_exact_at(thread.buffer.bytes(), offset)?;
            } else {
                thread.file.write_all_at(thread.buffer.bytes(), offset)?;
            }
        }
        Ok(())
    }
}
