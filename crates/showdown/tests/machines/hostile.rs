//! A host that lies (`hostile_agent.py`, in the place of ssh): whatever its agent says, nothing outside of the run directory changes,
//! nobody else gets a byte, and the command ends with one line.

use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{SHOWDOWN, command, script, skip};

const AGENT: &str = include_str!("hostile_agent.py");

/// A secret of the operator that no host is to see.
const SECRET: &str = "hunter2-of-the-operator";

/// It ends within 30 s on a machine that is not busy.
const LONGEST: Duration = Duration::from_mins(5);

/// An operator with a host that lies.
struct Operator {
    directory: tempfile::TempDir,
    mode: &'static str,
    /// Connections to a service of the operator's machine that no host has.
    trapped: Arc<AtomicUsize>,
    trap: String,
}

/// How a command ended.
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Operator {
    fn with(mode: &'static str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let ssh = directory.path().join("bin/ssh");
        fs::create_dir(directory.path().join("bin")).expect("a directory");
        script::write(&ssh, "#!/bin/sh\nexec python3 \"$EVIL_AGENT\" \"$@\"\n");
        fs::write(directory.path().join("agent.py"), AGENT).expect("a file");
        fs::write(directory.path().join("profile"), "# of the operator\n").expect("a file");
        let hosts = "[host.evil]\nssh = \"evil\"\naddress = \"127.0.0.1\"\n";
        fs::write(directory.path().join("hosts.toml"), hosts).expect("a file");
        fs::create_dir(directory.path().join("few-keys")).expect("a directory");
        let few_keys = include_str!("../few-keys.toml");
        fs::write(directory.path().join("few-keys/workload.toml"), few_keys).expect("a file");
        let listener = TcpListener::bind("127.0.0.9:0").expect("a port");
        let trap = listener.local_addr().expect("an address").to_string();
        let trapped = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&trapped);
        thread::spawn(move || listener.incoming().for_each(|_| _ = count.fetch_add(1, Ordering::Relaxed)));
        Self { directory, mode, trapped, trap }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn start(&self, words: &[&str]) -> Child {
        let words: Vec<String> = [SHOWDOWN].iter().chain(words).map(|word| (*word).to_owned()).collect();
        let path = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap_or_default());
        let file = |name: &str| fs::File::create(self.path(name)).expect("a file");
        command(&words)
            .current_dir(self.directory.path())
            .envs([("PATH", path.as_str()), ("EVIL_MODE", self.mode), ("EVIL_TRAP", &self.trap)])
            .envs([("EVIL_SHOWDOWN", SHOWDOWN), ("OPERATOR_SECRET", SECRET)])
            .env("EVIL_AGENT", self.path("agent.py"))
            .env("EVIL_VICTIM", self.path("profile"))
            .env("EVIL_LOG", self.path("seen"))
            .env("SHOWDOWN_LOCK", self.path("lock"))
            .stdout(Stdio::from(file("stdout")))
            .stderr(Stdio::from(file("stderr")))
            .spawn()
            .expect("showdown runs")
    }

    /// Waits until a command ends. It is interrupted once the host has been asked for the start of a server, if `interrupts`.
    fn end(&self, mut child: Child, interrupts: bool) -> Ended {
        let until = Instant::now() + LONGEST;
        let mut is_interrupted = !interrupts;
        let status = loop {
            if let Some(status) = child.try_wait().expect("a child") {
                break status;
            }
            if Instant::now() > until {
                let _ = child.kill();
                panic!("{}: it does not end: {}", self.mode, self.read("stderr"));
            }
            if !is_interrupted && self.read("seen").contains("read_start") {
                is_interrupted = true;
                thread::sleep(Duration::from_secs(1));
                let pid = Pid::from_raw(child.id().cast_signed()).expect("a process");
                kill_process(pid, Signal::INT).expect("it runs");
            }
            thread::sleep(Duration::from_millis(50));
        };
        Ended { code: status.code(), stdout: self.read("stdout"), stderr: self.read("stderr") }
    }

    fn read(&self, name: &str) -> String {
        let mut bytes = Vec::new();
        let _ = fs::File::open(self.path(name)).and_then(|mut file| file.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Compares servers on the host, with the shortest phases.
    fn compare(&self, interrupts: bool) -> Ended {
        let workload = self.path("few-keys").display().to_string();
        let words = ["plan", "compare", "redis", "memcached", "--workload", &workload, "--on", "evil"];
        let options = ["--quick", "--blocks", "3", "-c", "1", "--seed", "1", "--measure", "throughput"];
        let hosts = ["--hosts", "hosts.toml"];
        let planned = self.end(self.start(&[&words[..], &hosts, &options].concat()), false);
        assert_eq!(planned.code, Some(0), "{}", planned.stderr);
        let short = |line: &str| match line.split_once(" = ") {
            Some((key @ ("min" | "closed_loop" | "load"), _)) => format!("{key} = \"200ms\""),
            Some((key @ "max", _)) => format!("{key} = \"400ms\""),
            _ => line.to_owned(),
        };
        let text: Vec<String> = planned.stdout.lines().map(short).collect();
        fs::write(self.path("plan.toml"), text.join("\n") + "\n").expect("a file");
        let run = ["run", "plan.toml", "--yes", "--runs", "runs", "--format", "json"];
        self.end(self.start(&run), interrupts)
    }

    /// Nothing was changed, nobody was asked, and the host has not seen the secret.
    fn assert_unharmed(&self, ended: &Ended) {
        assert!(ended.code.is_some(), "{}: it ends by itself: {}", self.mode, ended.stderr);
        assert_eq!(self.read("profile"), "# of the operator\n", "{}", self.mode);
        assert_eq!(self.trapped.load(Ordering::Relaxed), 0, "{}: a service of the operator", self.mode);
        assert!(!self.read("seen").contains(SECRET), "{}", self.mode);
        let known = [
            "agent.py",
            "bin",
            "few-keys",
            "hosts.toml",
            "lock",
            "plan.toml",
            "profile",
            "runs",
            "seen",
            "seen.lock",
            "stderr",
            "stdout",
        ];
        for entry in fs::read_dir(self.directory.path()).expect("a directory").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            assert!(known.contains(&name.as_str()), "{}: {name} is new", self.mode);
        }
        let runs = fs::metadata(self.path("runs")).map_or(0, |runs| runs.nlink());
        assert!(runs <= 4, "{}: one run and its folder", self.mode);
    }

    /// What the failed trials of the only run say.
    fn reasons(&self) -> String {
        let mut reasons = String::new();
        let runs = fs::read_dir(self.path("runs")).into_iter().flatten().flatten();
        for run in runs {
            for trial in fs::read_dir(run.path().join("trials")).into_iter().flatten().flatten() {
                reasons += &fs::read_to_string(trial.path().join("trial.json")).unwrap_or_default();
            }
        }
        reasons
    }
}

