//! Block I/O: one file, read and written with pread(2) and pwrite(2) by threads, each with a buffer of its own.
//!
//! The queue depth is the number of threads, as with fio's `ioengine=psync`: each has one transfer under way.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use clap::ValueEnum;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustix::fs::OFlags;

use crate::RunnerError;
use crate::loops::{Work, serve};

/// The operations, by index.
const READ: usize = 0;

/// Our file below the directory that is given.
const NAME: &str = "showdown-block";

/// Direct I/O wants buffers that begin at a block of the device (open(2), `O_DIRECT`); none has larger ones.
const ALIGNMENT: usize = 4096;

/// The file is filled in pieces of this length.
const FILL_BYTES: usize = 1 << 20;

/// Which transfers go where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Pattern {
    /// Each thread goes through a part of the file of its own, again and again
    Sequential,
    /// Anywhere, at a multiple of the buffer
    Random,
}

/// What is between a transfer and the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Cache {
    /// The page cache
    Cached,
    /// Nothing (`O_DIRECT`)
    Direct,
}

/// When a write has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sync {
    /// When it is in the page cache, or the device has taken it
    None,
    /// When it is on the medium (`O_DSYNC`)
    Data,
}

/// What is transferred how.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// Where the file is made, and removed at the end
    #[arg(long)]
    pub directory: PathBuf,
    /// Its length in bytes
    #[arg(long, default_value_t = 256 << 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub file_bytes: u64,
    /// Bytes of one transfer
    #[arg(long, default_value_t = 4096, value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub buffer: u64,
    /// Bytes that an operation moves, in as many transfers as that takes; 0 is one transfer
    #[arg(long, default_value_t = 0)]
    pub amount: u64,
    /// Threads, each with one transfer under way
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: u32,
    /// Which transfers go where
    #[arg(long, value_enum, default_value = "random")]
    pub pattern: Pattern,
    /// What is between a transfer and the device
    #[arg(long, value_enum, default_value = "cached")]
    pub cache: Cache,
    /// When a write has ended
    #[arg(long, value_enum, default_value = "none")]
    pub sync: Sync,
}

/// Makes the file, and is a runner of it.
pub fn run(options: &Options) -> Result<(), RunnerError> {
    if !options.directory.is_dir() {
        return Err(RunnerError(format!("there is no directory {}", options.directory.display())));
    }
    let slots = options.file_bytes / options.buffer;
    if slots < u64::from(options.threads) {
        let Options { file_bytes, buffer, threads, .. } = options;
        let what = format!("{threads} buffers of {buffer} bytes do not fit into a file of {file_bytes}");
        return Err(RunnerError(format!("{what}: make it larger")));
    }
    let file = DataFile(options.directory.join(NAME));
    file.fill(options.file_bytes).map_err(|e| {
        RunnerError::of(&format!("cannot write {} bytes to {}", options.file_bytes, file.0.display()), e)
    })?;
    let part = slots / u64::from(options.threads);
    let work = Transfers { path: &file.0, options, slots, part, hands: AtomicU64::new(0) };
    serve(&work, options.threads)
}

/// A file of ours, gone with this.
struct DataFile(PathBuf);

impl DataFile {
    /// Random bytes, on the medium when this comes back: no hole is read, and nothing is written back later.
    fn fill(&self, bytes: u64) -> io::Result<()> {
        let mut file = File::create(&self.0)?;
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        let mut block = vec![0; FILL_BYTES];
        let mut left = bytes;
        while left > 0 {
            rng.fill_bytes(&mut block);
            let piece = left.min(FILL_BYTES as u64);
            file.write_all(&block[..piece as usize])?;
            left -= piece;
        }
        file.sync_all()
    }
}

impl Drop for DataFile {
    fn drop(&mut self) {
        // What cannot be removed now is written over by the next one.
        let _ = fs::remove_file(&self.0);
    }
}

struct Transfers<'a> {
    path: &'a Path,
    options: &'a Options,
    /// Buffers in the file.
    slots: u64,
    /// Buffers in the part of one thread.
    part: u64,
    /// How many threads were given their part so far.
    hands: AtomicU64,
}

/// What one thread has.
pub struct Hand {
    file: File,
    buffer: Vec<u8>,
    /// Where the buffer begins, aligned.
    begin: usize,
    /// The first slot of its part, and which comes next within it.
    first: u64,
    next: u64,
}

impl Transfers<'_> {
    fn open(&self) -> io::Result<File> {
        let mut flags = OFlags::empty();
        flags.set(OFlags::DIRECT, self.options.cache == Cache::Direct);
        flags.set(OFlags::DSYNC, self.options.sync == Sync::Data);
        OpenOptions::new().read(true).write(true).custom_flags(flags.bits().cast_signed()).open(self.path)
    }

    fn offset(&self, hand: &mut Hand, rng: &mut Pcg64Mcg) -> u64 {
        let slot = match self.options.pattern {
            Pattern::Random => rng.random_range(0..self.slots),
            Pattern::Sequential => {
                let slot = hand.first + hand.next;
                hand.next = (hand.next + 1) % self.part;
                slot
            }
        };
        slot * self.options.buffer
    }
}

impl Work for Transfers<'_> {
    type Hand = Hand;

    fn operations(&self) -> Vec<String> {
        vec!["read".to_owned(), "write".to_owned()]
    }

    fn hand(&self) -> Result<Hand, RunnerError> {
        let file = self.open().map_err(|e| {
            let mend = "where the file system does no direct I/O, give another directory";
            RunnerError::of(&format!("cannot open {} ({mend})", self.path.display()), e)
        })?;
        let mut buffer = vec![0; self.options.buffer as usize + ALIGNMENT];
        Pcg64Mcg::seed_from_u64(2).fill_bytes(&mut buffer);
        let begin = buffer.as_ptr().align_offset(ALIGNMENT);
        let place = self.hands.fetch_add(1, Ordering::Relaxed) % u64::from(self.options.threads);
        Ok(Hand { file, buffer, begin, first: place * self.part, next: 0 })
    }

    fn operate(&self, hand: &mut Hand, operation: usize, rng: &mut Pcg64Mcg) -> Result<(), String> {
        let length = self.options.buffer as usize;
        for _ in 0..(self.options.amount / self.options.buffer).max(1) {
            let offset = self.offset(hand, rng);
            let buffer = &mut hand.buffer[hand.begin..hand.begin + length];
            let moved = if operation == READ {
                hand.file.read_exact_at(buffer, offset)
            } else {
                hand.file.write_all_at(buffer, offset)
            };
            moved.map_err(|e| e.to_string())?;
        }
        Ok(())
    }
}
