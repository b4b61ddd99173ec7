//! Secrets in a workload, from end to end: none is in the run directory, in an answer, or in a command line that
//! Showdown starts.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::home::{TestHome, error_line, json, only_run, text, trials};

/// What every secret of this test contains.
const CANARY: &str = "canary-4711";

/// Prints the headers and the environment that it gets.
const SERVER: &str = r#"
import http.server, os, sys

print("configuration", open(sys.argv[2]).read(), "upstream", os.environ["UPSTREAM"], flush=True)
seen = False

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        global seen
        if not seen and "Authorization" in self.headers:
            seen = True
            print("request", self.headers, flush=True)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"hi")
    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"#;

const CONFIGURATION: &str = r#"
proxy_set_header Authorization "Basic canary-4711-a";
{"headers": {"X-Api-Key": ["canary-4711-b"]}}
upstream http://me:canary-4711-c@upstream.example:80/ {{ upstream }}
"#;

const WORKLOAD: &str = r#"
title = "Secrets"
[server.vault]
config = ["vault.conf"]
start = ["python3", "server.py", "{{ port }}", "{{ dir }}/vault.conf"]
environment = { UPSTREAM = "{{ upstream }}", API_TOKEN = "canary-4711-d" }
ready = { http = "/", within = "10s" }
version = ["python3", "--version"]
[server.vault.knobs.upstream]
default = "http://me:canary-4711-e@upstream.example/"
pattern = '.*'
[server.vault.knobs.size]
default = 1
range = "1..9"
[load]
protocol = "http"
slo = "p99<1s"
connections = 2
[[load.op]]
path = "/{{ uniform(1, 9) }}"
[load.op.headers]
Authorization = "Bearer canary-4711-f"
Proxy-Authorization = "Basic canary-4711-g"
Cookie = "session=canary-4711-h; other=\"canary-4711-i\""
X-Api-Key = "canary-4711-j"
[metrics]
operations = "requests"
"#;

fn home() -> TestHome {
    let home = TestHome::new();
    let folder = home.path("workloads/vault");
    fs::create_dir_all(&folder).expect("a folder");
    let configuration = format!("# {{{{ size }}}}\n{CONFIGURATION}");
    for (name, text) in
        [("server.py", SERVER), ("vault.conf", configuration.as_str()), ("workload.toml", WORKLOAD)]
    {
        fs::write(folder.join(name), text).expect("a file");
    }
    home
}

fn has_canary(bytes: &[u8]) -> bool {
    bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes())
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("a directory").flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// Command lines with a secret, of processes that are not this test.
fn command_lines() -> BTreeSet<String> {
    let processes = fs::read_dir("/proc").expect("proc").flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.filter(|line| has_canary(line)).map(|line| text(&line)).collect()
}

#[test]
fn a_run_and_its_reports_contain_no_secret_of_the_workload() {
    let home = home();
    let plan = home.small_plan(&["vault:size=1", "vault:size=2"]);
    let mut run = home.showdown(&["run", &plan]);
    let mut child = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("showdown runs");
    let mut exposed = BTreeSet::new();
    while child.try_wait().expect("a child of this process").is_none() {
        exposed.extend(command_lines());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(exposed.is_empty(), "{exposed:?}");
    let output = child.wait_with_output().expect("it has ended");
    assert!(!has_canary(&output.stdout) && !has_canary(&output.stderr), "{}", text(&output.stdout));

    let run = only_run(&home);
    for file in files_below(&run) {
        assert!(!has_canary(&fs::read(&file).expect("a file")), "{}", file.display());
    }
    // What is masked is there.
    let trial = &trials(&run)[0];
    let log = fs::read_to_string(trial.join("server.log")).expect("a log");
    assert!(log.contains("Authorization: ***") && log.contains("http://me:***@upstream.example/"), "{log}");
    let configuration = fs::read_to_string(trial.join("config/vault.conf")).expect("a configuration");
    assert!(configuration.contains("Authorization \"***\";") && configuration.contains("[\"***\"]"));
    let facts = json(&run.join("facts.json"));
    assert_eq!(facts["variants"][0]["knobs"]["upstream"], "http://me:***@upstream.example/", "{facts}");

    let id = run.file_name().expect("a name").to_string_lossy().into_owned();
    for verb in [&["show", &id][..], &["list"], &["report", &id, "--format", "json"], &["workloads"]] {
        let output = home.run(verb);
        assert!(output.status.success(), "{verb:?}: {}", text(&output.stderr));
        assert!(!has_canary(&output.stdout) && !has_canary(&output.stderr), "{verb:?}");
    }
}

#[test]
fn a_password_in_a_variant_is_refused_because_the_plan_would_record_it() {
    let home = home();
    let output =
        home.run(&["compare", "vault:upstream=http://me:hunter2@h/", "vault", "--quick", "--blocks", "3"]);
    assert_eq!(output.status.code(), Some(2));
    let line = error_line(&output);
    assert!(line.contains("knob upstream") && !line.contains("hunter2"), "{line}");
}
