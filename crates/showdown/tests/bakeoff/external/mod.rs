//! A server that another program starts, from end to end: it is measured as the server and not as another program, and it is stopped,
//! also after a SIGKILL of showdown.

mod images;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::home::{TestHome, json, only_run, signal, text, trials};

const SERVICE_MANAGER: &str = include_str!("../../../../workload/tests/servers/service_manager.py");

/// A home with a stand-in for a service manager, and a workload whose server it starts and stops.
struct Managed {
    home: TestHome,
    manager: Child,
}

impl Managed {
    fn new() -> Self {
        let home = TestHome::new();
        let folder = home.path("workloads/managed");
        fs::create_dir_all(&folder).expect("a folder");
        let (script, socket) = (folder.join("service_manager.py"), home.path("socket"));
        fs::write(&script, SERVICE_MANAGER).expect("the stand-in");
        let (at, to) = (script.display(), socket.display());
        let command = |verb| format!("[\"python3\", \"{at}\", \"{to}\", \"{verb}\", \"{{{{ port }}}}\"]");
        let workload = format!(
            "title = \"Managed\"\n[server.managed]\nstart = {}\nstop = {}\n\
             [load]\nprotocol = \"http\"\nslo = \"p99<50ms\"\nconnections = 2\n[[load.op]]\npath = \"/\"\n",
            command("start"),
            command("stop"),
        );
        fs::write(folder.join("workload.toml"), workload).expect("the workload");
        let mut manager = Command::new("python3");
        let manager = manager.arg(&script).arg(&socket).stdout(Stdio::piped()).spawn();
        let mut manager = manager.expect("python3");
        let mut up = String::new();
        let output = manager.stdout.take().expect("it is piped");
        BufReader::new(output).read_line(&mut up).expect("a line");
        Self { home, manager }
    }

    /// Waits until only the manager runs.
    fn assert_no_server_runs(&self) {
        let manager = format!("{} ", self.manager.id());
        let deadline = Instant::now() + Duration::from_mins(1);
        loop {
            let running = self.home.processes();
            if running.iter().all(|process| process.starts_with(&manager)) {
                return;
            }
            assert!(Instant::now() < deadline, "left running: {running:#?}");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        self.manager.kill().and_then(|()| self.manager.wait()).expect("it ends");
    }
}

#[test]
fn a_server_that_another_program_starts_is_measured_as_the_server() {
    let managed = Managed::new();
    let home = &managed.home;
    let plan = home.small_plan(&["managed", "managed"]);
    let output = home.run(&["run", &plan]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    managed.assert_no_server_runs();
    let servers = fs::read_to_string(home.path("socket.pids")).expect("the servers that were started");
    assert_eq!(servers.lines().count(), 6);
    for trial in trials(&only_run(home)) {
        let record = json(&trial.join("trial.json"));
        let cores = record["server"]["cores"].as_f64();
        assert!(cores.is_some_and(|cores| cores > 0.0), "its CPU time is the server's: {record}");
        let gates = record["gates"].to_string();
        for server in servers.lines() {
            assert!(!gates.contains(&format!("(pid {server})")), "{server} is no other program: {gates}");
        }
    }
}

#[test]
fn a_server_that_another_program_starts_is_stopped_after_a_kill_at_any_moment() {
    let managed = Managed::new();
    let plan = managed.home.small_plan(&["managed", "managed"]);
    for moment in 0..6 {
        let mut showdown = managed.home.showdown(&["run", &plan, "--progress", "none"]);
        let mut child = showdown.stdout(Stdio::null()).spawn().expect("showdown");
        thread::sleep(Duration::from_millis(50 + 431 * moment));
        signal(&child, Signal::KILL);
        child.wait().expect("it was killed");
        managed.assert_no_server_runs();
    }
}
