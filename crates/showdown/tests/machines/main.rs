//! `showdown hosts`, `load --clients` and comparisons on hosts from end to end: with agents that are children of this machine,
//! and with hosts behind real sshds in a lab of network namespaces (`scripts/machines-lab`; only as root).

mod clients;
mod compare;
mod concurrency;
mod failures;
mod firewall;
mod hostile;
mod kills;
mod lab;
mod local;
#[path = "../../../machine/tests/script/mod.rs"]
mod script;
mod servers;
mod ssh;
mod this_machine;

use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

const SHOWDOWN: &str = env!("CARGO_BIN_EXE_showdown");

/// For what must happen, however busy the machine is.
const LONG: Duration = Duration::from_mins(2);

/// `showdown hosts` with a file of this text, in a directory of its own.
fn hosts_command(directory: &tempfile::TempDir, text: &str) -> Vec<String> {
    let file = directory.path().join("lab.toml");
    std::fs::write(&file, text).expect("a file of this test");
    [SHOWDOWN, "hosts", "--hosts", &file.display().to_string()].map(str::to_owned).to_vec()
}

fn command(words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

fn run(words: &[String]) -> Output {
    command(words).output().expect("it can be started")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// Says that this machine cannot run a test, as `scripts/checks` expects it.
#[expect(clippy::print_stderr, reason = "a test that did not run must say so")]
fn skip(why: &str) {
    eprintln!("SKIPPED: {why}");
}

/// Kills the processes with these words in their command line, in the process list of this prefix.
fn kill_those_with(lab: &lab::Lab, host: Option<&str>, words: &str) {
    let list = ["ps", "-e", "-o", "pid=,args="];
    let list = host.map_or_else(|| lab.output(&list), |host| lab.output_on(host, &list));
    let is_meant = |line: &&str| line.contains(words) && !line.contains("machines-lab");
    let pids: Vec<&str> =
        list.lines().filter(is_meant).filter_map(|line| line.split_whitespace().next()).collect();
    assert!(!pids.is_empty(), "no {words:?} in:\n{list}");
    let words = [&["kill", "-KILL"], pids.as_slice()].concat();
    let _ = host.map_or_else(|| lab.output(&words), |host| lab.output_on(host, &words));
}

/// Waits until these hosts have nothing of a run.
fn nothing_is_left(lab: &lab::Lab, hosts: &[&str]) {
    for host in hosts {
        wait_for("a host without agents, servers and ports", || lab.left_on(host).is_empty().then_some(()));
    }
}

/// Waits until something is there.
fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + LONG;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "{what} did not come");
        thread::sleep(Duration::from_millis(20));
    }
}
