//! A disk that is full, for real: a small one in memory, seen by the command under test alone.

use std::process::{Command, Output};

use rustix::process::geteuid;

use crate::home::{Home, text};

/// A run that was begun, by its name.
const RUN: &str = "20260101T000000Z-nginx-nginx-0001";

/// What a command answers whose `runs` are on a disk of 1 MB with one run begun and `room_kb` left, and what is
/// on that disk afterwards; none where the kernel lets this user have no disk.
fn on_full_disk(home: &Home, plan: &str, room_kb: u32, args: &str) -> Option<(Output, String)> {
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
    // A container may forbid mounts of one's own; then there is nothing to try it in.
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
fn what_is_there_is_listed_and_a_new_index_asks_for_room() {
    let home = Home::new();
    let plan = home.small_plan(&["nginx", "nginx", "--on-op", "get-1k"]);
    let Some((listed, _)) = on_full_disk(&home, &plan, 0, "list") else { return };
    assert!(listed.status.success(), "{}", text(&listed.stderr));
    assert!(text(&listed.stdout).contains(RUN), "{}", text(&listed.stdout));
    let (reindexed, _) = on_full_disk(&home, &plan, 0, "archive reindex").expect("it was possible before");
    assert_eq!(reindexed.status.code(), Some(1));
    let said = text(&reindexed.stderr);
    assert!(said.contains("index.sqlite: the disk is full: make room") && !said.contains("delete"), "{said}");
}

#[test]
fn a_bake_off_stops_in_one_line_and_keeps_the_trials_that_it_has_written() {
    if !geteuid().is_root() {
        // Who is root in that place only has no user to start a server as.
        return;
    }
    let home = Home::new();
    let plan = home.small_plan(&["nginx", "nginx", "--on-op", "get-1k"]);
    let Some((output, left)) = on_full_disk(&home, &plan, 350, "run plan.toml --progress none") else {
        return;
    };
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.matches("showdown: ").count(), 1, "{said}");
    assert!(
        said.contains("the disk is full: make room and go on; what was written before is kept"),
        "{said}"
    );
    assert!(left.contains("/trial.json"), "{left}");
    home.assert_nothing_runs();
}
