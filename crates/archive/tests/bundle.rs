//! A run can be exported and imported elsewhere unchanged; forged files are refused.
#![allow(clippy::unwrap_used, reason = "tests: a panic is a failure with a line")]

use archive::{Archive, ArchiveError, Query, example, layout};
use flate2::{Compression, write::GzEncoder};
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};
use tar::{EntryType, Header};

const ID: &str = "20261121T005139Z-nginx-apache-7f3a";

fn files_below(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push((path.strip_prefix(dir).unwrap().to_path_buf(), fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn an_export_is_imported_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (Archive::new(folder.path().join("here")), Archive::new(folder.path().join("there")));
    let id = example::comparison(here.root(), 3).unwrap();
    let file = folder.path().join("run.tar.gz");
    let report = here.dir(&id).join("report.html");
    fs::write(&report, "made from the record").unwrap();
    here.export(&id, fs::File::create(&file).unwrap()).unwrap();
    fs::remove_file(report).unwrap();
    assert_eq!(there.import(&file).unwrap(), id);
    let mut imported = files_below(&there.dir(&id));
    imported.retain(|(name, _)| name.as_path() != Path::new(layout::IMPORTED));
    assert_eq!(files_below(&here.dir(&id)), imported);
    assert!(
        there.dir(&id).join(layout::IMPORTED).is_file() && !here.dir(&id).join(layout::IMPORTED).exists()
    );
    assert_eq!(there.list(&Query::default()).unwrap().len(), 1);
    assert!(matches!(there.import(&file), Err(ArchiveError::Exists { id: other }) if other == id));

    let again = folder.path().join("again.tar.gz");
    here.export(&id, fs::File::create(&again).unwrap()).unwrap();
    assert_eq!(fs::read(&file).unwrap(), fs::read(&again).unwrap(), "the same run gives the same file");
}

#[test]
fn an_incomplete_export_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (Archive::new(folder.path().join("here")), Archive::new(folder.path().join("there")));
    let id = example::comparison(here.root(), 1).unwrap();
    let file = folder.path().join("run.tar.gz");
    here.export(&id, fs::File::create(&file).unwrap()).unwrap();
    let bytes = fs::read(&file).unwrap();
    for eighth in 0..8 {
        fs::write(&file, &bytes[..bytes.len() * eighth / 8]).unwrap();
        assert!(matches!(there.import(&file), Err(ArchiveError::Import { .. })), "{eighth} eighths");
    }
    fs::write(&file, "not gzip at all").unwrap();
    let message = there.import(&file).unwrap_err().to_string();
    assert!(
        message.contains("not a complete export") && message.contains("nothing was imported"),
        "{message}"
    );
    assert_eq!(fs::read_dir(there.root()).unwrap().count(), 0);
}

/// An archive with entries that no ordinary tool writes.
fn forged(entries: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (name, kind, bytes) in entries {
        let mut header = Header::new_ustar();
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_size(bytes.len() as u64);
        header.set_mode(0o4777);
        if kind.is_symlink() {
            header.set_link_name("/etc").unwrap();
        }
        header.set_cksum();
        tar.append(&header, *bytes).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

#[test]
fn files_that_are_not_part_of_a_run_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::new(folder.path().join("runs"));
    let file = folder.path().join("forged.tar.gz");
    let regular = EntryType::Regular;
    let of_run = |name: &str| format!("{ID}/{name}");
    for (name, kind) in [
        ("/etc/cron.d/x".to_owned(), regular),
        ("../escaped/plan.toml".to_owned(), regular),
        (of_run("../../escaped"), regular),
        (of_run("trials/../../../escaped/x/y"), regular),
        (of_run("install.sh"), regular),
        (of_run(".hidden"), regular),
        (of_run("trials/loose-file"), regular),
        (of_run("trials/001-a/1/2/3/4/5/6/7/8/9"), regular),
        ("nginx/plan.toml".to_owned(), regular),
        (of_run("trials/001-a/link"), EntryType::Symlink),
        (of_run("trials/001-a/hard"), EntryType::Link),
        (of_run("trials/001-a/device"), EntryType::Char),
        (of_run("trials/001-a/long"), EntryType::GNULongName),
        (of_run("trials/001-a/sparse"), EntryType::GNUSparse),
        (of_run("trials/001-a/pipe"), EntryType::Fifo),
        (of_run("trials/001-a/disk"), EntryType::Block),
        (of_run("trials/001-a/pax"), EntryType::XHeader),
        (of_run("pax-global"), EntryType::XGlobalHeader),
        (of_run("folder"), EntryType::Directory),
        ("../escaped".to_owned(), EntryType::Directory),
        ("/escaped".to_owned(), EntryType::Directory),
        (of_run("trials/.hidden/folder"), EntryType::Directory),
    ] {
        fs::write(&file, forged(&[(&name, kind, b"x")])).unwrap();
        let error = archive.import(&file).unwrap_err();
        assert!(matches!(&error, ArchiveError::Import { .. }), "{name}: {error}");
        assert!(
            error.to_string().contains(Path::new(&name).file_name().unwrap().to_str().unwrap()),
            "{error}"
        );
    }
    assert_eq!(fs::read_dir(archive.root()).unwrap().count(), 0);
    assert!(!folder.path().join("escaped").exists());
}

#[test]
fn two_runs_a_duplicate_file_or_a_missing_plan_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::new(folder.path().join("runs"));
    let file = folder.path().join("forged.tar.gz");
    let regular = EntryType::Regular;
    let (plan, facts) = (format!("{ID}/plan.toml"), format!("{ID}/facts.json"));
    let other = plan.replace("7f3a", "7f3b");
    for (entries, why) in [
        (vec![(plan.as_str(), regular, &b"x"[..]), (other.as_str(), regular, b"x")], "another run"),
        (vec![(facts.as_str(), regular, b"{}"), (facts.as_str(), regular, b"{}")], "twice"),
        (vec![(facts.as_str(), regular, b"{}")], "plan.toml cannot be read"),
        (vec![(plan.as_str(), regular, b"format = 2")], "plan.toml cannot be read"),
        (vec![], "no run in it"),
    ] {
        fs::write(&file, forged(&entries)).unwrap();
        let message = archive.import(&file).unwrap_err().to_string();
        assert!(message.contains(why), "{message}");
    }
    assert_eq!(fs::read_dir(archive.root()).unwrap().count(), 0);
}

#[test]
fn an_oversized_entry_is_refused_before_it_is_unpacked() {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::new(folder.path().join("runs"));
    let file = folder.path().join("bomb.tar.gz");
    // A header that announces terabytes, followed by a few bytes.
    let mut header = Header::new_ustar();
    header.set_path(format!("{ID}/{}", layout::PLAN)).unwrap();
    header.set_entry_type(EntryType::Regular);
    header.set_size(1 << 42);
    header.set_cksum();
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(header.as_bytes()).unwrap();
    packed.write_all(&vec![0; 1 << 16]).unwrap();
    fs::write(&file, packed.finish().unwrap()).unwrap();
    let message = archive.import(&file).unwrap_err().to_string();
    assert!(message.contains("plan.toml\" is larger than 1 MiB"), "{message}");
    assert_eq!(fs::read_dir(archive.root()).unwrap().count(), 0);
}

#[test]
fn modes_and_owners_in_the_file_are_ignored() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let here = Archive::new(folder.path().join("here"));
    let id = example::one_of_many(here.root(), 1).unwrap();
    let plan = fs::read(here.dir(&id).join(layout::PLAN)).unwrap();
    let file = folder.path().join("forged.tar.gz");
    fs::write(&file, forged(&[(&format!("{ID}/plan.toml"), EntryType::Regular, &plan)])).unwrap();
    let there = Archive::new(folder.path().join("there"));
    let id = there.import(&file).unwrap();
    let mode = fs::metadata(there.dir(&id).join(layout::PLAN)).unwrap().permissions().mode();
    assert_eq!(mode & 0o6111, 0, "{mode:o}");
}

