//! `io_uring(7)`: a thread has as many operations in flight as the queue depth.
//!
//! It submits each operation when it begins, so that the device need not wait for a batch (also fio's default,
//! `iodepth_batch_submit=1`). Submitting them together with the next wait gave 10 % less throughput at depth 16.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use io_uring::types::Fd;
use io_uring::{IoUring, opcode};
use rand_pcg::Pcg64Mcg;

use super::error::BlockError;
use super::target::{AlignedBuffer, FileCursor, OPERATIONS, READ, TargetFile};
use crate::error::{BuiltinRunnerError, OperationFailure};
use crate::operations::{Completion, QueuedOperations};

/// Asynchronous transfers.
pub struct Uring<'a>(pub TargetFile<'a>);

/// The state of one thread.
pub struct UringThread {
    io_uring: IoUring,
    /// Whether the thread has enabled its `io_uring`.
    is_enabled: bool,
    file: File,
    cursor: FileCursor,
    slots: Vec<QueueSlot>,
    /// The number of transfers that the kernel has not completed.
    in_flight: usize,
}

/// An operation in flight.
struct QueueSlot {
    buffer: AlignedBuffer,
    operation: usize,
    /// The remaining transfers, with the current one.
    left: u64,
    /// The offset of the current transfer.
    offset: u64,
    /// The bytes that the current transfer has moved.
    moved: usize,
}

impl Uring<'_> {
    /// Submits the next transfer of the operation in a slot.
    fn next_transfer(&self, thread: &mut UringThread, slot: usize, rng: &mut Pcg64Mcg) {
        thread.slots[slot].offset = self.0.offset(&mut thread.cursor, rng);
        thread.slots[slot].moved = 0;
        thread.submit(slot);
    }
}

impl QueuedOperations for Uring<'_> {
    type ThreadState = UringThread;

    fn operations(&self) -> Vec<String> {
        OPERATIONS.map(str::to_owned).to_vec()
    }

    fn depth(&self) -> usize {
        self.0.options.depth as usize
    }

    fn bytes_each(&self) -> u64 {
        self.0.bytes_each()
    }

    fn thread_state(&self) -> Result<UringThread, BuiltinRunnerError> {
        let depth = self.0.options.depth;
        let (io_uring, is_enabled) =
            create_io_uring(depth).map_err(|source| BlockError::Uring { depth, source })?;
        let slot = |_| QueueSlot { buffer: self.0.buffer(), operation: READ, left: 0, offset: 0, moved: 0 };
        let slots = (0..depth).map(slot).collect();
        let (file, cursor) = (self.0.open()?, self.0.cursor());
        Ok(UringThread { io_uring, is_enabled, file, cursor, slots, in_flight: 0 })
    }

    fn begin(&self, thread: &mut UringThread, slot: usize, operation: usize, rng: &mut Pcg64Mcg) {
        thread.slots[slot].operation = operation;
        thread.slots[slot].left = self.0.transfers();
        self.next_transfer(thread, slot, rng);
    }

    fn wait(&self, thread: &mut UringThread, rng: &mut Pcg64Mcg, completions: &mut Vec<Completion>) {
        while completions.is_empty() {
            thread.wait();
            while let Some((slot, moved)) = thread.take_completed() {
                match thread.account(slot, moved) {
                    Err(error) => completions.push(Completion { slot, result: Err(error) }),
                    Ok(false) => thread.submit(slot),
                    Ok(true) if thread.slots[slot].left > 0 => self.next_transfer(thread, slot, rng),
                    Ok(true) => completions.push(Completion { slot, result: Ok(()) }),
                }
            }
        }
    }
}

/// Creates an `io_uring` that runs completions when its thread waits for them, without interrupts, as fio does
/// (`io_uring_setup(2)`, `IORING_SETUP_DEFER_TASKRUN`). On kernels before 6.1 it creates a plain one. Returns whether it
/// is enabled. It belongs to the thread that enables it.
fn create_io_uring(depth: u32) -> io::Result<(IoUring, bool)> {
    let deferring = IoUring::builder()
        .setup_single_issuer()
        .setup_coop_taskrun()
        .setup_defer_taskrun()
        .setup_r_disabled()
        .build(depth);
    deferring.map(|io_uring| (io_uring, false)).or_else(|_| Ok((IoUring::new(depth)?, true)))
}

impl UringThread {
    /// Submits the rest of a slot's transfer to the kernel.
    fn submit(&mut self, slot: usize) {
        self.push(slot);
        self.enter(0);
    }

