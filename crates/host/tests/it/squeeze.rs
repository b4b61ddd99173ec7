//! Taking memory and a disk's time from a server.

use std::fs;

use procfs::process::Process;

use crate::common::{eventually, local, perl};
use host::squeeze::{Squeeze, SqueezeError};

const MB: u64 = 1 << 20;

#[test]
fn memory_is_taken_beside_a_server_and_given_back() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let server = local().start(&perl("sleep 1 while 1", dir.path()))?;
    let mut squeezer = local().squeeze(Squeeze::Memory { bytes: 64 * MB }, server.pid(), dir.path())?;
    let taken = squeezer.taken()?;
    assert!((60 * MB..100 * MB).contains(&taken), "{taken}");
    assert!(has_squeezer_of(60 * MB));
    drop(squeezer);
    assert!(!has_squeezer_of(60 * MB), "dropping it waits for its process");
    Ok(())
}

#[test]
fn a_disk_is_read_past_the_page_cache() -> Result<(), Box<dyn std::error::Error>> {
    // Not in a file system of memory, which may have no direct reads.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let squeeze = Squeeze::DiskReads { bytes_per_s: 50e6 };
    let mut squeezer = local().squeeze(squeeze, std::process::id(), dir.path())?;
    eventually("it has read something", || squeezer.taken().is_ok_and(|bytes| bytes > MB));
    // The next one has the file already.
    let written = fs::metadata(dir.path().join("squeezed-disk"))?.modified()?;
    drop(squeezer);
    local().squeeze(squeeze, std::process::id(), dir.path())?;
    assert_eq!(fs::metadata(dir.path().join("squeezed-disk"))?.modified()?, written);
    Ok(())
}

#[test]
fn what_cannot_be_taken_is_refused() {
    let nowhere = std::path::Path::new("/nonexistent");
    let refused = |squeeze| match local().squeeze(squeeze, std::process::id(), nowhere) {
        Ok(_) => panic!("{squeeze:?} is possible"),
        Err(error) => error,
    };
    let error = refused(Squeeze::Memory { bytes: 1 << 60 });
    assert!(matches!(error, SqueezeError::NoRoom { .. }), "{error}");
    let error = refused(Squeeze::DiskReads { bytes_per_s: 1e6 });
    assert!(error.to_string().starts_with("cannot write /nonexistent/squeezed-disk: "), "{error}");
}

/// Whether this process has a squeezer with that much memory. Other tests have smaller ones.
fn has_squeezer_of(bytes: u64) -> bool {
    let has = |pid: u32| {
        let process = Process::new(pid.cast_signed()).ok()?;
        let resident = process.statm().ok()?.resident * rustix::param::page_size() as u64;
        Some(process.stat().ok()?.comm == "sd-squeezer" && resident >= bytes)
    };
    host::process::with_descendants(std::process::id())
        .iter()
        .any(|process| has(process.pid).unwrap_or(false))
}
