//! What is transferred, and how.

use std::path::PathBuf;

use clap::ValueEnum;

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
