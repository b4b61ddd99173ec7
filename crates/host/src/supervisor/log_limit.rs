//! Limits the space of a server's log: while the server runs, the middle of a long log is replaced by a hole, which takes
//! no space. Beginning and end stay, and the server keeps writing to a plain file.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use rustix::fs::{FallocateFlags, fallocate};

use crate::process::{KEPT_LOG_BYTES, ServerCommand, open_log};

/// The space above which the middle of a log is removed.
pub(super) const MAX_LOG_BYTES: u64 = 64 << 20;

/// The bytes of a block of `st_blocks`, on every file system.
const BLOCK_BYTES: u64 = 512;

/// The pause between two checks: short enough that a server does not fill a disk meanwhile.
const PAUSE: Duration = Duration::from_millis(500);
/// The pause while a log grows fast.
const SHORT_PAUSE: Duration = Duration::from_millis(50);

pub(super) struct LogLimit {
    log: File,
    most_bytes: u64,
}

impl LogLimit {
    /// Opens the log of a server, and creates it if needed. The launcher reports why a log cannot be opened.
    pub(super) fn open(order: &ServerCommand) -> Option<Self> {
        let log = open_log(&order.log, order.run_as).ok()?;
        Some(Self { log, most_bytes: MAX_LOG_BYTES })
    }

    /// Removes the middle of the log if it takes too much space. Returns when to check again. It is an error if the file
    /// system does not have holes.
    pub(super) fn check(&self) -> io::Result<Duration> {
        let metadata = self.log.metadata()?;
        let space = metadata.blocks() * BLOCK_BYTES;
        if space > self.most_bytes {
            let middle = metadata.len().saturating_sub(2 * KEPT_LOG_BYTES);
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            fallocate(&self.log, flags, KEPT_LOG_BYTES, middle.max(1))?;
        }
        Ok(if space > self.most_bytes / 2 { SHORT_PAUSE } else { PAUSE })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::LogText;
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    use std::io::Write;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_middle_of_a_long_log_takes_no_space() -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new()?;
        let limit = LogLimit { log: file.reopen()?, most_bytes: 6 * MIB };
        file.write_all(&vec![b'a'; 3 * MIB as usize])?;
        limit.check()?;
        let whole = LogText::read(file.path())?;
        file.write_all(&vec![b'b'; 5 * MIB as usize])?;
        assert_eq!(limit.check()?, SHORT_PAUSE);
        assert_eq!(limit.check()?, PAUSE, "it takes little space now");
        let metadata = file.as_file().metadata()?;
        assert!(metadata.len() == 8 * MIB && metadata.blocks() * BLOCK_BYTES < 3 * MIB, "{metadata:?}");
        let cut = LogText::read(file.path())?;
        assert_eq!((whole.left_out, cut.left_out), (MIB, 6 * MIB));
        assert!(cut.text.starts_with(&"a".repeat(1024)) && cut.text.ends_with(&"b".repeat(1024)));
        assert!(!cut.text.contains('\0'), "what is read has no hole");
        Ok(())
    }

    #[test]
    fn a_file_system_without_holes_is_an_error() -> io::Result<()> {
        // A sealed file in memory refuses holes as such a file system does.
        let mut file = File::from(memfd_create("log", MemfdFlags::ALLOW_SEALING)?);
        file.write_all(&vec![b'a'; 3 * MIB as usize])?;
        fcntl_add_seals(&file, SealFlags::WRITE)?;
        assert!(LogLimit { log: file, most_bytes: 2 * MIB }.check().is_err());
        Ok(())
    }
}
