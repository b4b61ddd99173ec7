//! Fuzzes the import of a run: the packed file, and with a tar as input what is in it.
#![no_main]

use std::fs;
use std::io::Write;

use archive::Archive;
use flate2::{Compression, write::GzEncoder};
use libfuzzer_sys::fuzz_target;
use tar::Header;

/// The length of a header of a tar, and what all entries are padded to.
const BLOCK: usize = 512;

/// The first bytes of a gzip file (RFC 1952, 2.3.1).
const GZIP: &[u8] = &[0x1f, 0x8b];

/// The same tar with the right checksum in each header: a fuzzer does not find it, and without it nothing is read.
fn with_checksums(data: &[u8]) -> Vec<u8> {
    let mut tar = data.to_vec();
    let mut at: usize = 0;
    while let Some(block) = tar.get_mut(at..at.saturating_add(BLOCK))
        && block.iter().any(|&byte| byte != 0)
    {
        let mut header = Header::from_byte_slice(block).clone();
        header.set_cksum();
        block.copy_from_slice(header.as_bytes());
        let blocks = header.entry_size().unwrap_or(0).div_ceil(BLOCK as u64).saturating_add(1);
        at = usize::try_from(blocks).unwrap_or(usize::MAX).saturating_mul(BLOCK).saturating_add(at);
    }
    tar
}

fuzz_target!(|data: &[u8]| {
    // In memory, where fsync(2) costs nothing.
    let root = tempfile::tempdir_in("/dev/shm").expect("a directory");
    let bundle = root.path().join("bundle.tar.gz");
    if data.starts_with(GZIP) {
        fs::write(&bundle, data).expect("a file");
    } else {
        let mut packed = GzEncoder::new(fs::File::create(&bundle).expect("a file"), Compression::none());
        packed.write_all(&with_checksums(data)).expect("writing");
        packed.finish().expect("writing");
    }
    let runs = root.path().join("runs");
    fs::create_dir(&runs).expect("a directory");
    let archive = Archive::new(&runs);
    match archive.import(&bundle) {
        Ok(id) => drop(archive.open(id.as_str()).expect("an imported run can be opened")),
        Err(_) => {
            let left = fs::read_dir(&runs).expect("the runs");
            let left: Vec<_> = left.map(|entry| entry.expect("an entry").file_name()).collect();
            assert!(
                left.iter().all(|name| !name.to_string_lossy().starts_with('.')),
                "left behind: {left:?}"
            );
        }
    }
});
