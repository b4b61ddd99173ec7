//! Files that the user names: `-o`, `--out`. A file is replaced as a whole, a device or pipe is written to.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

const RUN: &str = "20261122T054610Z-memcached-0280";

/// A directory with one run in `runs`.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().expect("a directory"));
        let file = format!("{}/../archive/tests/format-1/sweep.tar.gz", env!("CARGO_MANIFEST_DIR"));
        assert_eq!(text(&home.ended(&["import", &file]).stdout).trim(), RUN);
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_showdown"));
        command.args(args).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    fn ended(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("showdown runs")
    }

    /// Writes the report as Markdown to `name`.
    fn report(&self, name: &str) -> Output {
        self.ended(&["report", RUN, "--format", "md", "-o", name])
    }

    fn markdown(&self) -> String {
        text(&self.ended(&["report", RUN, "--format", "md"]).stdout)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The names in the directory.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("a directory");
        let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
        let mut names: Vec<String> =
            entries.map(name).map(|name| name.into_string().expect("text")).collect();
        names.sort();
        names
    }

    /// A character device with this minor number of memory devices (3 is `null`, 7 is `full`): a new node for root, so
    /// that a failure cannot harm the machine's own, which others cannot replace.
    fn device(&self, name: &str, minor: u32) -> String {
        let path = self.path(name);
        let made = mknodat(CWD, &path, FileType::CharacterDevice, Mode::from(0o666), makedev(1, minor));
        let usable = made.is_ok() && File::options().write(true).open(&path).is_ok();
        if usable { name.to_owned() } else { format!("/dev/{name}") }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn assert_ended_well(output: &Output) {
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

/// Fails unless the command failed with one line that contains each of the texts.
fn assert_refused(output: &Output, texts: &[&str]) {
    let message = text(&output.stderr);
    assert_eq!((output.status.code(), message.lines().count()), (Some(1), 1), "{message}");
    for text in texts {
        assert!(message.contains(text), "{text} is not in {message}");
    }
}

#[test]
fn a_file_is_replaced_as_a_whole_and_keeps_its_mode() {
    let home = Home::new();
    let page = home.markdown();
    assert_ended_well(&home.report("new.md"));
    assert_eq!(home.read("new.md"), page);
    fs::write(home.path("old.md"), "an older report".repeat(10_000)).expect("a file");
    fs::set_permissions(home.path("old.md"), PermissionsExt::from_mode(0o600)).expect("a mode");
    assert_ended_well(&home.report("old.md"));
    assert_eq!(home.read("old.md"), page);
    assert_eq!(home.path("old.md").metadata().expect("a file").mode() & 0o777, 0o600);
    assert_eq!(home.names(), ["new.md", "old.md", "runs"]);
}

#[test]
fn the_umask_decides_who_may_read_a_new_file() {
    let home = Home::new();
    let showdown = env!("CARGO_BIN_EXE_showdown");
    let script = format!("umask 027; '{showdown}' report {RUN} --format md -o page.md");
    let output = Command::new("sh").args(["-c", &script]).current_dir(home.0.path()).output();
    assert_ended_well(&output.expect("a shell"));
    assert_eq!(home.path("page.md").metadata().expect("a file").mode() & 0o777, 0o640);
}

#[test]
fn a_link_stays_and_its_target_is_written() {
    let home = Home::new();
    fs::create_dir(home.path("pages")).expect("a folder");
    fs::write(home.path("pages/latest.md"), "old").expect("a file");
    symlink("pages/latest.md", home.path("link")).expect("a link");
    assert_ended_well(&home.report("link"));
    assert_eq!(fs::read_link(home.path("link")).expect("still a link"), Path::new("pages/latest.md"));
    assert_eq!(home.read("pages/latest.md"), home.markdown());
    assert_eq!(fs::read_dir(home.path("pages")).expect("a folder").count(), 1);

    symlink("nowhere/page.md", home.path("dangling")).expect("a link");
    assert_refused(&home.report("dangling"), &["-o dangling", "a link", "does not exist"]);
    assert!(home.path("dangling").symlink_metadata().expect("it is there").is_symlink());
}

#[test]
fn a_device_is_written_to_and_never_replaced() {
    let home = Home::new();
    let (null, full) = (home.device("null", 3), home.device("full", 7));
    symlink(&null, home.path("link")).expect("a link");
    for name in [null.as_str(), "link"] {
        assert_ended_well(&home.report(name));
        assert_ended_well(&home.ended(&["report", RUN, "-o", name]));
        assert_ended_well(&home.ended(&["report", RUN, "--format", "csv", "-o", name]));
        let exported = home.ended(&["export", RUN, "-o", name]);
        assert_eq!(text(&exported.stdout), format!("{name}\n"));
        assert!(home.path(name).metadata().expect("a device").file_type().is_char_device(), "{name}");
    }
    assert!(home.path("link").symlink_metadata().expect("it is there").is_symlink());
    for args in [&["report", RUN, "-o"][..], &["export", RUN, "-o"]] {
        let output = home.ended(&[args, &[full.as_str()]].concat());
        assert_refused(&output, &[&format!("-o {full}"), "the disk is full", "make room"]);
        assert!(home.path(&full).metadata().expect("a device").file_type().is_char_device());
    }
}

#[test]
fn a_block_device_and_a_directory_are_refused() {
    let home = Home::new();
    fs::create_dir(home.path("folder")).expect("a folder");
    for verb in [&["report", RUN, "-o", "folder"], &["export", RUN, "-o", "folder"]] {
        assert_refused(&home.ended(verb), &["-o folder", "a directory", "name a file"]);
    }
    // The number of a disk that does not exist: opening it fails if it is not refused before.
    let disk = home.path("disk");
    if mknodat(CWD, &disk, FileType::BlockDevice, Mode::from(0o666), makedev(240, 7)).is_ok() {
        assert_refused(&home.report("disk"), &["-o disk", "a block device", "name a file"]);
        assert!(disk.metadata().expect("a device").file_type().is_block_device());
    }
    assert_eq!(fs::read_dir(home.path("folder")).expect("a folder").count(), 0);
}

#[test]
fn a_named_pipe_gets_the_answer() {
    let home = Home::new();
    let pipe = home.path("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from(0o600), 0).expect("a pipe");
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).expect("the pipe is read")
    });
    assert_ended_well(&home.report("pipe"));
    assert_eq!(reader.join().expect("the reader ends"), home.markdown());
    assert!(pipe.metadata().expect("it is there").file_type().is_fifo());

    // A reader that has seen enough is no failure, as with standard output.
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || File::open(pipe).and_then(|mut file| file.read_exact(&mut [0; 10])).expect("ten bytes")
    });
    assert_ended_well(&home.ended(&["report", RUN, "-o", "pipe"]));
    reader.join().expect("the reader ends");
}

