//! `showdown shift` at a real HAProxy before real nginx servers: a good candidate reaches its last step, a bad one is rolled back, and
//! mistakes are named before anything is changed. All of it runs in a private directory, on private ports.

use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use host::process::tcp_probe;
use host::{Host, ServerCommand, ServerProcess};

const PROGRAM: &str = env!("CARGO_BIN_EXE_showdown");
const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// How long a test waits for a server on a busy machine.
const PATIENCE: Duration = Duration::from_mins(3);

/// Users that end with the test.
struct Users(Child);

impl Drop for Users {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A balancer with two old servers, and a candidate and a control that are not in its backend.
struct Site {
    socket: PathBuf,
    web: SocketAddr,
    plan: PathBuf,
    _servers: Vec<ServerProcess>,
    // Last: the directory is removed after its servers have ended.
    directory: tempfile::TempDir,
}

impl Site {
    /// A site whose candidate answers with this status.
    fn start(candidate_status: u32) -> Self {
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
    fn users(&self) -> Users {
        let url = format!("http://{}/", self.web);
        let load = Command::new(PROGRAM)
            .args(["load", &url, "-r", "400", "-c", "8", "-d", "10m", "--progress", "none"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Users(load.expect("it starts"))
    }

    fn shift(&self, options: &[&str]) -> Output {
        let runs = self.directory.path().join("runs");
        let mut command = Command::new(PROGRAM);
        command.arg("shift").arg(&self.plan).args(options).arg("--runs").arg(runs).stdin(Stdio::null());
        command.output().expect("it runs")
    }

    /// The names and weights in the backend.
    fn weights(&self) -> Vec<(String, String)> {
        let mut stream = UnixStream::connect(&self.socket).expect("the socket");
        stream.write_all(b"show servers state b\n").expect("it is sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let lines = answer.lines().skip(2).filter(|line| !line.is_empty());
        lines
            .map(|line| {
                let fields: Vec<&str> = line.split(' ').collect();
                (fields[3].to_owned(), fields[7].to_owned())
            })
            .collect()
    }

    fn assert_as_before(&self) {
        let weights = self.weights();
        let weights: Vec<(&str, &str)> = weights.iter().map(|(name, weight)| (&**name, &**weight)).collect();
        assert_eq!(weights, [("old1", "10"), ("old2", "10")]);
    }
}

fn answer(output: &Output) -> serde_json::Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}: {errors}"))
}

#[test]
fn a_good_candidate_reaches_its_last_step_and_everything_is_as_before() {
    let site = Site::start(200);
    let users = site.users();
    let output = site.shift(&["--yes", "--format", "json"]);
    drop(users);
    let answer = answer(&output);
    assert_eq!(answer["status"], "no_worse", "{answer}");
    assert_eq!(output.status.code(), Some(0));
    let steps = answer["steps"].as_array().expect("steps");
    assert!(steps.iter().any(|step| step["phase"] == "step 2, 25.0 % of the traffic"), "{answer}");
    site.assert_as_before();

    let folder = PathBuf::from(answer["directory"].as_str().expect("a folder"));
    let page = fs::read_to_string(folder.join("report.html")).expect("the page");
    assert!(page.contains("no worse than the control") && page.contains("<polyline class=\"control\""));
    assert_keys_are_documented(&folder);

    let status = site.shift(&["--status"]);
    assert_eq!(String::from_utf8_lossy(&status.stdout), "no run at this balancer\n");
    let abort = site.shift(&["--abort"]);
    assert_eq!((abort.status.code(), &*abort.stdout), (Some(0), &b"no run at this balancer\n"[..]));
}

/// Every key of the files of a run is in docs/LIVE-TRAFFIC.md.
fn assert_keys_are_documented(folder: &std::path::Path) {
    fn keys(value: &serde_json::Value, found: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(fields) => {
                for (key, value) in fields {
                    found.push(key.clone());
                    keys(value, found);
                }
            }
            serde_json::Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
            _ => {}
        }
    }
    let page = include_str!("../../../docs/LIVE-TRAFFIC.md");
    let windows = fs::read_to_string(folder.join("windows.jsonl")).expect("the seconds");
    let answer = fs::read_to_string(folder.join("answer.json")).expect("the answer");
    let mut found = Vec::new();
    for line in windows.lines().take(5) {
        keys(&serde_json::from_str(line).expect("an object a line"), &mut found);
    }
    keys(&serde_json::from_str(&answer).expect("an object"), &mut found);
    assert!(found.len() > 50, "{found:?}");
    for key in found {
        assert!(page.contains(&format!("`{key}`")), "docs/LIVE-TRAFFIC.md lacks {key}");
    }
}

#[test]
fn a_candidate_that_answers_5xx_is_rolled_back() {
    let site = Site::start(503);
    let users = site.users();
    let output = site.shift(&["--yes", "--format", "json"]);
    drop(users);
    let answer = answer(&output);
    assert_eq!(answer["status"], "rolled_back", "{answer}");
    // By the evidence of the counts or by the hard limit: whichever is first.
    let sentence = answer["answer"].as_str().expect("a sentence");
    assert!(sentence.starts_with("rolled back at 10.0 % after") && sentence.contains("failed"), "{answer}");
    assert_eq!(answer["steps"][0]["phase"], "step 1, 10.0 % of the traffic", "{answer}");
    assert_eq!(output.status.code(), Some(1));
    site.assert_as_before();
}

#[test]
fn mistakes_are_named_before_anything_is_changed() {
    let site = Site::start(200);
    let plan = fs::read_to_string(&site.plan).expect("the plan");
    for (from, to, options, text) in [
        (
            "margin = 4",
            "margin = 4",
            &[][..],
            "live traffic is at stake: read the lines above, then pass --yes",
        ),
        ("margin = 4", "margin = 0", &["--yes"], "[rules] margin: a ratio above 1"),
        ("backend = \"b\"", "backend = \"c\"", &["--yes"], "backend"),
        ("\"old2\"]", "\"old3\"]", &["--yes"], "old3 is not in the backend"),
        (
            "margin = 4",
            "margin = 4",
            &["--yes", "--max-share", "1%"],
            "[rules] max_share: no step has so small a share",
        ),
    ] {
        fs::write(&site.plan, plan.replacen(from, to, 1)).expect("a file");
        let output = site.shift(options);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}: {errors}");
        assert!(errors.contains(text), "{errors} lacks {text}");
        site.assert_as_before();
    }
}