#[test]
fn names_with_control_characters_are_refused_and_printed_escaped() {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::new(folder.path().join("runs"));
    let file = folder.path().join("forged.tar.gz");
    for hostile in ["trials/001-\u{1b}[2J/trial.json", "trials/001-a/config/a\nb", "trials/001-a/\u{9b}31m"] {
        fs::write(&file, forged(&[(&format!("{ID}/{hostile}"), EntryType::Regular, b"x")])).unwrap();
        let message = archive.import(&file).unwrap_err().to_string();
        assert!(message.contains("is not a file of a run"), "{message:?}");
        assert!(!message.contains(char::is_control), "{message:?}");
    }
    assert_eq!(fs::read_dir(archive.root()).unwrap().count(), 0);
}

#[test]
fn a_damaged_checksum_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (Archive::new(folder.path().join("here")), Archive::new(folder.path().join("there")));
    let id = example::comparison(here.root(), 1).unwrap();
    let mut packed = Vec::new();
    here.export(&id, &mut packed).unwrap();
    let file = folder.path().join("run.tar.gz");
    // The checksum and the length are the last eight bytes.
    for from_end in [1, 4, 5, 8] {
        let mut damaged = packed.clone();
        let at = damaged.len() - from_end;
        damaged[at] ^= 1;
        fs::write(&file, &damaged).unwrap();
        assert!(
            matches!(there.import(&file), Err(ArchiveError::Import { .. })),
            "byte {from_end} from the end"
        );
    }
    fs::write(&file, &packed[..packed.len() - 1]).unwrap();
    assert!(matches!(there.import(&file), Err(ArchiveError::Import { .. })));
    assert_eq!(fs::read_dir(there.root()).unwrap().count(), 0);
    fs::write(&file, &packed).unwrap();
    there.import(&file).unwrap();
}

