//! What is transferred: the open file, where the next transfer goes, and the buffer that it takes.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::options::{Cache, Options, Pattern, Sync};
use crate::RunnerError;

/// The operations, by index: read and write.
pub const OPERATIONS: [&str; 2] = ["read", "write"];
pub const READ: usize = 0;

/// Direct I/O wants buffers that begin at a block of the device (open(2), `O_DIRECT`); none has larger ones.
const ALIGNMENT: usize = 4096;

/// The file, and how it is to be worked.
pub struct Target<'a> {
    path: &'a Path,
    pub options: &'a Options,
    /// Buffers in the file.
    slots: u64,
    /// Buffers in the part of one thread.
    part: u64,
    /// How many threads were given their part so far.
    threads: AtomicU64,
}

/// Where a thread is: the first slot of its part, and which comes next within it.
pub struct Cursor {
    first: u64,
    next: u64,
}

impl<'a> Target<'a> {
    pub fn new(path: &'a Path, options: &'a Options, slots: u64) -> Self {
        let part = slots / u64::from(options.threads);
        Self { path, options, slots, part, threads: AtomicU64::new(0) }
    }

    /// Opens the file as asked. Says so where its file system does no direct I/O, or none of this length.
    pub fn open(&self) -> Result<File, RunnerError> {
        let is_direct = self.options.cache == Cache::Direct;
        let mut flags = OFlags::empty();
        flags.set(OFlags::DIRECT, is_direct);
        flags.set(OFlags::DSYNC, self.options.sync == Sync::Data);
        let is_refused = |e: &std::io::Error| is_direct && Errno::from_io_error(e) == Some(Errno::INVAL);
        let path = self.path.display();
        let open = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(flags.bits().cast_signed())
            .open(self.path);
        let file = open.map_err(|e| {
            if is_refused(&e) {
                let mend = "give a directory elsewhere, or cache=cached";
                return RunnerError(format!(
                    "the file system of {path} does no direct I/O (O_DIRECT): {mend}"
                ));
            }
            RunnerError::of(&format!("cannot open {path}"), e)
        })?;
        if is_direct {
            file.read_exact_at(self.buffer().bytes(), 0).map_err(|e| {
                if is_refused(&e) {
                    let what = format!("direct I/O of {} bytes is refused for {path}", self.options.buffer);
                    let mend = "take a buffer of a multiple of the device's block, 512 B or 4 KiB";
                    return RunnerError(format!("{what}: {mend}"));
                }
                RunnerError::of(&format!("cannot read {path}"), e)
            })?;
        }
        Ok(file)
    }

    /// The part of one more thread.
    pub fn cursor(&self) -> Cursor {
        let place = self.threads.fetch_add(1, Ordering::Relaxed) % u64::from(self.options.threads);
        Cursor { first: place * self.part, next: 0 }
    }

    /// Where the next transfer goes.
    pub fn offset(&self, cursor: &mut Cursor, rng: &mut Pcg64Mcg) -> u64 {
        let slot = match self.options.pattern {
            Pattern::Random => rng.random_range(0..self.slots),
            Pattern::Sequential => {
                let slot = cursor.first + cursor.next;
                cursor.next = (cursor.next + 1) % self.part;
                slot
            }
        };
        slot * self.options.buffer
    }

    /// How many transfers an operation is.
    pub fn transfers(&self) -> u64 {
        (self.options.amount / self.options.buffer).max(1)
    }

    /// How many bytes an operation moves.
    pub fn bytes_each(&self) -> u64 {
        self.transfers() * self.options.buffer
    }

    /// Random bytes, as long as a transfer.
    pub fn buffer(&self) -> Buffer {
        let length = self.options.buffer as usize;
        let bytes = vec![0; length + ALIGNMENT];
        let begin = bytes.as_ptr().align_offset(ALIGNMENT);
        let mut buffer = Buffer { bytes, begin, length };
        Pcg64Mcg::seed_from_u64(2).fill_bytes(buffer.bytes());
        buffer
    }
}

/// Memory that begins where direct I/O wants it.
pub struct Buffer {
    bytes: Vec<u8>,
    begin: usize,
    length: usize,
}

impl Buffer {
    pub fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes[self.begin..self.begin + self.length]
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command, FromArgMatches};

    use super::*;

    fn options(args: &[&str]) -> Options {
        let words = [&["block", "--directory=/"], args].concat();
        let matches = Options::augment_args(Command::new("block")).get_matches_from(words);
        Options::from_arg_matches(&matches).expect("options")
    }

    #[test]
    fn threads_go_through_parts_of_their_own_in_order() {
        let options = options(&["--pattern=sequential", "--buffer=512", "--threads=2"]);
        let target = Target::new(Path::new("/"), &options, 5);
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        let (mut first, mut second) = (target.cursor(), target.cursor());
        let mut slots = |cursor: &mut Cursor| [(); 3].map(|()| target.offset(cursor, &mut rng) / 512);
        assert_eq!((slots(&mut first), slots(&mut second)), ([0, 1, 0], [2, 3, 2]));
    }

    #[test]
    fn an_operation_is_as_many_transfers_as_its_amount_takes() {
        for (amount, transfers) in [("0", 1), ("100", 1), ("4096", 8)] {
            let options = options(&["--buffer=512", &format!("--amount={amount}")]);
            assert_eq!(Target::new(Path::new("/"), &options, 8).transfers(), transfers);
        }
    }

    #[test]
    fn a_file_system_without_direct_transfers_is_told() {
        // Nothing in proc(5) can be opened for them.
        let path = Path::new("/proc/self/comm");
        let error = Target::new(path, &options(&["--cache=direct"]), 1).open().expect_err("refused");
        assert!(error.0.contains("does no direct I/O (O_DIRECT): give a directory elsewhere"), "{error}");
        assert!(Target::new(path, &options(&[]), 1).open().is_ok());
    }
}