/// The start of a server with more than its ports, its certificate and its password fails its trial.
fn refused_start(mode: &'static str) {
    let operator = Operator::with(mode);
    let ended = operator.compare(false);
    operator.assert_unharmed(&ended);
    let all = operator.reasons() + &ended.stderr;
    assert!(all.contains("host evil sent an answer that is not of this version ("), "{mode}: {all}");
}

#[test]
fn a_host_chooses_no_address_of_the_load() {
    refused_start("address");
}

#[test]
fn a_host_chooses_no_protocol_of_the_load() {
    refused_start("protocol");
}

#[test]
fn a_host_makes_the_client_write_to_no_file() {
    refused_start("runner");
}

#[test]
fn a_host_chooses_no_source_of_the_load() {
    refused_start("sources");
}

#[test]
fn a_host_gets_no_variable_of_the_operator() {
    refused_start("environment");
}

#[test]
fn a_host_names_no_port_of_the_system() {
    refused_start("ports");
}

#[test]
fn a_host_names_no_socket_of_the_operator() {
    refused_start("socket");
}

/// An address of this machine that hosts elsewhere could reach; none without a network. Nothing is sent.
fn address_of_a_network() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    // TEST-NET-1 (RFC 5737).
    socket.connect("192.0.2.1:9").ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|ip| !ip.is_loopback())
}

