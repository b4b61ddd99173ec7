//! A real HAProxy before real nginx servers, from a private directory and on private ports. All of it ends with the test, also if the
//! test is killed.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use host::process::tcp_probe;
use host::{Host, ServerCommand};
use rustix::process::{Pid, Signal, kill_process};
use traffic::balancer::Haproxy;
use traffic::balancer::interface::{Balancer, ServerReading};
use traffic::lease::Probe;
use traffic::live::{Joining, LiveBalancer, LiveError, LiveSettings};
use traffic::name::Name;
use traffic::observation::{Action, ServerState, Window};

/// The program of `src/bin/traffic-lab.rs`.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_traffic-lab");

/// How long a test waits for something on a busy machine.
const PATIENCE: Duration = Duration::from_mins(3);

/// After this time, HAProxy is asked for its reload again.
const TO_RELOAD: Duration = Duration::from_secs(20);

const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Waits until the condition is true. The time limit is much longer than needed, so that a slow machine passes.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "timeout: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.cast_signed()).expect("a process");
    let _ = kill_process(pid, signal);
}

pub fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

/// The servers of a lab, each an nginx that answers with its name.
const SERVERS: [&str; 4] = ["old1", "old2", "cand", "control"];

pub struct Lab {
    pub socket: PathBuf,
    pub log: SocketAddr,
    pub web: SocketAddr,
    addresses: BTreeMap<&'static str, SocketAddr>,
    servers: BTreeMap<String, host::ServerProcess>,
    // Last: the directory is removed after its servers have ended.
    directory: tempfile::TempDir,
}

impl Lab {
    pub fn start() -> Self {
        Self::with("balance roundrobin", "")
    }

