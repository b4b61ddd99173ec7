//! Memory that is kept in use.

use std::io;
use std::thread;
use std::time::Duration;

use procfs::process::Process;

/// Each page is written once in this time: the kernel takes pages that are not used first.
const PERIOD: Duration = Duration::from_millis(50);

/// Memory that a thread keeps in use, until this process ends.
pub(super) struct TakenMemory {
    /// The resident memory of this process before.
    before: u64,
}

impl TakenMemory {
    /// Takes this much memory, and has written all of it once when this returns.
    pub(super) fn begin(bytes: u64) -> io::Result<Self> {
        let before = resident()?;
        let length = usize::try_from(bytes).map_err(io::Error::other)?;
        let mut memory = Vec::new();
        memory.try_reserve_exact(length).map_err(io::Error::other)?;
        memory.resize(length, 1u8);
        thread::Builder::new().name("memory".to_owned()).spawn(move || keep(&mut memory))?;
        Ok(Self { before })
    }

    /// What it has of that memory now: the kernel may have taken some of it away.
    pub(super) fn taken(&self) -> io::Result<u64> {
        Ok(resident()?.saturating_sub(self.before))
    }
}

/// Writes every page again and again.
fn keep(memory: &mut [u8]) {
    let page = rustix::param::page_size();
    loop {
        for byte in memory.iter_mut().step_by(page) {
            *byte = std::hint::black_box(byte.wrapping_add(1));
        }
        thread::sleep(PERIOD);
    }
}

/// The resident memory of this process, bytes: `/proc/self/statm`.
fn resident() -> io::Result<u64> {
    let statm = Process::myself().and_then(|process| process.statm()).map_err(io::Error::other)?;
    Ok(statm.resident * rustix::param::page_size() as u64)
}
