//! A real HAProxy before real nginx servers, in a private directory and on private ports. All of it ends with the test.

use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use host::process::{tcp_probe, with_descendants};
use host::{Host, ServerCommand, ServerProcess};
use rustix::process::{Pid, Signal, kill_process};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_showdown");
pub const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// How long a test waits for a server on a busy machine.
pub const PATIENCE: Duration = Duration::from_mins(3);

/// A run of its own process. It is killed with the test.
pub struct RunningShift {
    child: Child,
}

impl RunningShift {
    /// Starts a command that is a run, and waits until this is true.
    pub fn start(mut command: Command, mut has_begun: impl FnMut() -> bool) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut run = Self { child };
        eventually("the first step begins", || {
            assert!(run.child.try_wait().expect("its state").is_none(), "the run has ended");
            has_begun()
        });
        run
    }

    pub fn signal(&self, signal: Signal) {
        send_signal(self.child.id(), signal);
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The process of its lease.
    pub fn lease(&self) -> u32 {
        let own = self.child.id();
        let mut children =
            with_descendants(own).into_iter().map(|process| process.pid).filter(|pid| *pid != own);
        children
            .find(|pid| {
                let name = fs::read_to_string(format!("/proc/{pid}/comm"));
                name.is_ok_and(|name| name.trim() == "sd-lease")
            })
            .expect("the process of the lease")
    }

    /// Waits for its end.
    pub fn end(mut self) -> Output {
        let mut output =
            Output { status: self.child.wait().expect("its end"), stdout: Vec::new(), stderr: Vec::new() };
        let pipes = self.child.stdout.take().zip(self.child.stderr.take());
        let (mut stdout, mut stderr) = pipes.expect("both are pipes");
        stdout.read_to_end(&mut output.stdout).expect("its output");
        stderr.read_to_end(&mut output.stderr).expect("its errors");
        output
    }
}

impl Drop for RunningShift {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until the condition is true. The time limit is much longer than needed, so that a slow machine passes.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "timeout: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

pub fn send_signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).expect("a process"), signal).expect("it runs");
}

/// Users that end with the test.
pub struct Users(Child);

impl Drop for Users {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A balancer with two old servers, and a candidate and a control that are not in its backend.
pub struct Site {
    socket: PathBuf,
    web: SocketAddr,
    pub plan: PathBuf,
    _servers: Vec<ServerProcess>,
    // Last: the directory is removed after its servers have ended.
    directory: tempfile::TempDir,
}

impl Site {
    /// A site whose candidate answers with this status.
    pub fn start(candidate_status: u32) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let folder = directory.path().display().to_string();
        let ports = Host::local().free_ports(LOCALHOST, 6).expect("free ports");
        let address = |at: usize| SocketAddr::new(LOCALHOST, ports[at]);
        let (web, log) = (address(4), address(5));
        let socket = directory.path().join("admin.sock");
        let mut nginx = format!(
            "daemon off; master_process off; pid {folder}/nginx.pid; error_log stderr;\n\
             events {{ worker_connections 500; }}\n\
             http {{ access_log off; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;\n\
             fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;\n"
        );
        for (at, status) in [200, 200, candidate_status, 200].into_iter().enumerate() {
            let line = format!("server {{ listen {}; location / {{ return {status} ok; }} }}\n", address(at));
            nginx.push_str(&line);
        }
        let haproxy = format!(
            "global\n stats socket {} mode 600 level admin\n log {log} len 4096 format raw local0\n\
             defaults\n mode http\n timeout connect 5s\n timeout client 60s\n timeout server 60s\n option redispatch\n\
             \x20log global\n log-format \"%b/%s %ST %ts %Tw %Tc %Tr %Ta %rc\"\n\
             frontend web\n bind {web}\n default_backend b\n\
             backend b\n balance roundrobin\n server old1 {} weight 10\n server old2 {} weight 10\n",
            socket.display(),
            address(0),
            address(1)
        );
        let plan = format!(
            "[balancer]\nsocket = \"{}\"\nbackend = \"b\"\nlog = \"{log}\"\nlease = \"1m\"\n\
             [old]\nservers = [\"old1\", \"old2\"]\n\
             [candidate]\nname = \"candidate\"\naddress = \"{}\"\n\
             [control]\nname = \"control\"\naddress = \"{}\"\n\
             [rules]\nobjective = \"p99<60s\"\nmargin = 4\nnegligible = \"10%\"\nsteps = [16, 64]\ndwell = \"2s\"\n\
             hard_late = \"100%\"\n",
            socket.display(),
            address(2),
            address(3)
        );
        let mut servers = Vec::new();
        for (name, text, ready) in [("nginx", nginx + "}\n", address(0)), ("haproxy", haproxy, web)] {
            let file = directory.path().join(format!("{name}.conf"));
            fs::write(&file, text).expect("a file");
            let file = file.display().to_string();
            let argv: Vec<&str> = match name {
                "nginx" => vec!["nginx", "-e", "stderr", "-c", &file],
                _ => vec!["haproxy", "-W", "-f", &file],
            };
            let log = directory.path().join(format!("{name}.log"));
            let command = ServerCommand::new(name, argv, directory.path(), log);
            let server = Host::local_with_supervisor(PROGRAM).start(&command).expect("it starts");
            let started = server.wait_ready(PATIENCE, tcp_probe(ready));
            assert!(started.is_ok(), "{started:?}: {}", server.log_tail());
            servers.push(server);
        }
        let plan_file = directory.path().join("plan.toml");
        fs::write(&plan_file, plan).expect("a file");
        Self { socket, web, plan: plan_file, _servers: servers, directory }
    }

