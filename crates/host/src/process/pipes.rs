//! Named pipes for the standard input and output of a program.
//!
//! Named pipes keep the order for a supervisor plain data, and the other side needs only two paths. The messages in
//! the pipes are the caller's concern.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use serde::{Deserialize, Serialize};

/// Two named pipes (fifo(7)) that replace a program's standard input and output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pipes {
    /// The pipe that the program reads.
    pub stdin: PathBuf,
    /// The pipe that the program writes.
    pub stdout: PathBuf,
}

/// This process's ends of the pipes. While they are open, the program does not see the end of its input. It does
/// when they are dropped or this process dies.
#[derive(Debug)]
pub struct PipeEnds {
    _stdin: File,
    _stdout: File,
}

impl Pipes {
    /// Creates the pipes in a directory, with access for the current user only.
    pub fn make(directory: &Path) -> io::Result<Self> {
        let pipes = Self { stdin: directory.join("stdin"), stdout: directory.join("stdout") };
        for path in [&pipes.stdin, &pipes.stdout] {
            mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        }
        Ok(pipes)
    }

    /// Opens this process's ends. Call this before the program starts, so that opening does not block it.
    pub fn open_ends(&self) -> io::Result<PipeEnds> {
        Ok(PipeEnds {
            // Opening for writing alone blocks until there is a reader; fifo(7) allows opening for both.
            _stdin: OpenOptions::new().read(true).write(true).open(&self.stdin)?,
            _stdout: OpenOptions::new()
                .read(true)
                .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
                .open(&self.stdout)?,
        })
    }

    /// Opens the program's ends.
    pub(crate) fn open(&self) -> io::Result<(File, File)> {
        Ok((File::open(&self.stdin)?, OpenOptions::new().write(true).open(&self.stdout)?))
    }
}
