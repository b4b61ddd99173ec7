//! A directory with a server of its own, and calls of its API.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use queue::Entry;
use queue::api::ServerFile;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// How long a test waits for something on a busy machine.
pub const PATIENCE: Duration = Duration::from_mins(4);

/// The program that measures: it is built beside the second one.
pub fn showdown() -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_showdown-harness")).with_file_name("showdown");
    assert!(path.is_file(), "{} is missing: cargo build -p showdown", path.display());
    path
}

/// The directory of one test, and its server.
pub struct Home {
    pub dir: tempfile::TempDir,
    server: Option<Child>,
    pub link: String,
    /// Variables of each program.
    pub environment: Vec<(&'static str, String)>,
}

impl Home {
    /// A directory without a server.
    pub fn empty() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        Self { dir, server: None, link: String::new(), environment: Vec::new() }
    }

    /// A server with its controller.
    pub fn start() -> Self {
        let mut home = Self::empty();
        home.start_server(&[]);
        home
    }

    /// A server without a controller.
    pub fn without_controller() -> Self {
        let mut home = Self::empty();
        home.start_server(&["--no-controller"]);
        home
    }

    /// Starts a server; its link, or its address where there is TLS, is kept.
    pub fn start_server(&mut self, options: &[&str]) {
        self.link.clear();
        let mut command = self.at_home(&showdown());
        let log = fs::File::options().create(true).append(true).open(self.log()).expect("a log");
        let command = command.args(["serve", "--listen", "127.0.0.1:0"]).args(options);
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().expect("it starts");
        let out = BufReader::new(child.stdout.take().expect("a pipe"));
        for line in out.lines().map_while(Result::ok) {
            if let Some((_, url)) = line.split_once("harness: https") {
                self.link = format!("https{url}");
                break;
            }
            if line.contains("/link?secret=") {
                line.trim().clone_into(&mut self.link);
                break;
            }
        }
        assert!(!self.link.is_empty(), "{}", fs::read_to_string(self.log()).unwrap_or_default());
        self.server = Some(child);
    }

    /// What the server has said.
    pub fn log(&self) -> PathBuf {
        self.dir.path().join("server.log")
    }

    /// A command in this directory, with a lock of its own.
    pub fn at_home(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let tmp = self.dir.path().join("tmp");
        fs::create_dir_all(&tmp).expect("a directory");
        command
            .current_dir(self.dir.path())
            .env("SHOWDOWN_LOCK", self.dir.path().join("lock"))
            .env("TMPDIR", tmp);
        command.env_remove("DISPLAY").env("USER", "alice").stdin(Stdio::null());
        command.envs(self.environment.iter().cloned());
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.at_home(&showdown()).args(args).output().expect("showdown runs")
    }

    pub fn server(&self) -> ServerFile {
        self.file("server.json")
    }

    /// The server as its controller sees it.
    pub fn for_controllers(&self) -> ServerFile {
        self.file("controller.json")
    }

    fn file(&self, name: &str) -> ServerFile {
        let text = fs::read(self.dir.path().join("runs/.harness").join(name)).expect("a file");
        serde_json::from_slice(&text).expect("JSON")
    }

    pub fn runs(&self) -> PathBuf {
        self.dir.path().join("runs")
    }

    /// Kills the server, as the kernel does without memory.
    pub fn kill_server(&mut self) {
        let mut server = self.server.take().expect("it runs");
        server.kill().expect("it is there");
        server.wait().expect("it has ended");
    }

    /// Ends the server as Ctrl-C does.
    pub fn stop_server(&mut self) {
        let mut server = self.server.take().expect("it runs");
        kill_process(Pid::from_child(&server), Signal::TERM).expect("it is there");
        server.wait().expect("it has ended");
    }

