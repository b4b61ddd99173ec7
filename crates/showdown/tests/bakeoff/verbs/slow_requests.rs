//! `showdown explain --slow-request` with a server of which some requests are slow for a known reason.

use std::fs;

use serde_json::Value;

use crate::home::{SHORT, TestHome, only_run, text};

/// Each 25th request of a connection sleeps. No other delay of a busy machine is as long.
const SLEEPER: &str = r#"
import http.server, sys, time

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    served = 0

    def do_GET(self):
        self.served += 1
        if self.served % 25 == 0:
            time.sleep(0.4)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"hi")

    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"#;

const WORKLOAD: &str = r#"
title = "Sleeper"

[server.sleeper]
start = ["python3", "{{ here }}/server.py", "{{ port }}"]
ready = { http = "/", within = "20s" }

[load]
protocol = "http"
slo = "p99<1s"
connections = 4

[[load.op]]
name = "get"
path = "/"
expect = { status = 200 }
"#;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The server is explained once more where records were lost, because every CPU was busy, and did not show the step.
const ATTEMPTS: usize = 4;

/// The server is explained: where the run is, and what was found.
fn explained() -> (TestHome, Value) {
    let home = TestHome::new();
    let folder = home.path("folder");
    fs::create_dir(&folder).expect("a directory");
    fs::write(folder.join("workload.toml"), WORKLOAD).expect("a workload");
    fs::write(folder.join("server.py"), SLEEPER).expect("a server");
    let folder = folder.display().to_string();
    let plan = home.plan(&["explain", "sleeper", "-w", &folder, "--slow-request"], SHORT);
    // Long enough for some sleeps from begin to end.
    let longer = fs::read_to_string(&plan)
        .expect("a plan")
        .replace("profiled_slice = \"500ms\"", "profiled_slice = \"2s\"")
        // All connections can be asleep for 400 ms: a shorter slice has no operation then.
        .replace("slice = \"250ms\"", "slice = \"1s\"");
    fs::write(&plan, longer).expect("the plan is written");
    let output = home.run(&["run", &plan, "--format", "json", "--progress", "none"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let found = serde_json::from_slice(&output.stdout).expect("JSON");
    (home, found)
}

/// The longest step of the slow request, if there is one.
fn longest_part(found: &Value) -> Option<&str> {
    let steps = found["servers"][0]["slow_requests"]["requests"][0]["steps"].as_array()?;
    let longest = steps.iter().max_by(|a, b| number(&a["us"]).total_cmp(&number(&b["us"])))?;
    longest["part"].as_str()
}

fn has_lost_records(found: &Value) -> bool {
    found["servers"][0]["slow_requests"]["level"].as_str().is_some_and(|level| level.contains("no room for"))
}

#[test]
fn a_planted_sleep_is_a_step_of_a_slow_request() {
    let (mut home, mut found) = explained();
    for _ in 1..ATTEMPTS {
        if longest_part(&found) == Some("blocked: sleep") || !has_lost_records(&found) {
            break;
        }
        (home, found) = explained();
    }
    let server = &found["servers"][0];
    let slow = &server["slow_requests"];
    if slow.is_null() {
        // This user may not see switches, which is said.
        let unknown = server["unknown"].as_array().expect("what is not known");
        assert!(unknown.iter().any(|unknown| unknown["what"] == "what makes requests slow"), "{unknown:?}");
        return;
    }
    for request in slow["requests"].as_array().expect("requests") {
        let steps = request["steps"].as_array().expect("steps");
        let sum: f64 = steps.iter().map(|step| number(&step["us"])).sum();
        assert!((sum - number(&request["response_us"])).abs() < 1.0, "{request}");
    }
    let request = &slow["requests"][0];
    assert_eq!((&request["is_slow"], &request["operation"]), (&true.into(), &"get".into()));
    assert_eq!(longest_part(&found), Some("blocked: sleep"), "{slow:#}");
    let run = only_run(&home);
    let page = fs::read_to_string(run.join("report.html")).expect("a report");
    assert!(page.contains("a slow operation takes sleeper"), "the page has the sentence");
    let shown = text(&home.run(&["show", "latest"]).stdout);
    assert!(shown.contains("step by step"), "{shown}");
    home.assert_nothing_runs();
}