    /// Adds the rest of a slot's transfer to the submission queue.
    #[expect(
        unsafe_code,
        reason = "the kernel gets the addresses of buffers, which are not used until the transfer is complete"
    )]
    fn push(&mut self, slot: usize) {
        let fd = Fd(self.file.as_raw_fd());
        let QueueSlot { buffer, operation, offset, moved, .. } = &mut self.slots[slot];
        let rest = &mut buffer.bytes()[*moved..];
        let (begin, length) = (rest.as_mut_ptr(), rest.len() as u32);
        let offset = *offset + *moved as u64;
        let entry = if *operation == READ {
            opcode::Read::new(fd, begin, length).offset(offset).build()
        } else {
            opcode::Write::new(fd, begin, length).offset(offset).build()
        };
        // SAFETY: the file and the buffers live until no transfer is in flight, which `drop` waits for. A slot's buffer is
        // not accessed during its transfer.
        let pushed = unsafe { self.io_uring.submission().push(&entry.user_data(slot as u64)) };
        pushed.expect("there is an entry for each slot");
        self.in_flight += 1;
    }

    /// Waits until a transfer is complete.
    fn wait(&mut self) {
        if self.io_uring.completion().is_empty() {
            self.enter(1);
        }
    }

    /// Submits the queued transfers, and waits for this many completions.
    fn enter(&mut self, completions: usize) {
        if !self.is_enabled {
            self.io_uring.submitter().register_enable_rings().expect("the io_uring was created disabled");
            self.is_enabled = true;
        }
        loop {
            match self.io_uring.submit_and_wait(completions) {
                Ok(_) => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => panic!("io_uring_enter(2) failed: {error}"),
            }
        }
    }

    /// Takes a completed transfer: its slot, and the number of bytes or a negative error number.
    fn take_completed(&mut self) -> Option<(usize, i32)> {
        let entry = self.io_uring.completion().next()?;
        self.in_flight -= 1;
        Some((entry.user_data() as usize, entry.result()))
    }

    /// Records the bytes of a slot's transfer. Returns whether the transfer is complete.
    fn account(&mut self, slot: usize, moved: i32) -> Result<bool, OperationFailure> {
        let slot = &mut self.slots[slot];
        match usize::try_from(moved) {
            Err(_) => Err(io::Error::from_raw_os_error(-moved).into()),
            Ok(0) => Err(OperationFailure::EndOfFile),
            Ok(moved) => {
                slot.moved += moved;
                let is_complete = slot.moved == slot.buffer.bytes().len();
                slot.left -= u64::from(is_complete);
                Ok(is_complete)
            }
        }
    }
}

impl Drop for UringThread {
    fn drop(&mut self) {
        while self.in_flight > 0 {
            self.wait();
            while self.take_completed().is_some() {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use clap::{Args, Command, FromArgMatches};
    use rand::SeedableRng;

    use super::*;
    use crate::block::options::BlockOptions;

    #[test]
    fn every_slot_completes_once_and_the_written_blocks_are_in_the_file()
    -> Result<(), Box<dyn std::error::Error>> {
        let file = tempfile::NamedTempFile::new()?;
        fs::write(file.path(), [0; 4096])?;
        let args =
            ["block", "--directory=/", "--buffer=512", "--amount=1024", "--depth=4", "--pattern=sequential"];
        let matches = BlockOptions::augment_args(Command::new("block")).get_matches_from(args);
        let options = BlockOptions::from_arg_matches(&matches)?;
        let uring = Uring(TargetFile::new(Path::new(file.path()), &options, 8));
        let (mut thread, mut rng) = (uring.thread_state()?, Pcg64Mcg::seed_from_u64(1));
        // Four writes of two transfers each cover the whole file once.
        (0..4).for_each(|slot| uring.begin(&mut thread, slot, 1, &mut rng));
        let mut all = Vec::new();
        while all.len() < 4 {
            let mut completions = Vec::new();
            uring.wait(&mut thread, &mut rng, &mut completions);
            all.extend(completions);
        }
        assert!(all.iter().all(|completion| completion.result.is_ok()));
        let mut slots: Vec<usize> = all.iter().map(|completion| completion.slot).collect();
        slots.sort_unstable();
        assert_eq!((slots, thread.in_flight), (vec![0, 1, 2, 3], 0));
        assert!(fs::read(file.path())? == uring.0.buffer().bytes().repeat(8));
        Ok(())
    }
}