    /// A lab whose backend has these lines, and each of whose old servers these words.
    pub fn with(backend: &str, server: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let host = Host::local_with_supervisor(PROGRAM);
        let ports = host.free_ports(LOCALHOST, SERVERS.len() + 2).expect("free ports");
        let address = |at: usize| SocketAddr::new(LOCALHOST, ports[at]);
        let addresses = SERVERS.iter().enumerate().map(|(at, name)| (*name, address(at))).collect();
        let mut lab = Self {
            socket: directory.path().join("admin.sock"),
            web: address(SERVERS.len()),
            log: address(SERVERS.len() + 1),
            addresses,
            servers: BTreeMap::new(),
            directory,
        };
        for server in SERVERS {
            lab.start_nginx(server);
        }
        lab.start_haproxy(backend, server);
        lab
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn address(&self, server: &str) -> SocketAddr {
        self.addresses[server]
    }

    fn run(&mut self, name: &str, argv: &[&str], ready: SocketAddr) {
        let directory = self.path();
        let log = directory.join(format!("{name}.log"));
        let command = ServerCommand::new(name, argv.iter().copied(), directory, log);
        let server = Host::local_with_supervisor(PROGRAM).start(&command).expect("it starts");
        let started = server.wait_ready(PATIENCE, tcp_probe(ready));
        assert!(started.is_ok(), "{started:?}: {}", server.log_tail());
        self.servers.insert(name.to_owned(), server);
    }

    pub fn start_nginx(&mut self, server: &str) {
        let (directory, address) = (self.path().display().to_string(), self.address(server));
        let text = format!(
            "daemon off; master_process off; pid {directory}/{server}.pid; error_log stderr;\n\
             events {{ worker_connections 200; }}\n\
             http {{ access_log off; client_body_temp_path {directory}/body; proxy_temp_path {directory}/p;\n\
             fastcgi_temp_path {directory}/f; uwsgi_temp_path {directory}/u; scgi_temp_path {directory}/s;\n\
             server {{ listen {address}; location / {{ return 200 {server}; }}\n\
             location /bad {{ return 503 bad; }}\n\
             # It closes the connection and says nothing.\n\
             location /silent {{ return 444; }} }} }}\n"
        );
        let file = self.path().join(format!("{server}.conf"));
        fs::write(&file, text).expect("a file");
        self.run(server, &["nginx", "-e", "stderr", "-c", &file.display().to_string()], address);
    }

    pub fn stop_server(&mut self, server: &str) {
        self.servers.remove(server).expect("it runs").stop().expect("it stops");
    }

    fn start_haproxy(&mut self, backend: &str, words: &str) {
        let mut text = format!(
            "global\n stats socket {} mode 600 level admin\n stats socket {}/operator.sock mode 600 level operator\n\
             \x20log {} len 4096 format raw local0\n\
             defaults\n mode http\n timeout connect 2s\n timeout client 30s\n timeout server 10s\n option redispatch\n retries 2\n\
             \x20log global\n log-format \"%b/%s %ST %ts %Tw %Tc %Tr %Ta %rc\"\n\
             frontend web\n bind {}\n default_backend b\n\
             backend b\n",
            self.socket.display(),
            self.path().display(),
            self.log,
            self.web
        );
        for line in backend.lines() {
            text.extend([" ", line, "\n"]);
        }
        for server in ["old1", "old2"] {
            let line = format!(" server {server} {} weight 64 {words}\n", self.address(server));
            text.push_str(&line);
        }
        let file = self.path().join("haproxy.cfg");
        fs::write(&file, text).expect("a file");
        let web = self.web;
        self.run("haproxy", &["haproxy", "-W", "-f", &file.display().to_string()], web);
        let operator = self.path().join("operator.sock");
        eventually("HAProxy has its sockets", || self.socket.exists() && operator.exists());
    }

    /// The process that answers at the admin socket.
    pub fn worker(&self) -> u32 {
        self.balancer().info().map_or(0, |info| info.pid)
    }

    pub fn reload(&self) {
        let before = self.worker();
        let mut sent: Option<Instant> = None;
        eventually("HAProxy is reloaded", || {
            // A signal that meets a master which is not ready for it is lost: a test has waited three minutes, once.
            if sent.is_none_or(|sent| sent.elapsed() > TO_RELOAD) {
                signal(self.servers["haproxy"].pid(), Signal::USR2);
                sent = Some(Instant::now());
            }
            ![0, before].contains(&self.worker())
        });
    }

    pub fn stop_haproxy(&mut self) {
        self.stop_server("haproxy");
    }

    pub fn balancer(&self) -> Haproxy {
        Haproxy::new(&self.socket, &name("b"))
    }

    pub fn ask(&self, command: &str) -> String {
        self.balancer().socket().ask(command).expect("HAProxy answers")
    }

    pub fn reading(&self, server: &str) -> Option<ServerReading> {
        let servers = self.balancer().read().expect("HAProxy answers");
        servers.into_iter().find(|reading| reading.name == server)
    }

    /// Whether a server gets nothing, whatever happens to its health check: it is gone, or out of service with weight 0.
    pub fn is_out(&self, server: &str) -> bool {
        self.reading(server)
            .is_none_or(|reading| reading.weight == 0 && reading.state == ServerState::Maintenance)
    }

    /// Sends requests one after the other, each on a connection of its own, and counts the answers by their body.
    pub fn send(&self, requests: usize, path: &str) -> BTreeMap<String, usize> {
        let mut answers = BTreeMap::new();
        for _ in 0..requests {
            *answers.entry(self.get(path)).or_default() += 1;
        }
        answers
    }

    /// Sends these requests on one connection, and returns the answer to the last one: empty if there was none.
    pub fn send_on_one_connection(&self, paths: &[&str]) -> String {
        let mut stream = TcpStream::connect(self.web).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
        let mut answer = [0; 1000];
        let mut length = 0;
        for path in paths {
            stream
                .write_all(format!("GET {path} HTTP/1.1\r\nHost: lab\r\n\r\n").as_bytes())
                .expect("it is sent");
            // Each answer is small and arrives as a whole.
            length = stream.read(&mut answer).unwrap_or_default();
        }
        String::from_utf8_lossy(&answer[..length]).into_owned()
    }

    fn get(&self, path: &str) -> String {
        let Ok(mut stream) = TcpStream::connect(self.web) else { return "no connection".to_owned() };
        stream.set_read_timeout(Some(PATIENCE)).expect("a time limit");
        let request = format!("GET {path} HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it is sent");
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer.rsplit("\r\n").next().unwrap_or_default().to_owned()
    }

    pub fn settings(&self) -> LiveSettings {
        let directory = self.path().join("run");
        fs::create_dir_all(&directory).expect("a directory");
        LiveSettings {
            socket: self.socket.clone(),
            backend: name("b"),
            log: self.log.to_string().parse().expect("a loopback address"),
            directory,
            mail: None,
            configuration: None,
            program: PROGRAM.into(),
            // Longer than a busy machine stands still: what tests the loss of a lease has a run of its own.
            lease_valid: Duration::from_mins(1),
        }
    }

    pub fn joining(&self, server: &str) -> Joining {
        Joining {
            name: name(server),
            address: self.address(server),
            probe: Probe::Connect,
            sends_proxy_header: false,
            most_connections: None,
        }
    }

    /// A run with candidate and control at weight 0.
    pub fn open(&self) -> Result<LiveBalancer, LiveError> {
        let mut live = LiveBalancer::open(self.settings())?;
        live.join(&[self.joining("cand"), self.joining("control")])?;
        eventually("the beacons answer", || {
            ["cand", "control"]
                .iter()
                .all(|server| self.reading(server).is_some_and(|reading| reading.state == ServerState::Up))
        });
        Ok(live)
    }

    /// Starts a run as a process of its own, and waits until its servers have their weight.
    pub fn start_run(&self) -> Run {
        let directory = self.settings().directory;
        let mut child = Command::new(PROGRAM)
            .args([&self.socket, Path::new("b"), &directory])
            .args([self.address("cand").to_string(), self.address("control").to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let input = child.stdin.take();
        let mut run = Run { child, input, lines, lease: 0, directory };
        let first = run.lines.recv_timeout(PATIENCE).expect("it says something");
        let lease = first.strip_prefix("lease ").unwrap_or_else(|| panic!("{first}"));
        run.lease = lease.parse().expect("a process");
        run
    }
}

/// A run as a process of its own.
pub struct Run {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    pub lease: u32,
    pub directory: PathBuf,
}

impl Run {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it in order. Returns what it has said.
    pub fn end(&mut self) -> Vec<String> {
        self.input = None;
        let _ = self.child.wait();
        self.lines.try_iter().collect()
    }

    pub fn next_line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("it says something")
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        for pid in [self.lease, self.pid()] {
            if host::process::ProcessId::of(pid).is_some() {
                signal(pid, Signal::CONT);
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn set(live: &mut LiveBalancer, server: &str, weight: u32) -> Result<(), LiveError> {
    live.apply(&Action::SetWeight { server: name(server), weight })
}

/// Observes until a window is as wanted.
pub fn observe_until(
    live: &mut LiveBalancer,
    what: &str,
    mut is_wanted: impl FnMut(&Window) -> bool,
) -> Window {
    let mut found = None;
    eventually(what, || {
        let window = live.observe();
        let is_found = is_wanted(&window);
        found = Some(window);
        is_found
    });
    found.expect("the last window")
}
