//! A full disk: a small file system in memory that only the command under test sees.

use std::process::{Command, Output};

use rustix::process::geteuid;

use crate::home::{TestHome, skip, text};

/// The name of an unfinished run.
const RUN: &str = "20260101T000000Z-nginx-nginx-0001";

/// Runs a command whose `runs` are on a disk of 1 MB with one unfinished run and `room_kb` free. Returns its output and
/// the files on the disk afterwards; none if this user may not mount a file system.
fn on_full_disk(home: &TestHome, plan: &str, room_kb: u32, args: &str) -> Option<(Output, String)> {
    let disk = home.path("runs");
    std::fs::create_dir_all(&disk).expect("a directory");
    let (disk, showdown) = (disk.display(), env!("CARGO_BIN_EXE_showdown"));
    let mount = format!("mount -t tmpfs -o size=1m disk {disk}");
    let sh = |script: &str| {
        let mut command = Command::new("unshare");
        let become_root: &[&str] = if geteuid().is_root() { &[] } else { &["--map-root-user"] };
        command.args(become_root).args(["--mount", "sh", "-c", script]);
        home.at_home(&mut command).output()
    };
    // A container may forbid mounts.
    sh(&mount).ok().filter(|output| output.status.success())?;
    let script = format!(
        "{mount} && mkdir {disk}/{RUN} && cp {plan} {disk}/{RUN}/plan.toml && \
         head -c {room_kb}K /dev/zero > {disk}/room && cat /dev/zero > {disk}/filler 2>/dev/null; rm {disk}/room; \
         {showdown} {args}; code=$?; find {disk} -type f -size +0 > left; exit $code"
    );
    let output = sh(&script).expect("a shell");
    Some((output, std::fs::read_to_string(home.path("left")).expect("a list")))
}

#[test]
fn runs_are_listed_without_room_and_a_new_index_asks_for_room() {
    let home = TestHome::new();
    let plan = home.small_plan(&["nginx", "nginx", "--on-op", "get-1k"]);
    let Some((listed, _)) = on_full_disk(&home, &plan, 0, "list") else {
        return skip("this user may not mount a file system");
    };
    assert!(listed.status.success(), "{}", text(&listed.stderr));
    assert!(text(&listed.stdout).contains(RUN), "{}", text(&listed.stdout));
    let (reindexed, _) = on_full_disk(&home, &plan, 0, "archive reindex").expect("it was possible before");
    assert_eq!(reindexed.status.code(), Some(1));
    let message = text(&reindexed.stderr);
    assert!(
        message.contains("index.sqlite: the disk is full: free some space") && !message.contains("delete"),
        "{message}"
    );
}

#[test]
fn a_run_stops_with_one_line_and_keeps_its_trials() {
    if !geteuid().is_root() {
        return skip("root in a user namespace has no second user to start a server as");
    }
    let home = TestHome::new();
    let plan = home.small_plan(&["nginx", "nginx", "--on-op", "get-1k"]);
    let Some((output, left)) = on_full_disk(&home, &plan, 250, "run plan.toml --progress none") else {
        return skip("this container forbids mounts");
    };
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert_eq!(message.matches("showdown: ").count(), 1, "{message}");
    assert!(
        message
            .contains("the disk is full: free some space; earlier files are kept; then `showdown resume 20"),
        "{message}"
    );
    assert!(left.contains("/trial.json"), "{left}");
    home.assert_nothing_runs();
}

#[test]
fn a_server_without_room_in_scratch_is_reported_as_a_full_disk() {
    if !geteuid().is_root() {
        return skip("only root may mount a file system on which servers start");
    }
    let home = TestHome::new();
    home.small_plan(&["mariadb", "mariadb", "--workload", "oltp"]);
    let tmp = home.path("tmp").display().to_string();
    let sh = |script: &str| {
        let mut command = Command::new("unshare");
        home.at_home(command.args(["--mount", "sh", "-c", script])).output()
    };
    let mount = format!("mount -t tmpfs -o mode=1777,size=4m disk {tmp}");
    if !sh(&mount).is_ok_and(|output| output.status.success()) {
        return skip("this container forbids mounts");
    }
    let showdown = env!("CARGO_BIN_EXE_showdown");
    let output = sh(&format!("{mount} && {showdown} run plan.toml --progress none")).expect("a shell");
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains(&format!("the disk of {tmp}")), "{message}");
    assert!(message.contains(" MB left: free some space, or set TMPDIR to another directory"), "{message}");
    home.assert_nothing_runs();
}