/// A server that answers every request.
fn answering(at: IpAddr) -> String {
    let listener = TcpListener::bind((at, 0)).expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let serve = |mut stream: std::net::TcpStream| {
        let mut block = [0; 4096];
        while stream.read(&mut block).is_ok_and(|count| count > 0) {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
    };
    thread::spawn(move || {
        listener.incoming().flatten().for_each(|stream| _ = thread::spawn(move || serve(stream)));
    });
    url
}

#[test]
fn a_line_without_end_ends_the_part_of_its_client() {
    // A loopback address would be another machine on each client.
    let Some(address) = address_of_a_network() else {
        return skip("this machine has no address but those of its loopback");
    };
    let operator = Operator::with("lines");
    let url = answering(address);
    let words = [
        "load",
        &url,
        "--target-is-mine",
        "--clients",
        "evil",
        "--hosts",
        "hosts.toml",
        "-c",
        "1",
        "-d",
        "1s",
        "--progress",
        "none",
    ];
    let ended = operator.end(operator.start(&words), false);
    operator.assert_unharmed(&ended);
    assert_eq!(ended.code, Some(1), "{}{}", ended.stdout, ended.stderr);
    // The line is refused, or the window that it overruns, whichever comes first.
    let ends = ["client evil: ", "host evil was lost: its answers cannot be read"];
    let names_it = ends.iter().any(|end| ended.stderr.contains(end));
    assert!(ended.stderr.lines().count() == 1 && names_it, "{}", ended.stderr);
}

#[test]
fn a_reply_of_numbers_without_end_fails_its_trial() {
    let operator = Operator::with("numbers");
    let ended = operator.compare(false);
    operator.assert_unharmed(&ended);
    let all = operator.reasons() + &ended.stderr;
    // On a busy machine the host may need longer for its reply than it may be silent.
    let is_known =
        |text: &str| text.contains("1048576 at most are allowed") || text.contains("no answer for 10 s");
    assert!(is_known(&all), "{all}");
}

#[test]
fn a_recording_without_end_fails_its_trial() {
    let operator = Operator::with("samples");
    let ended = operator.compare(false);
    operator.assert_unharmed(&ended);
    let all = operator.reasons() + &ended.stderr;
    assert!(all.contains("1152921504606846976 samples where "), "{all}");
}

#[test]
fn names_of_a_host_are_no_files() {
    let operator = Operator::with("names");
    let ended = operator.compare(false);
    operator.assert_unharmed(&ended);
    let mut folders = vec![operator.path("runs")];
    let mut names = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            names.push(path.display().to_string());
            assert!(fs::read(&path).is_ok_and(|bytes| bytes != b"owned"), "{}", path.display());
        }
    }
    assert!(names.iter().any(|name| name.ends_with("trial.json")), "trials are recorded: {names:?}");
}

#[test]
fn a_host_that_is_silent_is_lost() {
    let operator = Operator::with("silence");
    let ended = operator.compare(false);
    operator.assert_unharmed(&ended);
    let all = operator.reasons() + &ended.stderr;
    assert!(all.contains("host evil was lost: no answer for 10 s"), "{all}");
}

#[test]
fn ctrl_c_ends_the_wait_for_a_host_that_only_says_that_it_is_there() {
    let operator = Operator::with("pongs");
    let ended = operator.compare(true);
    operator.assert_unharmed(&ended);
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    let lines: Vec<&str> = ended.stderr.lines().filter(|line| !line.is_empty()).collect();
    let [workload, interrupted] = lines[..] else { panic!("{}", ended.stderr) };
    assert!(workload.starts_with("note: using ") && interrupted.contains("interrupted"), "{}", ended.stderr);
}

#[test]
fn a_text_of_a_host_is_no_line_of_the_answer() {
    let operator = Operator::with("facts");
    let words = ["hosts", "--hosts", "hosts.toml", "--for", "20ms"];
    let ended = operator.end(operator.start(&words), false);
    operator.assert_unharmed(&ended);
    assert!(ended.stdout.contains("6.1\\nAll hosts can be used."), "{}", ended.stdout);
    assert!(!ended.stdout.lines().any(|line| line == "All hosts can be used."), "{}", ended.stdout);
    assert!(!ended.stdout.contains('\u{1b}'), "{}", ended.stdout);
}
