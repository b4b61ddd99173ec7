//! Servers stop when their owner, supervisor or guard is killed, or a pair of these.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use procfs::FromRead;
use procfs::process::Stat;

use crate::common::{DAEMON, FORKER, STUBBORN, eventually, eventually_gone, local, perl, processes_of};

/// Environment variables for the owner process: the server to start, and its directory.
const SCRIPT: &str = "HOST_TEST_SCRIPT";
const DIR: &str = "HOST_TEST_DIR";

/// Not a test: the owner process, which the tests start and kill.
#[test]
#[ignore = "a process for the tests below"]
fn owner() {
    let (Ok(script), Ok(dir)) = (std::env::var(SCRIPT), std::env::var(DIR)) else { return };
    let dir = PathBuf::from(dir);
    let _server = local().start(&perl(&script, &dir)).expect("start the server");
    loop {
        std::thread::park();
    }
}

/// An owner process, and the server that it started.
struct OwnerProcess {
    owner: Child,
    dir: tempfile::TempDir,
    guard: u32,
    supervisor: u32,
}

impl OwnerProcess {
    /// Starts an owner, and waits until its server has this many processes.
    fn start(script: &str, processes: usize) -> Self {
        let dir = tempfile::tempdir().expect("make a temporary directory");
        let owner = Command::new(std::env::current_exe().expect("Linux"))
            .args(["--ignored", "--exact", "supervisor::owner"])
            .envs([(SCRIPT, script), (DIR, dir.path().to_str().expect("a UTF-8 path"))])
            .stdout(Stdio::null())
            .spawn()
            .expect("run this program");
        eventually("the server is up", || processes_of(dir.path()).len() >= processes);
        let guard = child_of(owner.id(), "sd-guard");
        let supervisor = child_of(guard, "sd-keeper");
        Self { owner, dir, guard, supervisor }
    }

    fn kill(mut self, pids: &[u32]) {
        let pids: Vec<_> = pids.iter().map(u32::to_string).collect();
        Command::new("kill").arg("-9").args(&pids).status().expect("run kill");
        eventually_gone(self.dir.path());
        eventually("guard and supervisor end", || {
            [self.guard, self.supervisor].iter().all(|pid| is_gone(*pid))
        });
        self.owner.kill().expect("the owner is a child of this process");
        self.owner.wait().expect("the owner is a child of this process");
    }
}

fn child_of(parent: u32, comm: &str) -> u32 {
    let mut found = None;
    eventually(&format!("{parent} has a child {comm}"), || {
        found = fs::read_dir("/proc").expect("Linux").flatten().find_map(|entry| {
            let stat = Stat::from_file(entry.path().join("stat")).ok()?;
            let is_child = stat.comm == comm && stat.ppid.cast_unsigned() == parent;
            is_child.then(|| stat.pid.cast_unsigned())
        });
        found.is_some()
    });
    found.expect("the child exists")
}

/// Whether a process is gone, or a zombie that its parent has not reaped.
fn is_gone(pid: u32) -> bool {
    Stat::from_file(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.state == 'Z')
}

#[test]
fn the_server_stops_when_its_owner_is_killed() {
    for (script, processes) in [(DAEMON, 1), (STUBBORN, 3), (FORKER, 1)] {
        let process = OwnerProcess::start(script, processes);
        let owner = process.owner.id();
        process.kill(&[owner]);
    }
}

#[test]
fn the_server_stops_when_its_supervisor_is_killed() {
    for (script, processes) in [(DAEMON, 1), (STUBBORN, 3)] {
        let process = OwnerProcess::start(script, processes);
        let supervisor = process.supervisor;
        process.kill(&[supervisor]);
    }
}

#[test]
fn the_server_stops_when_its_guard_is_killed() {
    for (script, processes) in [(DAEMON, 1), (STUBBORN, 3)] {
        let process = OwnerProcess::start(script, processes);
        let guard = process.guard;
        process.kill(&[guard]);
    }
}

#[test]
fn the_server_stops_when_its_owner_and_another_process_are_killed() {
    let process = OwnerProcess::start(STUBBORN, 3);
    let pids = [process.owner.id(), process.supervisor];
    process.kill(&pids);
    let process = OwnerProcess::start(STUBBORN, 3);
    let pids = [process.owner.id(), process.guard];
    process.kill(&pids);
}

#[test]
fn the_owner_gets_an_error_when_the_supervisor_is_killed() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let server = local().start(&perl(STUBBORN, dir.path()))?;
    let supervisor = Stat::from_file(format!("/proc/{}/stat", server.pid()))?.ppid.to_string();
    Command::new("kill").args(["-9", &supervisor]).status()?;
    eventually("the end of the supervisor is noticed", || server.check().is_err());
    let error = server.check().expect_err("the supervisor is gone").to_string();
    assert!(error.contains("another process killed the supervisor of perl"), "{error}");
    assert!(processes_of(dir.path()).is_empty(), "the processes are stopped before the error");
    Ok(())
}

#[test]
fn pkill_showdown_does_not_match_a_supervisor() {
    let process = OwnerProcess::start(DAEMON, 1);
    let cmdline = fs::read(format!("/proc/{}/cmdline", process.supervisor)).expect("the supervisor runs");
    let cmdline = String::from_utf8_lossy(&cmdline).replace('\0', " ");
    assert_eq!(cmdline, format!("sd-keeper __keeper keep {} ", process.guard));
    let owner = process.owner.id();
    process.kill(&[owner]);
}