#[test]
fn only_the_plan_is_parsed_before_a_run_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let here = Archive::new(folder.path().join("here"));
    let id = example::one_of_many(here.root(), 1).unwrap();
    let plan = fs::read(here.dir(&id).join(layout::PLAN)).unwrap();
    let file = folder.path().join("forged.tar.gz");
    let deep = "[".repeat(1 << 20);
    let entries: [(&str, EntryType, &[u8]); 3] = [
        (&format!("{ID}/plan.toml"), EntryType::Regular, &plan),
        (&format!("{ID}/verdict.json"), EntryType::Regular, deep.as_bytes()),
        (&format!("{ID}/trials/001-a/trial.json"), EntryType::Regular, deep.as_bytes()),
    ];
    fs::write(&file, forged(&entries)).unwrap();
    let there = Archive::new(folder.path().join("there"));
    let run = there.open(there.import(&file).unwrap().as_str()).unwrap();
    assert_eq!(run.state, archive::RunState::Damaged, "reading names what is wrong");
    assert_eq!(run.problems.len(), 2, "{:?}", run.problems);
}

#[test]
fn a_run_of_the_future_is_refused_and_an_imported_run_is_the_latest_only_where_there_is_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (Archive::new(folder.path().join("here")), Archive::new(folder.path().join("there")));
    let imported = example::comparison(here.root(), 1).unwrap();
    let file = folder.path().join("run.tar.gz");
    here.export(&imported, fs::File::create(&file).unwrap()).unwrap();
    there.import(&file).unwrap();
    assert_eq!(there.find("latest").unwrap(), imported);
    let own = "20200101T000000Z-nginx-apache-7f3a";
    let from = example::comparison(&folder.path().join("own"), 1).unwrap();
    fs::rename(folder.path().join("own").join(from.as_str()), there.root().join(own)).unwrap();
    assert_eq!(there.find("latest").unwrap().as_str(), own, "it is older, and of this machine");
    assert!(there.open(imported.as_str()).unwrap().is_imported() && !there.open(own).unwrap().is_imported());

    let future = "99990101T000000Z-nginx-apache-7f3a/plan.toml";
    fs::write(&file, forged(&[(future, EntryType::Regular, b"x")])).unwrap();
    let message = there.import(&file).unwrap_err().to_string();
    assert!(message.contains("is of a run that starts in the future"), "{message}");
}

#[test]
fn a_trial_that_is_too_large_to_be_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::new(folder.path().join("runs"));
    let file = folder.path().join("forged.tar.gz");
    let trial = vec![b' '; (64 << 20) + 1];
    fs::write(&file, forged(&[(&format!("{ID}/trials/001-a/trial.json"), EntryType::Regular, &trial)]))
        .unwrap();
    let message = archive.import(&file).unwrap_err().to_string();
    assert!(message.contains("is larger than 64 MiB"), "{message}");
}
