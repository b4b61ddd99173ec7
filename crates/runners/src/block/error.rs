//! Errors of the block runner.

use std::io;
use std::path::PathBuf;

use crate::error::BuiltinRunnerError;

/// Why the block runner cannot start.
#[derive(Debug, thiserror::Error)]
pub enum BlockError {
    /// The directory does not exist.
    #[error("there is no directory {}", .0.display())]
    NoDirectory(PathBuf),
    /// The file is too small for the threads.
    #[error("{threads} buffers of {buffer} bytes do not fit into a file of {file_bytes}: make it larger")]
    FileTooSmall {
        /// The number of threads.
        threads: u32,
        /// The length of a buffer.
        buffer: u64,
        /// The length of the file.
        file_bytes: u64,
    },
    /// pread(2) has no queue.
    #[error("depth={depth} needs engine=io_uring: pread(2) has one transfer in flight, use threads for more")]
    DepthNeedsUring {
        /// The requested queue depth.
        depth: u32,
    },
    /// The file cannot be written.
    #[error("cannot write {bytes} bytes to {}: {source}", path.display())]
    Fill {
        /// The length of the file.
        bytes: u64,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file cannot be opened.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file system does not support direct I/O.
    #[error(
        "the file system of {} does no direct I/O (O_DIRECT): give a directory elsewhere, or cache=cached",
        path.display()
    )]
    NoDirectIo {
        /// The file.
        path: PathBuf,
    },
    /// The file system does not support direct I/O of this length.
    #[error(
        "direct I/O of {buffer} bytes is refused for {}: use a multiple of the device's block size, 512 B or 4 KiB",
        path.display()
    )]
    DirectIoLength {
        /// The length of a buffer.
        buffer: u64,
        /// The file.
        path: PathBuf,
    },
    /// `io_uring` is not available.
    #[error(
        "cannot create an io_uring of {depth} entries: {source}: use engine=psync, or allow io_uring \
         (sysctl kernel.io_uring_disabled=0, the container's seccomp profile)"
    )]
    Uring {
        /// The requested queue depth.
        depth: u32,
        /// The system's error.
        source: io::Error,
    },
}

impl From<BlockError> for BuiltinRunnerError {
    fn from(error: BlockError) -> Self {
        Self::Target(Box::new(error))
    }
}