    /// A plan of known servers with short phases: `blocks` blocks.
    pub fn plan(&self, blocks: u32) -> String {
        let blocks = blocks.to_string();
        let plan = self.run(&[
            "plan",
            "compare",
            "nginx",
            "apache",
            "--quick",
            "--measure",
            "throughput",
            "--seed",
            "7",
            "--blocks",
            &blocks,
        ]);
        assert!(plan.status.success(), "{plan:?}");
        let text = String::from_utf8(plan.stdout).expect("text");
        let mut lines = Vec::new();
        for line in text.lines() {
            lines.push(match line.split_once(" = ") {
                Some(("spare_blocks", _)) => "spare_blocks = 0".to_owned(),
                Some((name @ ("min" | "closed_loop"), _)) => format!("{name} = \"200ms\""),
                Some((name @ ("load" | "max"), value)) if value.starts_with('"') => {
                    format!("{name} = \"200ms\"")
                }
                _ => line.to_owned(),
            });
        }
        let file = self.dir.path().join("plan.toml");
        fs::write(&file, lines.join("\n") + "\n").expect("a plan");
        file.display().to_string()
    }

    /// Submits a plan; the number of its entry.
    pub fn submit(&self, plan: &str) -> u64 {
        let submitted = self.run(&["submit", plan]);
        assert!(submitted.status.success(), "{submitted:?}");
        String::from_utf8_lossy(&submitted.stdout).trim().parse().expect("a number")
    }

    /// Calls the API with the secret of the person.
    pub fn call(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let server = self.server();
        call(&server, method, path, body)
    }

    pub fn entry(&self, id: u64) -> Entry {
        serde_json::from_value(self.call("GET", &format!("entries/{id}"), &Value::Null).1).expect("an entry")
    }

    /// Waits until an entry is in a state.
    pub fn until(&self, id: u64, what: &str, is_so: impl Fn(&Entry) -> bool) -> Entry {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let entry = self.entry(id);
            if is_so(&entry) {
                return entry;
            }
            assert!(Instant::now() < deadline, "{what}: {entry:?}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Processes with this word in their command line that work in this directory.
    pub fn processes(&self, word: &str) -> Vec<Pid> {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").expect("proc").flatten() {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            let cwd = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
            let pid = entry.file_name().to_string_lossy().parse().ok().and_then(Pid::from_raw);
            if let Some(pid) = pid
                && line.contains(word)
                && cwd.starts_with(self.dir.path())
            {
                found.push(pid);
            }
        }
        found
    }

    /// Kills the processes with this word.
    pub fn kill(&self, word: &str) {
        let found = self.processes(word);
        assert!(!found.is_empty(), "no process has {word}");
        for pid in found {
            kill_process(pid, Signal::KILL).expect("it is there");
        }
    }

    /// Waits until no process of this directory is left.
    pub fn until_nothing_runs(&self) {
        let deadline = Instant::now() + PATIENCE;
        while !self.processes("").is_empty() {
            assert!(Instant::now() < deadline, "{:?}", self.processes(""));
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Home {
    /// Ends the server as Ctrl-C does, which ends its controller.
    fn drop(&mut self) {
        if self.server.is_some() {
            self.stop_server();
        }
        for pid in self.processes("showdown") {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Calls an API.
pub fn call(server: &ServerFile, method: &str, path: &str, body: &Value) -> (u16, Value) {
    try_call(server, method, path, body).expect("an answer")
}

/// The same, of a server that may have been killed: none without an answer.
pub fn try_call(server: &ServerFile, method: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
    let config = ureq::Agent::config_builder().http_status_as_error(false).allow_non_standard_methods(true);
    let agent: ureq::Agent = config.build().into();
    let request = ureq::http::Request::builder()
        .method(method)
        .uri(format!("{}/api/v1/{path}", server.url))
        .header("authorization", format!("Bearer {}", server.token))
        .header("content-type", "application/json");
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let mut answer = agent.run(request.body(text).expect("a request")).ok()?;
    let text = answer.body_mut().read_to_string().ok()?;
    Some((answer.status().as_u16(), serde_json::from_str(&text).unwrap_or(Value::String(text))))
}
