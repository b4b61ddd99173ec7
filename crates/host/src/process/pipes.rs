//! Standard input and output of a program that is talked to: two named pipes in a directory of ours.
//!
//! They have names so that an order for a keeper stays plain data, and so that whoever talks to the program needs
//! nothing but two paths. What is said through them is the business of those who do.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use serde::{Deserialize, Serialize};

/// Two named pipes (fifo(7)) that take the place of a program's standard input and output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pipes {
    /// What the program reads.
    pub stdin: PathBuf,
    /// What the program writes.
    pub stdout: PathBuf,
}

/// Our ends of two pipes. As long as they are held the program can be started and does not see the end of its
/// input; when they are gone, or we are, it does.
#[derive(Debug)]
pub struct PipeEnds {
    _stdin: File,
    _stdout: File,
}

impl Pipes {
    /// Makes two pipes in a directory, for us only.
    pub fn make(directory: &Path) -> io::Result<Self> {
        let pipes = Self { stdin: directory.join("stdin"), stdout: directory.join("stdout") };
        for path in [&pipes.stdin, &pipes.stdout] {
            mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        }
        Ok(pipes)
    }

    /// Holds our ends: before the program is started, so that it need not wait for us.
    pub fn hold(&self) -> io::Result<PipeEnds> {
        Ok(PipeEnds {
            // To write alone would need a reader, who is not there yet; fifo(7) allows both at once.
            _stdin: OpenOptions::new().read(true).write(true).open(&self.stdin)?,
            _stdout: OpenOptions::new()
                .read(true)
                .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
                .open(&self.stdout)?,
        })
    }

    /// The program's ends.
    pub(crate) fn open(&self) -> io::Result<(File, File)> {
        Ok((File::open(&self.stdin)?, OpenOptions::new().write(true).open(&self.stdout)?))
    }
}
