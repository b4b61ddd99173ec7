//! Fuzzes the import of a run: the packed file, and with a tar as input what is in it.
#![no_main]

use std::fs;
use std::io::Write;

use archive::Archive;
use flate2::{Compression, write::GzEncoder};
use libfuzzer_sys::fuzz_target;

/// The first bytes of a gzip file (RFC 1952, 2.3.1).
const GZIP: &[u8] = &[0x1f, 0x8b];

fuzz_target!(|data: &[u8]| {
    let root = tempfile::tempdir().expect("a directory");
    let bundle = root.path().join("bundle.tar.gz");
    if data.starts_with(GZIP) {
        fs::write(&bundle, data).expect("a file");
    } else {
        let mut packed = GzEncoder::new(fs::File::create(&bundle).expect("a file"), Compression::none());
        packed.write_all(data).expect("writing");
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
            assert!(left.iter().all(|name| !name.to_string_lossy().starts_with('.')), "left behind: {left:?}");
        }
    }
});
