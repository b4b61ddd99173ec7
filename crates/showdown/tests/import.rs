//! Archives that are made to harm: `showdown import` refuses them with one line, in little memory, and leaves nothing.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use tar::{EntryType, Header};

const ID: &str = "20261121T005139Z-nginx-apache-7f3a";

/// The address space of the process, KiB: half of what the bombs expand to.
const MEMORY_KIB: u32 = 512 << 10;

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn import(&self, file: &str) -> Output {
        let script = format!("ulimit -v {MEMORY_KIB} && exec \"$0\" import {file}");
        let mut command = Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_showdown")]).current_dir(self.0.path());
        command.output().expect("a shell")
    }

    /// Fails unless importing the file failed with one line that contains `why`, and left nothing.
    fn assert_refused(&self, file: &str, why: &str) {
        let output = self.import(file);
        let message = String::from_utf8(output.stderr).expect("text");
        assert_eq!((output.status.code(), message.lines().count()), (Some(1), 1), "{message}");
        assert!(message.contains(why) && message.contains("nothing was imported"), "{message}");
        assert!(message.len() < 400, "{message}");
        let left: Vec<_> = fs::read_dir(self.path("runs")).expect("a directory").collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

fn header(name: &str, kind: EntryType, size: u64) -> Header {
    let mut header = Header::new_ustar();
    header.set_path(name).expect("a short name");
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(0o644);
    header.set_cksum();
    header
}

/// Writes a gzip file that expands to a header and a gigabyte of zeros. One block is compressed once and repeated, so that
/// the test need not compress a gigabyte.
fn write_bomb(path: &Path, header: &Header) {
    let compressed = |bytes: &[u8]| {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).expect("memory");
        // A flush ends the block at a byte.
        encoder.flush().expect("memory");
        encoder.get_ref().clone()
    };
    let mut file = BufWriter::new(File::create(path).expect("a file"));
    file.write_all(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]).expect("room");
    file.write_all(&compressed(header.as_bytes())).expect("room");
    let zeros = compressed(&vec![0; 16 << 20]);
    for _ in 0..64 {
        file.write_all(&zeros).expect("room");
    }
    file.flush().expect("room");
    assert!(path.metadata().expect("a file").len() < 2 << 20);
}

#[test]
fn a_gigabyte_of_zeros_is_not_unpacked() {
    let home = Home::new();
    let mut end = Header::new_ustar();
    end.as_mut_bytes().fill(0);
    let file = |name: &str, size| header(&format!("{ID}/{name}"), EntryType::Regular, size);
    for (header, why) in [
        (file("trials/001-a/server.log", 1 << 30), "it expands more than 200 times"),
        (file("trials/001-a/server.log", 1 << 32), "is larger than 1024 MiB"),
        (file("plan.toml", 1 << 30), "is larger than 1 MiB"),
        (file("verdict.json", 1 << 30), "is larger than 64 MiB"),
        (file("explanation.json", 1 << 30), "is larger than 64 MiB"),
        (file(&format!("search/{ID}/verdict.json"), 1 << 30), "is larger than 64 MiB"),
        // Zeros after the end of the archive.
        (end, "it expands more than 200 times"),
    ] {
        write_bomb(&home.path("bomb.tar.gz"), &header);
        home.assert_refused("bomb.tar.gz", why);
    }
}

#[test]
fn too_many_tiny_entries_are_not_unpacked() {
    let home = Home::new();
    for (file, kind) in [("files.tar.gz", EntryType::Regular), ("folders.tar.gz", EntryType::Directory)] {
        let packed = GzEncoder::new(File::create(home.path(file)).expect("a file"), Compression::fast());
        let mut packed = BufWriter::with_capacity(1 << 20, packed);
        for number in 0..120_000 {
            let header = header(&format!("{ID}/trials/001-a/config/{number}"), kind, 0);
            packed.write_all(header.as_bytes()).expect("room");
        }
        packed.into_inner().expect("room").finish().expect("room");
        home.assert_refused(file, "more than 100000 files and folders");
    }
}

#[test]
fn an_extended_header_is_not_read() {
    // GNU and POSIX extensions announce names of any length, which a reader would keep in memory.
    let home = Home::new();
    for kind in [EntryType::GNULongName, EntryType::GNULongLink, EntryType::XHeader, EntryType::XGlobalHeader]
    {
        write_bomb(&home.path("long.tar.gz"), &header(&format!("{ID}/trials/001-a/x"), kind, 1 << 30));
        home.assert_refused("long.tar.gz", "is not a plain file");
    }
}

#[test]
fn a_plan_that_is_hard_to_parse_is_refused() {
    let home = Home::new();
    for (plan, what) in [
        (format!("x = {}", "[".repeat(1 << 19)), "deep lists"),
        (format!("{}b = 1", "a.".repeat(1 << 18)), "deep keys"),
        ("[[variants]]\n".repeat(1 << 15), "many tables"),
    ] {
        let packed =
            GzEncoder::new(File::create(home.path("plan.tar.gz")).expect("a file"), Compression::fast());
        let mut tar = tar::Builder::new(packed);
        let header = header(&format!("{ID}/plan.toml"), EntryType::Regular, plan.len() as u64);
        tar.append(&header, plan.as_bytes()).expect(what);
        tar.into_inner().expect(what).finish().expect(what);
        home.assert_refused("plan.tar.gz", "plan.toml cannot be read");
    }
}

#[test]
fn an_export_is_imported_in_the_same_memory() {
    let home = Home::new();
    let file = format!("{}/../archive/tests/format-1/comparison.tar.gz", env!("CARGO_MANIFEST_DIR"));
    let output = home.import(&file);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(fs::read_dir(home.path("runs")).expect("a directory").count(), 1);
}
