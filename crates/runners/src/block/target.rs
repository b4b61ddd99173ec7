//! The target of the transfers: the file, the position of the next transfer, and the buffer.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::error::BlockError;
use super::options::{AccessPattern, BlockOptions, CacheMode, WriteSync};

/// The operations, by index.
pub const OPERATIONS: [&str; 2] = ["read", "write"];
pub const READ: usize = 0;

/// Direct I/O needs buffers that are aligned to a block of the device (open(2), `O_DIRECT`). No device has larger blocks.
const ALIGNMENT: usize = 4096;

/// The file, and how it is read and written.
pub struct TargetFile<'a> {
    path: &'a Path,
    pub options: &'a BlockOptions,
    /// The number of blocks in the file. A block is as long as a buffer.
    blocks: u64,
    /// The number of blocks in the part of one thread.
    blocks_per_thread: u64,
    /// How many threads have got their part.
    threads: AtomicU64,
}

/// The position of a thread: the first block of its part, and the next block relative to it.
pub struct FileCursor {
    first: u64,
    next: u64,
}

impl<'a> TargetFile<'a> {
    pub fn new(path: &'a Path, options: &'a BlockOptions, blocks: u64) -> Self {
        let blocks_per_thread = blocks / u64::from(options.threads);
        Self { path, options, blocks, blocks_per_thread, threads: AtomicU64::new(0) }
    }

    /// Opens the file. With direct I/O, this checks that the file system supports it, for this length.
    pub fn open(&self) -> Result<File, BlockError> {
        let is_direct = self.options.cache == CacheMode::Direct;
        let mut flags = OFlags::empty();
        flags.set(OFlags::DIRECT, is_direct);
        flags.set(OFlags::DSYNC, self.options.sync == WriteSync::Data);
        let is_refused = |e: &std::io::Error| is_direct && Errno::from_io_error(e) == Some(Errno::INVAL);
        let path = || self.path.to_owned();
        let open = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(flags.bits().cast_signed())
            .open(self.path);
        let file = open.map_err(|source| {
            if is_refused(&source) {
                BlockError::NoDirectIo { path: path() }
            } else {
                BlockError::Open { path: path(), source }
            }
        })?;
        if is_direct {
            file.read_exact_at(self.buffer().bytes(), 0).map_err(|source| {
                if is_refused(&source) {
                    BlockError::DirectIoLength { buffer: self.options.buffer, path: path() }
                } else {
                    BlockError::Read { path: path(), source }
                }
            })?;
        }
        Ok(file)
    }

    /// The cursor of the next thread, at the start of its part.
    pub fn cursor(&self) -> FileCursor {
        let thread = self.threads.fetch_add(1, Ordering::Relaxed) % u64::from(self.options.threads);
        FileCursor { first: thread * self.blocks_per_thread, next: 0 }
    }

    /// The offset of the next transfer.
    pub fn offset(&self, cursor: &mut FileCursor, rng: &mut Pcg64Mcg) -> u64 {
        let block = match self.options.pattern {
            AccessPattern::Random => rng.random_range(0..self.blocks),
            AccessPattern::Sequential => {
                let block = cursor.first + cursor.next;
                cursor.next = (cursor.next + 1) % self.blocks_per_thread;
                block
            }
        };
        block * self.options.buffer
    }

    /// The number of transfers of an operation.
    pub fn transfers(&self) -> u64 {
        (self.options.amount / self.options.buffer).max(1)
    }

    /// The number of bytes that an operation moves.
    pub fn bytes_each(&self) -> u64 {
        self.transfers() * self.options.buffer
    }

    /// A buffer of random bytes, as long as a transfer.
    pub fn buffer(&self) -> AlignedBuffer {
        let length = self.options.buffer as usize;
        let bytes = vec![0; length + ALIGNMENT];
        let begin = bytes.as_ptr().align_offset(ALIGNMENT);
        let mut buffer = AlignedBuffer { bytes, begin, length };
        Pcg64Mcg::seed_from_u64(2).fill_bytes(buffer.bytes());
        buffer
    }
}

/// Memory with the alignment for direct I/O.
pub struct AlignedBuffer {
    bytes: Vec<u8>,
    begin: usize,
    length: usize,
}

impl AlignedBuffer {
    pub fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes[self.begin..self.begin + self.length]
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command, FromArgMatches};

    use super::*;

    fn options(args: &[&str]) -> BlockOptions {
        let args = [&["block", "--directory=/"], args].concat();
        let matches = BlockOptions::augment_args(Command::new("block")).get_matches_from(args);
        BlockOptions::from_arg_matches(&matches).expect("options")
    }

    #[test]
    fn each_thread_goes_through_its_own_part_in_order() {
        let options = options(&["--pattern=sequential", "--buffer=512", "--threads=2"]);
        let target = TargetFile::new(Path::new("/"), &options, 5);
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        let (mut first, mut second) = (target.cursor(), target.cursor());
        let mut blocks = |cursor: &mut FileCursor| [(); 3].map(|()| target.offset(cursor, &mut rng) / 512);
        assert_eq!((blocks(&mut first), blocks(&mut second)), ([0, 1, 0], [2, 3, 2]));
    }

    #[test]
    fn the_amount_determines_the_transfers_of_an_operation() {
        for (amount, transfers) in [("0", 1), ("100", 1), ("4096", 8)] {
            let options = options(&["--buffer=512", &format!("--amount={amount}")]);
            assert_eq!(TargetFile::new(Path::new("/"), &options, 8).transfers(), transfers);
        }
    }

    #[test]
    fn a_file_system_without_direct_io_is_an_error() {
        // proc(5) does not support direct I/O.
        let path = Path::new("/proc/self/comm");
        let error =
            TargetFile::new(path, &options(&["--cache=direct"]), 1).open().expect_err("no direct I/O");
        assert!(
            error.to_string().contains("does no direct I/O (O_DIRECT): give a directory elsewhere"),
            "{error}"
        );
        assert!(TargetFile::new(path, &options(&[]), 1).open().is_ok());
    }
}
