//! Servers that another program starts, as a container's daemon or a service manager does: outside of the process tree of `start`. They
//! are found, measured, kept on their CPUs and stopped.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use host::process::ProcessId;
use host::telemetry::SampledServer;
use libtest_mimic::Failed;
use load::engine::RunContext;
use workload::Instance;

use crate::test_directory::{TestDirectory, one_file};

const SERVICE_MANAGER: &str = include_str!("service_manager.py");
const OPERATIONS: &str = "[[load.op]]\nname = \"home\"\npath = \"/\"\n";

/// A program that starts servers for others. It ends when it is dropped.
struct ServiceManager {
    daemon: Child,
    script: PathBuf,
    socket: PathBuf,
}

impl ServiceManager {
    fn start(directory: &TestDirectory) -> Result<Self, Failed> {
        let (script, socket) = (directory.path().join("service_manager.py"), directory.path().join("socket"));
        fs::write(&script, SERVICE_MANAGER)?;
        let mut daemon = Command::new("python3").arg(&script).arg(&socket).stdout(Stdio::piped()).spawn()?;
        let mut up = String::new();
        BufReader::new(daemon.stdout.take().ok_or("it is piped")?).read_line(&mut up)?;
        assert_eq!(up, "up\n");
        Ok(Self { daemon, script, socket })
    }

    /// A command that asks it for something, as a list in a workload file.
    fn command(&self, verb: &str) -> String {
        let (script, socket) = (self.script.display(), self.socket.display());
        format!("[\"python3\", \"{script}\", \"{socket}\", \"{verb}\", \"{{{{ port }}}}\"]")
    }

    /// The process ID of the server at the port of this instance.
    fn pid(&self, instance: &Instance) -> Result<u32, Failed> {
        let port = instance.address().port().to_string();
        let output =
            Command::new("python3").arg(&self.script).arg(&self.socket).args(["pid", &port]).output()?;
        Ok(String::from_utf8(output.stdout)?.trim().parse()?)
    }
}

impl Drop for ServiceManager {
    fn drop(&mut self) {
        self.daemon.kill().and_then(|()| self.daemon.wait()).expect("it ends");
    }
}

/// Checks a server that was found; returns the process.
fn check_found(server: &mut Instance, manager: &ServiceManager) -> Result<ProcessId, Failed> {
    let process = server.tree().leader().ok_or("it has processes")?;
    assert_eq!(process.pid, manager.pid(server)?, "it is the one that the manager has started");
    server.check(&RunContext::default())?;
    server.check_alive()?;
    Ok(process)
}

pub fn found_by_its_socket() -> Result<(), Failed> {
    let directory = TestDirectory::new()?;
    let manager = ServiceManager::start(&directory)?;
    let workload = one_file(&directory, &format!("start = {}", manager.command("run")), OPERATIONS)?;
    let options = directory.options()?;
    let mut server = directory.start(&workload, "test")?;
    let process = check_found(&mut server, &manager)?;

    let status = fs::read_to_string(format!("/proc/{}/status", process.pid))?;
    let cpus = format!("Cpus_allowed_list:\t{}\n", options.cpus);
    assert!(status.contains(&cpus), "it is kept on its CPUs: {status}");

    let sampled = SampledServer { name: "server".to_owned(), trees: vec![server.tree()] };
    let recorder = options.host.sample(vec![sampled], Duration::from_millis(20))?;
    let before = server.tree().cpu_time();
    while server.tree().cpu_time() == before {
        server.check(&RunContext::default())?;
    }
    let recording = recorder.stop();
    assert!(recording.max("server.processes", 0..=u64::MAX) >= Some(2.0), "the client and the server");
    assert!(recording.max("server.rss", 0..=u64::MAX) > Some(1e6));
    let others: Vec<u32> = recording.others.iter().map(|other| other.pid).collect();
    assert!(!others.contains(&process.pid), "it is no other program");

    // There is no command for that: what listens there is signalled.
    server.stop()?;
    assert!(!process.is_alive());
    Ok(())
}

pub fn stopped_by_a_command() -> Result<(), Failed> {
    let directory = TestDirectory::new()?;
    let manager = ServiceManager::start(&directory)?;
    let commands = format!("start = {}\nstop = {}", manager.command("start"), manager.command("stop"));
    let by_command = format!("{commands}\npid = {}", manager.command("pid"));
    let by_file = format!(
        "{commands}\npid = \"{{{{ dir }}}}/pid\"\nready = {{ command = [\"python3\", \"-c\", \
         \"import subprocess, sys; open(sys.argv[1], 'w').write(subprocess.run(sys.argv[2:], stdout=-1, text=True).stdout)\", \
         \"{{{{ dir }}}}/pid\", {} }}",
        manager.command("pid").trim_start_matches('[')
    );
    for server in [commands, by_command, by_file] {
        let workload = one_file(&directory, &server, OPERATIONS)?;
        let mut running = directory.start(&workload, "test")?;
        let process = check_found(&mut running, &manager)?;
        running.stop()?;
        assert!(!process.is_alive(), "{server}");
    }
    Ok(())
}

pub fn ended_meanwhile() -> Result<(), Failed> {
    let directory = TestDirectory::new()?;
    let manager = ServiceManager::start(&directory)?;
    let commands = format!("start = {}\nstop = {}", manager.command("start"), manager.command("stop"));
    let server = directory.start(&one_file(&directory, &commands, OPERATIONS)?, "test")?;
    let pid = manager.pid(&server)?;
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid.cast_signed()).ok_or("a process")?,
        rustix::process::Signal::KILL,
    )?;
    let error = loop {
        if let Err(error) = server.check_alive() {
            break error.to_string();
        }
    };
    assert!(
        error.starts_with(&format!("test (pid {pid}), which another program had started, has ended")),
        "{error}"
    );
    Ok(())
}

/// What is not of this start is neither measured nor stopped.
pub fn not_of_this_start() -> Result<(), Failed> {
    let directory = TestDirectory::new()?;
    let python = "[\"python3\", \"-m\", \"http.server\", \"--bind\", \"{{ host }}\", \"{{ port }}\"]";
    let refused = |server: &str| -> Result<String, Failed> {
        let workload = one_file(&directory, server, OPERATIONS)?;
        Ok(directory.start(&workload, "test").err().ok_or("it is refused")?.to_string())
    };
    let own = std::process::id();
    // The kernel has start times in ticks of 10 ms: this process is older by some.
    std::thread::sleep(Duration::from_millis(50));
    let error = refused(&format!("start = {python}\nstop = [\"false\"]\npid = [\"echo\", \"{own}\"]"))?;
    assert!(
        error.contains(&format!("pid: process {own} (")) && error.contains("ran before the start"),
        "{error}"
    );
    let error = refused(&format!("start = {python}\nstop = [\"false\"]\npid = [\"echo\", \"soon\"]"))?;
    assert!(error.starts_with("test: pid: \"soon\" is no process ID"), "{error}");
    let error = refused("start = [\"true\", \"{{ port }}\"]")?;
    assert!(
        error.contains("exited with status 0") && error.contains("give the command that stops it"),
        "{error}"
    );
    let without = one_file(&directory, &format!("start = {python}\npid = [\"echo\", \"1\"]"), OPERATIONS);
    let error = without.err().ok_or("it is refused")?.to_string();
    assert!(error.contains("give the command that stops it, such as stop = "), "{error}");
    Ok(())
}