    /// Users who send 400 requests a second, if the machine can.
    pub fn users(&self) -> Users {
        let url = format!("http://{}/", self.web);
        let load = Command::new(PROGRAM)
            .args(["load", &url, "-r", "400", "-c", "8", "-d", "10m", "--progress", "none"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Users(load.expect("it starts"))
    }

    /// The directory of runs.
    pub fn runs(&self) -> PathBuf {
        self.directory.path().join("runs")
    }

    /// `showdown VERB…` with this site's directory of runs.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).arg("--runs").arg(self.runs()).stdin(Stdio::null());
        command
    }

    fn shift_command(&self, options: &[&str]) -> Command {
        let plan = self.plan.display().to_string();
        self.command(&[&["shift", &plan], options].concat())
    }

    pub fn shift(&self, options: &[&str]) -> Output {
        self.shift_command(options).output().expect("it runs")
    }

    /// A run whose first step does not end by itself, as soon as the candidate has its weight.
    pub fn start_run(&self) -> RunningShift {
        let options = ["--yes", "--dwell", "30m", "--format", "json", "--progress", "none"];
        RunningShift::start(self.shift_command(&options), || {
            self.weights().contains(&("candidate".to_owned(), "16".to_owned()))
        })
    }

    /// The names and weights in the backend.
    pub fn weights(&self) -> Vec<(String, String)> {
        weights(&self.socket)
    }

    /// Where a server of the backend listens.
    pub fn address_of(&self, server: &str) -> String {
        let rows = rows(&self.socket);
        let row = rows.iter().find(|row| row[3] == server).expect("it is in the backend");
        format!("{}:{}", row[4], row[18])
    }

    pub fn assert_as_before(&self) {
        let weights = self.weights();
        let weights: Vec<(&str, &str)> = weights.iter().map(|(name, weight)| (&**name, &**weight)).collect();
        assert_eq!(weights, [("old1", "10"), ("old2", "10")]);
    }
}

/// The names and weights in the backend `b` of a HAProxy.
pub fn weights(socket: &Path) -> Vec<(String, String)> {
    rows(socket).into_iter().map(|row| (row[3].clone(), row[7].clone())).collect()
}

/// The rows of `show servers state b`.
fn rows(socket: &Path) -> Vec<Vec<String>> {
    let mut stream = UnixStream::connect(socket).expect("the socket");
    stream.write_all(b"show servers state b\n").expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let lines = answer.lines().skip(2).filter(|line| !line.is_empty());
    lines.map(|line| line.split(' ').map(str::to_owned).collect()).collect()
}

pub fn answer(output: &Output) -> serde_json::Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}: {errors}"))
}
