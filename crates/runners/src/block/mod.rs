//! Block I/O: one file, read and written by threads with buffers of one size. What is transferred is settled here;
//! the system calls that do it are in `psync` and `uring`.
//!
//! The queue depth is threads × depth, as fio's `numjobs` × `iodepth`.

mod psync;
mod target;
mod uring;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;

use clap::ValueEnum;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use self::psync::Psync;
use self::target::Target;
use self::uring::Uring;
use crate::RunnerError;
use crate::loops::serve;

/// The operations, by index: read and write.
const OPERATIONS: [&str; 2] = ["read", "write"];
const READ: usize = 0;

/// Our file below the directory that is given.
const NAME: &str = "showdown-block";

/// The file is filled in pieces of this length.
const FILL_BYTES: usize = 1 << 20;

/// Which system calls transfer; called as fio calls them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// pread(2) and pwrite(2): a thread has one transfer under way
    Psync,
    /// `io_uring(7)`: a thread has as many under way as its depth
    #[value(name = "io_uring")]
    Uring,
}

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
    /// Threads
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: u32,
    /// Which system calls transfer
    #[arg(long, value_enum, default_value = "psync")]
    pub engine: Engine,
    /// Operations that each thread has under way
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub depth: u32,
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
    if options.engine == Engine::Psync && options.depth > 1 {
        let what = format!("depth={} needs engine=io_uring", options.depth);
        return Err(RunnerError(format!(
            "{what}: pread(2) has one transfer under way, take threads for more"
        )));
    }
    let file = DataFile(options.directory.join(NAME));
    file.fill(options.file_bytes).map_err(|e| {
        RunnerError::of(&format!("cannot write {} bytes to {}", options.file_bytes, file.0.display()), e)
    })?;
    let target = Target::new(&file.0, options, slots);
    match options.engine {
        Engine::Psync => serve(&Psync(target), options.threads),
        Engine::Uring => serve(&Uring(target), options.threads),
    }
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
