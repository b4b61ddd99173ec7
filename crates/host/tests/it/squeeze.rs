//! Taking memory and a disk's time from a server.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use procfs::process::{Process, Stat};

use crate::common::{eventually, local, perl};
use host::CpuSet;
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
fn cpu_time_is_taken_in_a_session_of_its_own() -> Result<(), Box<dyn std::error::Error>> {
    let one_cpu = CpuSet::of_this_thread()?.iter().take(1).collect();
    let mut burner = local().burn(&one_cpu, 0.2)?;
    let (before, begin) = (burner.taken()?, Instant::now());
    // On a busy machine it may get nothing for a while. It tries again, so it gets something in the end.
    eventually("it has taken something", || burner.taken().is_ok_and(|taken| taken > before));
    thread::sleep(Duration::from_millis(100));
    let taken = Duration::from_nanos(burner.taken()? - before);
    // What it may catch up of the time before, and of a pause in between.
    let most = begin.elapsed().mul_f64(0.2) + Duration::from_millis(20);
    assert!(taken <= most, "{taken:?} of at most {most:?}");
    assert!(squeezers().iter().any(|(stat, _)| stat.session == stat.pid));
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
    let error = local().burn(&CpuSet::from_iter([1023]), 0.2).expect_err("there is no such CPU");
    assert!(error.to_string().contains("cannot run on CPUs 1023"), "{error}");
}

/// Whether this process has a squeezer with that much memory. Other tests have smaller ones.
fn has_squeezer_of(bytes: u64) -> bool {
    squeezers().iter().any(|(_, resident)| *resident >= bytes)
}

/// The squeezers of this process, with their resident memory in bytes.
fn squeezers() -> Vec<(Stat, u64)> {
    let read = |pid: u32| {
        let process = Process::new(pid.cast_signed()).ok()?;
        let resident = process.statm().ok()?.resident * rustix::param::page_size() as u64;
        Some((process.stat().ok()?, resident))
    };
    let all = host::process::with_descendants(std::process::id());
    let found = all.iter().filter_map(|process| read(process.pid));
    found.filter(|(stat, _)| stat.comm == "sd-squeezer").collect()
}
