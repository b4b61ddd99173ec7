//! Short comparisons of block I/O.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use serde_json::Value;

use crate::home::{TestHome, only_run, records_of_runners, signal, text};

#[test]
fn buffer_sizes_are_compared_and_the_file_is_removed() {
    let home = TestHome::new();
    let elsewhere = home.path("elsewhere");
    fs::create_dir(&elsewhere).expect("a directory");
    let variant = |buffer: u32| {
        let directory = elsewhere.display();
        format!("disk:buffer={buffer},file_bytes=1048576,pattern=sequential,threads=2,directory={directory}")
    };
    let plan = home.small_plan_of(&[&variant(512), &variant(65_536)], "bytes");
    let output = home.run(&["run", &plan]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    home.assert_nothing_runs();
    assert_eq!(fs::read_dir(&elsewhere).expect("a directory").count(), 0);

    for record in records_of_runners(&only_run(&home)) {
        assert_eq!(record["phases"][0]["errors"], serde_json::json!({}), "{record}");
        assert_eq!(record["measured"]["unit"], "MB/s");
        assert!(record["measured"]["value"].as_f64().is_some_and(|rate| rate > 0.0), "{record}");
    }
}

#[test]
fn settings_that_cannot_work_are_reported() {
    let home = TestHome::new();
    for (knobs, why) in [
        (
            "file_bytes=4096,threads=2",
            "2 buffers of 4096 bytes do not fit into a file of 4096: make it larger",
        ),
        (
            "depth=8",
            "depth=8 needs engine=io_uring: pread(2) has one transfer in flight, use threads for more",
        ),
    ] {
        let plan = home.small_plan(&[&format!("disk:{knobs}"), "disk"]);
        let output = home.run(&["run", &plan, "--runs", knobs]);
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains(why), "{}", text(&output.stderr));
    }
    let nowhere = home.run(&["compare", "disk:directory=/nowhere", "disk", "--quick"]);
    assert_eq!(nowhere.status.code(), Some(2));
    let why = "knob directory: \"/nowhere\" is not a directory that exists";
    assert!(text(&nowhere.stderr).contains(why), "{}", text(&nowhere.stderr));
}

#[test]
fn queue_depths_are_compared() {
    let home = TestHome::new();
    let variant = |depth: u32| format!("disk:file_bytes=1048576,engine=io_uring,depth={depth},threads=2");
    let output = home.run(&["run", &home.longer_plan(&[&variant(1), &variant(32)])]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    for trial in records_of_runners(&only_run(&home)) {
        let phase = &trial["phases"][0];
        assert_eq!(phase["errors"], serde_json::json!({}), "{}", trial["reasons"]);
        for at in 0..2 {
            assert!(phase["operations"][at]["requests"].as_u64() > Some(0), "{phase}");
        }
    }
}

/// Starts a runner without a workload, in a directory on a disk. It ignores SIGXFSZ, so that refused writes fail.
fn runner(args: &str) -> (Child, impl FnMut() -> Value + use<>, tempfile::TempDir) {
    let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let showdown = env!("CARGO_BIN_EXE_showdown");
    let mut child = Command::new("sh")
        .args([
            "-c",
            &format!("trap '' XFSZ; exec {showdown} runner block --directory=. --file-bytes=65536 {args}"),
        ])
        .current_dir(home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
    let line = move || lines.next().map_or(Value::Null, |line| serde_json::from_str(&line).expect("JSON"));
    (child, line, home)
}

/// The flags of open(2) with which a process has opened the data file.
fn flags(child: &Child) -> u32 {
    let of = |what: &str| Path::new("/proc").join(child.id().to_string()).join(what);
    let descriptors = fs::read_dir(of("fd")).expect("its files").flatten();
    let is_data = |path: &Path| fs::read_link(path).is_ok_and(|to| to.ends_with("showdown-block"));
    let data =
        descriptors.map(|entry| entry.path()).find(|path| is_data(path)).expect("the data file is open");
    let info = fs::read_to_string(of("fdinfo").join(data.file_name().expect("a number"))).expect("its flags");
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).expect("flags");
    u32::from_str_radix(flags.trim(), 8).expect("octal")
}

#[test]
fn both_engines_use_direct_and_synchronous_transfers_as_requested() {
    let (direct, dsync) = (rustix::fs::OFlags::DIRECT.bits(), rustix::fs::OFlags::DSYNC.bits());
    for engine in ["psync", "io_uring --depth=4"] {
        for (args, expected) in [
            ("", 0),
            ("--cache=direct", direct),
            ("--sync=data", dsync),
            ("--cache=direct --sync=data", direct | dsync),
        ] {
            let (mut child, mut line, _home) = runner(&format!("--engine={engine} {args}"));
            assert_eq!(line()["runner"], 1, "{engine} {args}");
            let mut stdin = child.stdin.take().expect("a pipe");
            writeln!(stdin, "start 100 1 read=1 write=1").expect("it reads");
            assert!(line()["operations"]["read"]["histogram"].is_string(), "{engine} {args}");
            assert_eq!(flags(&child) & (direct | dsync), expected, "{engine} {args}");
            writeln!(stdin, "stop").expect("it reads");
            assert!((0..1000).any(|_| line()["stopped"].is_number()));
            drop(stdin);
            assert!(child.wait().expect("it ends").success());
        }
    }
}

#[test]
fn a_buffer_that_direct_transfers_refuse_is_reported() {
    let (child, mut line, _home) = runner("--cache=direct --buffer=1000");
    let message = line();
    if message["runner"] == 1 {
        // A file system in memory accepts any length.
        return;
    }
    let output = child.wait_with_output().expect("it ends");
    let message = text(&output.stderr);
    assert!(message.contains("direct I/O of 1000 bytes is refused"), "{message}");
    assert!(message.contains("use a multiple of the device's block size"), "{message}");
}

#[test]
fn a_runner_that_is_stopped_leaves_no_file() {
    let (mut child, mut line, home) = runner("--engine=psync");
    assert_eq!(line()["runner"], 1);
    // The end of its input would end it as well.
    let _stdin = child.stdin.take().expect("a pipe");
    signal(&child, Signal::TERM);
    assert_eq!(child.wait().expect("it ends").code(), Some(143));
    let left = fs::read_dir(home.path()).expect("a directory").flatten();
    let names: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().contains("showdown-block")), "{names:?}");
}

#[test]
fn a_disk_that_fills_during_a_run_is_counted_and_reported() {
    for engine in ["psync", "io_uring --depth=4"] {
        let (mut child, mut line, _home) = runner(&format!("--engine={engine}"));
        assert_eq!(line()["runner"], 1);
        let mut stdin = child.stdin.take().expect("a pipe");
        writeln!(stdin, "start 100 1 read=1 write=1").expect("it reads");
        assert!(line()["operations"]["write"]["histogram"].is_string(), "{engine}");
        let limit = Rlimit { current: Some(0), maximum: Some(0) };
        prlimit(Some(Pid::from_child(&child)), Resource::Fsize, limit).expect("a limit");
        let errors = (0..1000).find_map(|_| line()["operations"]["write"]["errors"].as_object().cloned());
        let errors = errors.expect("errors");
        assert!(errors.keys().all(|what| what.starts_with("File too large")), "{engine}: {errors:?}");
        assert!(line()["operations"]["read"]["histogram"].is_string(), "{engine}: reads go on");
        writeln!(stdin, "stop").expect("it reads");
        assert!((0..1000).any(|_| line()["stopped"].is_number()));
        drop(stdin);
        assert!(child.wait().expect("it ends").success());
    }
}