#[test]
fn standard_output_can_be_named() {
    let home = Home::new();
    let page = home.markdown();
    for name in ["-", "/dev/stdout", "/dev/fd/1"] {
        assert_eq!(text(&home.report(name).stdout), page, "{name}");
        let path = home.path("log");
        fs::write(&path, "before\n").expect("a file");
        let log = File::options().append(true).open(&path).expect("a file");
        let status = home.command(&["report", RUN, "--format", "md", "-o", name]).stdout(log).status();
        assert!(status.expect("showdown runs").success());
        assert_eq!(home.read("log"), format!("before\n{page}"), "{name}: appended");
    }
    let export = home.ended(&["export", RUN, "-o", "-"]);
    assert!(export.stdout.starts_with(&[0x1f, 0x8b]) && export.status.success(), "{:?}", export.stderr);
    fs::write(home.path("run.tar.gz"), &export.stdout).expect("a file");
    assert_ended_well(&home.ended(&["import", "run.tar.gz", "--runs", "others"]));
    assert_eq!(home.names(), ["log", "others", "run.tar.gz", "runs"], "no file has the name -");
}

#[test]
fn a_report_in_the_run_directory_replaces_a_link_of_that_name() {
    // Whoever made the directory cannot lead the report elsewhere.
    let home = Home::new();
    fs::write(home.path("other"), "keep").expect("a file");
    symlink(home.path("other"), home.path("runs").join(RUN).join("report.html")).expect("a link");
    let output = home.ended(&["report", RUN]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(home.read("other"), "keep");
    assert!(home.path("runs").join(RUN).join("report.html").symlink_metadata().expect("a page").is_file());
}

#[test]
fn a_failed_write_leaves_the_earlier_file() {
    let home = Home::new();
    fs::write(home.path("page.html"), "earlier").expect("a file");
    let showdown = env!("CARGO_BIN_EXE_showdown");
    // The kernel stops the file at 8 KiB; SIGXFSZ is ignored, so the write fails.
    let script = format!("trap '' XFSZ; ulimit -f 8; '{showdown}' report {RUN} -o page.html");
    let output = Command::new("bash").args(["-c", &script]).current_dir(home.0.path()).output();
    assert_refused(&output.expect("bash"), &["-o page.html"]);
    assert_eq!(home.read("page.html"), "earlier");
    assert_eq!(home.names(), ["page.html", "runs"]);
}

#[test]
fn manual_pages_follow_links_to_files() {
    let home = Home::new();
    fs::create_dir(home.path("man1")).expect("a folder");
    fs::write(home.path("page"), "old").expect("a file");
    symlink("../page", home.path("man1/showdown.1")).expect("a link");
    assert_ended_well(&home.ended(&["man", "--out", "man1"]));
    assert!(home.path("man1/showdown.1").symlink_metadata().expect("it is there").is_symlink());
    assert_eq!(home.read("page"), text(&home.ended(&["man"]).stdout));
}
