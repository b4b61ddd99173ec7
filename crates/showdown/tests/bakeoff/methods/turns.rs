//! Servers that are up together and loaded in turns.

use std::fs;

use serde_json::Value;

use crate::home::{FEW_KEYS, SHORT, TestHome, json, only_run, text, trials};

fn records(home: &TestHome) -> Vec<Value> {
    trials(&only_run(home)).iter().map(|trial| json(&trial.join("trial.json"))).collect()
}

/// Two of a server that starts at once.
const VARIANTS: [&str; 2] = ["memcached", "memcached:threads=2"];

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

#[test]
fn the_servers_of_a_block_are_up_together_and_each_trial_has_its_own_record() {
    let home = TestHome::with_few_keys();
    let output = home.run(&["run", &home.small_plan(&[&VARIANTS[..], &["--workload", FEW_KEYS]].concat())]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    home.assert_nothing_runs();
    let records = records(&home);
    assert_eq!(records.len(), 6);
    for pair in records.chunks(2) {
        let [first, second] = pair else { panic!("two trials in each block") };
        assert_eq!(first["block"], second["block"]);
        if pair.iter().any(|record| record["turns"]["one_at_a_time"].is_object()) {
            // Another program kept this machine so busy that a server was not idle.
            continue;
        }
        let end = number(&first["started_unix_ms"]) + 1e3 * number(&first["duration_s"]);
        assert!(number(&second["started_unix_ms"]) < end, "both servers were up");
        for record in pair {
            let turns = &record["turns"];
            assert_eq!(turns["in_turns"]["trials"], serde_json::json!([first["number"], second["number"]]));
            let measured = record["phases"].as_array().expect("phases").last().expect("a phase");
            assert_eq!(measured["kind"], "measure");
            assert!(number(&measured["slices"]["count"]) >= 2.0, "{measured}");
            assert!(number(&measured["slices"]["span_s"]) > number(&measured["length_s"]), "{measured}");
            let counts = &record["counts"][0];
            assert_eq!(counts["client"], counts["server"], "each server counts its own operations");
            assert_eq!(record["server"]["processes"], 1, "and has its own telemetry");
            let cpu = &record["cpu_time"];
            assert!(number(&cpu["user_us"]) + number(&cpu["system_us"]) > 0.0, "and its own CPU time: {cpu}");
            assert_eq!(cpu["rate_per_s"], measured["throughput_per_s"]);
            assert!(number(&cpu["operations"]) >= number(&measured["requests"]), "{cpu}");
        }
    }
    // What limited each of them is suspected from the loops in which it alone was loaded.
    let explanation = json(&only_run(&home).join("explanation.json"));
    assert_eq!(explanation["basis"], "trials");
    for (server, name) in explanation["servers"].as_array().expect("servers").iter().zip(VARIANTS) {
        assert_eq!(server["variant"], name);
        let sentence = server["sentence"].as_str().expect("a sentence");
        assert!(sentence.contains(name) && text(&output.stdout).contains(sentence), "{sentence}");
        assert!(number(&server["held"]["throughput_per_s"]) > 0.0, "{server}");
    }
}

#[test]
fn a_capacity_is_searched_in_rounds() {
    let home = TestHome::new();
    let output = home.run(&["run", &home.small_plan_of(&["nginx", "lighttpd"], "capacity")]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    home.assert_nothing_runs();
    for record in records(&home) {
        let phases = record["phases"].as_array().expect("phases");
        let searched = phases.iter().filter(|phase| phase["kind"] != "closed_loop");
        let slices: f64 = searched.map(|phase| number(&phase["slices"]["count"])).sum();
        // A level has a slice at least.
        assert!(slices >= 3.0, "{record}");
        let ticks = record["timeline"].as_array().expect("a time line");
        assert!(ticks.iter().map(|tick| number(&tick["t_s"])).is_sorted(), "{ticks:?}");
        assert!(
            phases.iter().all(|phase| phase["kind"] == "closed_loop" || !phase["offered_per_s"].is_null())
        );
    }
}

/// A server that answers, and that also works when nobody asks for anything.
const RESTLESS: &str = r#"
import http.server, sys, threading, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200); self.send_header("Content-Length", "2"); self.end_headers(); self.wfile.write(b"hi")
    def log_message(self, *args): pass
def restless():
    while True:
        until = time.monotonic() + 0.02
        while time.monotonic() < until: pass
        time.sleep(0.02)
threading.Thread(target=restless, daemon=True).start()
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"#;

const WORKLOAD: &str = r#"
title = "Restless"

[server.restless]
start = ["python3", "{{ here }}/server.py", "{{ port }}"]
ready = { http = "/", within = "20s" }

[load]
protocol = "http"
slo = "p99<50ms"
connections = 2

[[load.op]]
name = "get"
path = "/"
expect = { status = 200 }
"#;

/// Compares two of a server, which is this program of a workload of its own, and returns why its trials ran one at a time.
fn whys_of_trials_one_at_a_time(
    home: &TestHome,
    workload: &str,
    program: &str,
    variants: [&str; 2],
) -> Vec<String> {
    let folder = home.path("service");
    fs::create_dir(&folder).expect("a directory");
    fs::write(folder.join("workload.toml"), workload).expect("a workload");
    fs::write(folder.join("server.py"), program).expect("a server");
    let folder = folder.display().to_string();
    let [a, b] = variants;
    let compare = ["compare", a, b, "-w", &folder, "--measure", "throughput", "--blocks", "3"];
    let output = home.run(&["run", &home.plan(&compare, SHORT)]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    home.assert_nothing_runs();
    let why = |record: Value| {
        assert!(number(&record["measured"]["value"]) > 0.0, "{record}");
        record["turns"]["one_at_a_time"]["why"].as_str().unwrap_or_else(|| panic!("{record}")).to_owned()
    };
    records(home).into_iter().map(why).collect()
}

#[test]
fn servers_that_work_while_they_are_not_loaded_run_one_at_a_time_and_the_run_says_why() {
    for why in whys_of_trials_one_at_a_time(&TestHome::new(), WORKLOAD, RESTLESS, ["restless", "restless"]) {
        assert!(why.contains("of a core while it was not loaded"), "{why}");
    }
}

/// A service on one port, its metrics on another that is always the same.
const WITH_METRICS: &str = r#"
import http.server, sys, threading
served = 0
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65536
    def reply(self, body):
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def do_GET(self):
        global served
        served += 1
        self.reply(b"hi")
    def log_message(self, *args): pass
class Metrics(Handler):
    def do_GET(self): self.reply(b"requests_total %d\n" % served)
metrics = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Metrics)
threading.Thread(target=metrics.serve_forever, daemon=True).start()
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"#;

#[test]
fn servers_with_the_same_fixed_port_run_one_at_a_time_and_the_run_says_why() {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a port")
        .port();
    let start = r#"start = ["python3", "{{ here }}/server.py", "{{ port }}"#;
    let metrics = format!(r#"statistics = {{ http = ":{port}/metrics", counters = ["requests_total"] }}"#);
    let workload = WORKLOAD
        .replace(&format!("{start}\"]"), &format!("{start}\", \"{port}\", \"{{{{ delay }}}}\"]\n{metrics}"))
        .replace("[load]", "[server.restless.knobs.delay]\ndefault = 5\nrange = \"1..100\"\n\n[load]");
    let variants = ["restless:delay=5", "restless:delay=8"];
    for why in whys_of_trials_one_at_a_time(&TestHome::new(), &workload, WITH_METRICS, variants) {
        assert!(why.contains("wants an address that is in use while restless:delay="), "{why}");
    }
}

#[test]
fn a_plan_in_turns_with_a_background_load_is_refused() {
    let home = TestHome::new();
    let plan = home.small_plan(&["nginx", "lighttpd"]);
    let with_background =
        fs::read_to_string(&plan).expect("a plan") + "\n[background]\nrate_per_s = 10.0\nconnections = 1\n";
    fs::write(&plan, with_background).expect("a plan");
    let output = home.run(&["run", &plan]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("turns: a background load"), "{}", text(&output.stderr));
}

#[test]
fn variants_whose_kernel_settings_last_are_not_up_together() {
    let home = TestHome::new();
    let at_once = home.small_plan(&["nginx:net.ipv4.tcp_autocorking=1", "nginx:net.ipv4.tcp_autocorking=0"]);
    assert!(
        fs::read_to_string(&at_once).expect("a plan").contains("[turns]"),
        "each has its own in its turn"
    );
    let plan = home.small_plan(&["nginx:vm.dirty_ratio=20", "nginx:vm.dirty_ratio=30"]);
    let one_at_a_time = fs::read_to_string(&plan).expect("a plan");
    assert!(!one_at_a_time.contains("[turns]"), "{one_at_a_time}");
    fs::write(&plan, one_at_a_time + "\n[turns]\nload = \"1s\"\n").expect("a plan");
    let output = home.run(&["run", &plan]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("turns: a kernel setting of a variant has effects that last"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_run_takes_about_the_time_that_it_is_given() {
    let home = TestHome::new();
    let plan = |args: &[&str]| {
        let output = home.run(&[&["plan", "compare", "nginx", "lighttpd"], args].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    assert!(plan(&[]).contains("looks = [8, 12, 16]"));
    let quick = plan(&["--quick"]);
    let goes_on = "looks = [7]\nspending = \"early\"\n";
    assert!(quick.contains(goes_on) && quick.contains("blocks = 14\n"), "{quick}");
    let three = plan(&["apache", "--quick"]);
    assert!(three.contains("looks = [8]\n") && three.contains("blocks = 16\n"), "{three}");
    let as_said = plan(&["--quick", "--blocks", "7"]);
    assert!(as_said.contains("blocks = 7\n") && !as_said.contains("looks"), "{as_said}");
    let precise = plan(&["--for", "10m", "--within", "2%"]);
    assert!(precise.contains("within = 0.02") && !precise.contains("blocks = 20\n"), "{precise}");
    let short = home.run(&["plan", "compare", "nginx", "lighttpd", "--for", "10s"]);
    assert!(short.status.success() && text(&short.stderr).contains("10s is too short for a verdict"));
    assert!(text(&short.stdout).contains("blocks = 7\n"));
    for wrong in [["--within", "0%"], ["--within", "much"], ["--for", "soon"]] {
        let output = home.run(&[&["plan", "compare", "nginx", "lighttpd"], &wrong[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
}
