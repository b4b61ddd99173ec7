//! pread(2) and pwrite(2): a thread has one transfer under way, and is in the kernel until it has ended.

use std::fs::File;
use std::os::unix::fs::FileExt;

use rand_pcg::Pcg64Mcg;

use super::target::{Buffer, Cursor, OPERATIONS, READ, Target};
use crate::RunnerError;
use crate::loops::Work;

/// Transfers that are waited for one by one.
pub struct Psync<'a>(pub Target<'a>);

/// What one thread has.
pub struct Hand {
    file: File,
    buffer: Buffer,
    cursor: Cursor,
}

impl Work for Psync<'_> {
    type Hand = Hand;

    fn operations(&self) -> Vec<String> {
        OPERATIONS.map(str::to_owned).to_vec()
    }

    fn bytes_each(&self) -> u64 {
        self.0.bytes_each()
    }

    fn hand(&self) -> Result<Hand, RunnerError> {
        Ok(Hand { file: self.0.open()?, buffer: self.0.buffer(), cursor: self.0.cursor() })
    }

    fn operate(&self, hand: &mut Hand, operation: usize, rng: &mut Pcg64Mcg) -> Result<(), String> {
        for _ in 0..self.0.transfers() {
            let offset = self.0.offset(&mut hand.cursor, rng);
            let moved = if operation == READ {
                hand.file.read_exact_at(hand.buffer.bytes(), offset)
            } else {
                hand.file.write_all_at(hand.buffer.bytes(), offset)
            };
            moved.map_err(|e| e.to_string())?;
        }
        Ok(())
    }
}
