//! Reads of a file at a rate, past the page cache.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

/// The bytes of one read: what the kernel reads ahead for a file by default.
const BLOCK: usize = 128 << 10;
/// The blocks of the file: more than a disk's own cache has for it.
const BLOCKS: u64 = 512;
/// Threads, each with one read at a time: a disk with a queue gives a share of its time to each request.
const THREADS: u64 = 4;
/// Direct reads need buffers and places that are multiples of the disk's block size; this is one of all usual ones.
const ALIGNMENT: usize = 4096;
/// The distance of two reads that follow one another, in blocks. It has no common factor with [`BLOCKS`], so all are read.
const STRIDE: u64 = 197;
/// What a thread could not read in this number of its periods it does not try to read later.
const CATCH_UP: u32 = 4;

/// Reads at a rate, until this process ends.
pub(super) struct DiskReads {
    shared: Arc<SharedReads>,
}

#[derive(Default)]
struct SharedReads {
    bytes: AtomicU64,
    has_failed: AtomicBool,
}

impl DiskReads {
    /// The file that is read, opened for direct reads. It is written first if it is not there in full.
    pub(super) fn source(path: &Path) -> Result<File, String> {
        let failed = |what: &str, error: io::Error| format!("cannot {what} {}: {error}", path.display());
        let length = BLOCKS * BLOCK as u64;
        if std::fs::metadata(path).map_or(0, |found| found.len()) != length {
            write(path).map_err(|error| failed("write", error))?;
        }
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(OFlags::DIRECT.union(OFlags::NOFOLLOW).bits().cast_signed());
        options.open(path).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => {
                format!(
                    "the file system of {} has no direct reads: its disk cannot be kept busy",
                    path.display()
                )
            }
            _ => failed("open", error),
        })
    }

    /// Begins to read.
    pub(super) fn begin(source: &File, bytes_per_s: f64) -> io::Result<Self> {
        if !(bytes_per_s > 0.0 && bytes_per_s.is_finite()) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a rate of reads is above zero"));
        }
        let shared = Arc::new(SharedReads::default());
        let period = Duration::from_secs_f64(BLOCK as f64 * THREADS as f64 / bytes_per_s);
        for thread in 0..THREADS {
            let (file, shared) = (source.try_clone()?, Arc::clone(&shared));
            // Spread over a period, so that they do not all read at once.
            let begin = Instant::now() + period.mul_f64(thread as f64 / THREADS as f64);
            thread::Builder::new().name(format!("reads-{thread}")).spawn(move || {
                if read(&file, &shared, thread, begin, period).is_err() {
                    shared.has_failed.store(true, Ordering::Relaxed);
                }
            })?;
        }
        Ok(Self { shared })
    }

    /// The bytes that were read so far.
    pub(super) fn taken(&self) -> Result<u64, String> {
        if self.shared.has_failed.load(Ordering::Relaxed) {
            return Err("a read of the disk failed: see the kernel's log".to_owned());
        }
        Ok(self.shared.bytes.load(Ordering::Relaxed))
    }
}

/// Writes the file. Its blocks differ: some disks store equal ones once.
fn write(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)?;
    // A generator of Lehmer; any bytes that do not repeat do.
    let mut state = 1u64;
    for _ in 0..BLOCKS {
        let block: Vec<u8> = (0..BLOCK / 8)
            .flat_map(|_| {
                state = state.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
                state.to_le_bytes()
            })
            .collect();
        file.write_all(&block)?;
    }
    file.sync_data()
}

/// Reads one block a period, for as long as this process lives.
fn read(
    file: &File,
    shared: &SharedReads,
    thread: u64,
    mut due: Instant,
    period: Duration,
) -> io::Result<()> {
    let mut memory = vec![0; BLOCK + ALIGNMENT];
    let begin = memory.as_ptr().align_offset(ALIGNMENT);
    let buffer = &mut memory[begin..begin + BLOCK];
    let mut block = thread * BLOCKS / THREADS;
    loop {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        file.read_exact_at(buffer, block * BLOCK as u64)?;
        shared.bytes.fetch_add(BLOCK as u64, Ordering::Relaxed);
        block = (block + STRIDE) % BLOCKS;
        due = (due + period).max(Instant::now().checked_sub(period * CATCH_UP).unwrap_or(due));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_once_and_read_again() -> Result<(), Box<dyn std::error::Error>> {
        // Not in a file system of memory, which may have no direct reads.
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR"))?;
        let path = folder.path().join("source");
        let source = DiskReads::source(&path)?;
        let written = std::fs::metadata(&path)?.modified()?;
        let reads = DiskReads::begin(&source, 1e7)?;
        while reads.taken()? < 8 * BLOCK as u64 {
            thread::sleep(Duration::from_millis(1));
        }
        DiskReads::source(&path)?;
        assert_eq!(std::fs::metadata(&path)?.modified()?, written);
        Ok(())
    }

    #[test]
    fn every_block_is_read() {
        let mut seen: Vec<u64> = (0..BLOCKS).map(|read| read * STRIDE % BLOCKS).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len() as u64, BLOCKS);
    }

    #[test]
    fn a_rate_of_nothing_is_refused() -> Result<(), Box<dyn std::error::Error>> {
        let file = tempfile::tempfile()?;
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(DiskReads::begin(&file, rate).is_err(), "{rate}");
        }
        Ok(())
    }
}
