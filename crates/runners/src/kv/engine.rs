//! What all stores hold, and what a store must do.

use std::path::PathBuf;

use clap::ValueEnum;

/// Bytes of a key, which every value begins with.
pub const KEY_BYTES: usize = 8;

/// When a commit is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Durability {
    /// Before it returns: a crash of the machine loses nothing
    Commit,
    /// When the system writes it back: a crash of the machine may lose the last seconds
    System,
}

/// What is stored where, and who works it.
#[derive(clap::Args, Debug)]
pub struct Shape {
    /// Where a directory for its files is made, and removed at the end
    #[arg(long)]
    pub directory: PathBuf,
    /// Threads, each in a closed loop
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: u32,
    /// Records stored before the first run
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub records: u64,
    /// Bytes of a value
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(8..=1 << 24))]
    pub value_bytes: u32,
    /// Updates fall on this many records
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    pub hot: u64,
    /// When a commit is on the disk
    #[arg(long, value_enum, default_value = "commit")]
    pub durability: Durability,
}

/// A store. Every call is a transaction of its own.
pub trait Engine: Sync {
    /// What one thread has of its own.
    type Hand: Send;

    fn hand(&self) -> Result<Self::Hand, String>;

    /// Stores records that are not there yet, in the order of their keys.
    fn load(&self, records: &mut dyn Iterator<Item = ([u8; KEY_BYTES], Vec<u8>)>) -> Result<(), String>;

    /// Looks a value up and gives it to `check`.
    fn search(
        &self,
        hand: &mut Self::Hand,
        key: [u8; KEY_BYTES],
        check: impl FnOnce(Option<&[u8]>) -> Result<(), String>,
    ) -> Result<(), String>;

    /// Gives a record another value.
    fn update(&self, hand: &mut Self::Hand, key: [u8; KEY_BYTES], value: &[u8]) -> Result<(), String>;
}
