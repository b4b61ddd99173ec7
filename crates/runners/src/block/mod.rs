//! Block I/O: threads read and write one file with buffers of one size. This module checks the options and makes the
//! file; `psync` and `uring` make the system calls.
//!
//! The total queue depth is threads × depth, like fio's `numjobs` × `iodepth`.

pub(crate) mod error;
mod options;
mod psync;
mod target;
mod uring;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

pub use self::error::BlockError;
pub use self::options::{AccessPattern, BlockOptions, CacheMode, IoEngine, WriteSync};
use self::psync::Psync;
use self::target::TargetFile;
use self::uring::Uring;
use crate::closed_loop::serve;
use crate::error::BuiltinRunnerError;

/// The name of the runner's file below the given directory.
const FILE_NAME: &str = "showdown-block";

/// The length of the pieces in which the file is written.
const FILL_BYTES: usize = 1 << 20;

/// Makes the file and runs as its runner.
pub fn run(options: &BlockOptions) -> Result<(), BuiltinRunnerError> {
    let blocks = check(options)?;
    let file = DataFile(options.data());
    file.fill(options.file_bytes).map_err(|source| BlockError::Fill {
        bytes: options.file_bytes,
        path: file.0.clone(),
        source,
    })?;
    let target = TargetFile::new(&file.0, options, blocks);
    match options.engine {
        IoEngine::Psync => serve(&Psync(target), options.threads),
        IoEngine::Uring => serve(&Uring(target), options.threads),
    }
}

impl BlockOptions {
    /// The runner's file.
    pub(crate) fn data(&self) -> PathBuf {
        self.directory.join(FILE_NAME)
    }
}

/// Checks the options. Returns how many buffers the file contains.
fn check(options: &BlockOptions) -> Result<u64, BlockError> {
    let BlockOptions { file_bytes, buffer, threads, depth, .. } = *options;
    if !options.directory.is_dir() {
        return Err(BlockError::NoDirectory(options.directory.clone()));
    }
    let blocks = file_bytes / buffer;
    if blocks < u64::from(threads) {
        return Err(BlockError::FileTooSmall { threads, buffer, file_bytes });
    }
    if options.engine == IoEngine::Psync && depth > 1 {
        return Err(BlockError::DepthNeedsUring { depth });
    }
    Ok(blocks)
}

/// The runner's file. It is removed when this is dropped.
struct DataFile(PathBuf);

impl DataFile {
    /// Writes random bytes to the medium: the file has no holes, and nothing is written back later.
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
        // If this fails, the next runner overwrites the file.
        let _ = fs::remove_file(&self.0);
    }
}
