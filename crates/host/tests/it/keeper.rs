//! Servers are gone when those who started them are killed: any of owner, keeper and guard, and pairs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::common::{DAEMON, RUNNER, STUBBORN, eventually, eventually_gone, local, perl, processes_of};

/// Tells the process below which server to start, and where.
const SCRIPT: &str = "HOST_TEST_SCRIPT";
const DIR: &str = "HOST_TEST_DIR";

/// Not a test: the owner that the tests start and kill, this same program in another process.
#[test]
#[ignore = "is what the tests below kill"]
fn owner() {
    let (Ok(script), Ok(dir)) = (std::env::var(SCRIPT), std::env::var(DIR)) else { return };
    let dir = PathBuf::from(dir);
    let _server = local().start(&perl(&script, &dir)).expect("it can be started");
    loop {
        std::thread::park();
    }
}

/// An owner, and the server that it started.
struct Scene {
    owner: Child,
    dir: tempfile::TempDir,
    guard: u32,
    keeper: u32,
}

impl Scene {
    /// Starts an owner, and waits until its server has so many processes.
    fn set(script: &str, processes: usize) -> Self {
        let dir = tempfile::tempdir().expect("there is a place for temporary files");
        let owner = Command::new(std::env::current_exe().expect("Linux"))
            .args(["--ignored", "--exact", "keeper::owner"])
            .envs([(SCRIPT, script), (DIR, dir.path().to_str().expect("a plain name"))])
            .stdout(Stdio::null())
            .spawn()
            .expect("this program can be run");
        eventually("the server is up", || processes_of(dir.path()).len() >= processes);
        let guard = child_of(owner.id(), "sd-guard");
        let keeper = child_of(guard, "sd-keeper");
        Self { owner, dir, guard, keeper }
    }

    fn kill(mut self, pids: &[u32]) {
        let pids: Vec<_> = pids.iter().map(u32::to_string).collect();
        Command::new("kill").arg("-9").args(&pids).status().expect("kill can be run");
        eventually_gone(self.dir.path());
        eventually("guard and keeper end too", || [self.guard, self.keeper].iter().all(|pid| is_gone(*pid)));
        self.owner.kill().expect("it is our child");
        self.owner.wait().expect("it is our child");
    }
}

fn child_of(parent: u32, comm: &str) -> u32 {
    let mut found = None;
    eventually(&format!("{parent} has a child {comm}"), || {
        found = fs::read_dir("/proc").expect("Linux").flatten().find_map(|entry| {
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            let (head, tail) = stat.rsplit_once(") ")?;
            let is_it = head.ends_with(&format!("({comm}")) && tail.split(' ').nth(1)? == parent.to_string();
            if is_it { entry.file_name().to_str()?.parse().ok() } else { None }
        });
        found.is_some()
    });
    found.expect("it came")
}

/// Gone, or a zombie that its parent has not looked at yet.
fn is_gone(pid: u32) -> bool {
    match fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")) {
        Ok(stat) => stat.contains(") Z "),
        Err(_) => true,
    }
}

#[test]
fn the_owner_is_killed() {
    for (script, processes) in [(DAEMON, 1), (STUBBORN, 3), (RUNNER, 1)] {
        let scene = Scene::set(script, processes);
        let owner = scene.owner.id();
        scene.kill(&[owner]);
    }
}

#[test]
fn the_keeper_is_killed() {
    for (script, processes) in [(DAEMON, 1), (STUBBORN, 3)] {
        let scene = Scene::set(script, processes);
        let keeper = scene.keeper;
        scene.kill(&[keeper]);
    }
}

#[test]
fn the_guard_is_killed() {
    for (script, processes) in [(DAEMON, 1), (STUBBORN, 3)] {
        let scene = Scene::set(script, processes);
        let guard = scene.guard;
        scene.kill(&[guard]);
    }
}

#[test]
fn the_owner_and_one_of_the_two_are_killed() {
    let scene = Scene::set(STUBBORN, 3);
    let pids = [scene.owner.id(), scene.keeper];
    scene.kill(&pids);
    let scene = Scene::set(STUBBORN, 3);
    let pids = [scene.owner.id(), scene.guard];
    scene.kill(&pids);
}

#[test]
fn an_owner_that_lives_on_is_told_that_its_keeper_was_killed() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let server = local().start(&perl(STUBBORN, dir.path()))?;
    let stat = fs::read_to_string(format!("/proc/{}/stat", server.pid()))?;
    let keeper = stat.split(' ').nth(3).expect("a process has a parent");
    Command::new("kill").args(["-9", keeper]).status()?;
    eventually("the loss is noticed", || server.check().is_err());
    let error = server.check().expect_err("noticed").to_string();
    assert!(error.contains("the keeper of perl was killed"), "{error}");
    assert!(processes_of(dir.path()).is_empty(), "and its processes were stopped before");
    Ok(())
}

#[test]
fn keepers_have_names_that_pkill_showdown_does_not_match() {
    let scene = Scene::set(DAEMON, 1);
    let cmdline = fs::read(format!("/proc/{}/cmdline", scene.keeper)).expect("it runs");
    let cmdline = String::from_utf8_lossy(&cmdline).replace('\0', " ");
    assert_eq!(cmdline, format!("sd-keeper __keeper keep {} ", scene.guard));
    let owner = scene.owner.id();
    scene.kill(&[owner]);
}
