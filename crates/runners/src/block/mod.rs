//! Block I/O: one file, read and written by threads with buffers of one size. What is transferred is settled here;
//! the system calls that do it are in `psync` and `uring`.
//!
//! The queue depth is threads × depth, as fio's `numjobs` × `iodepth`.

mod options;
mod psync;
mod target;
mod uring;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

pub use self::options::{Cache, Engine, Options, Pattern, Sync};
use self::psync::Psync;
use self::target::Target;
use self::uring::Uring;
use crate::RunnerError;
use crate::loops::serve;

/// Our file below the directory that is given.
const NAME: &str = "showdown-block";

/// The file is filled in pieces of this length.
const FILL_BYTES: usize = 1 << 20;

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
