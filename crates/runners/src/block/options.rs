//! The options of the block runner, with the names that fio uses.

use std::path::PathBuf;

use clap::ValueEnum;

/// The system calls that transfer data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum IoEngine {
    /// pread(2) and pwrite(2): a thread has one transfer in flight
    Psync,
    /// `io_uring(7)`: a thread has as many transfers in flight as the queue depth
    #[value(name = "io_uring")]
    Uring,
}

/// The positions of the transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AccessPattern {
    /// Each thread goes through its own part of the file, repeatedly
    Sequential,
    /// Anywhere in the file, at a multiple of the buffer's length
    Random,
}

/// What is between a transfer and the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CacheMode {
    /// The page cache
    Cached,
    /// Nothing (`O_DIRECT`)
    Direct,
}

/// When a write is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WriteSync {
    /// When it is in the page cache, or the device has accepted it
    None,
    /// When it is on the medium (`O_DSYNC`)
    Data,
}

/// The file, and how it is read and written.
#[derive(clap::Args, Debug)]
pub struct BlockOptions {
    /// Make the file in this directory, and remove it at the end
    #[arg(long)]
    pub directory: PathBuf,
    /// The length of the file in bytes
    #[arg(long, default_value_t = 256 << 20, value_parser = clap::value_parser!(u64).range(1..))]
    pub file_bytes: u64,
    /// The bytes of one transfer
    #[arg(long, default_value_t = 4096, value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub buffer: u64,
    /// The bytes of one operation, in one or more transfers; 0 is one transfer
    #[arg(long, default_value_t = 0)]
    pub amount: u64,
    /// The number of threads
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: u32,
    /// The system calls that transfer data
    #[arg(long, value_enum, default_value = "psync")]
    pub engine: IoEngine,
    /// The queue depth: operations that each thread has in flight
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub depth: u32,
    /// The positions of the transfers
    #[arg(long, value_enum, default_value = "random")]
    pub pattern: AccessPattern,
    /// What is between a transfer and the device
    #[arg(long, value_enum, default_value = "cached")]
    pub cache: CacheMode,
    /// When a write is complete
    #[arg(long, value_enum, default_value = "none")]
    pub sync: WriteSync,
}
