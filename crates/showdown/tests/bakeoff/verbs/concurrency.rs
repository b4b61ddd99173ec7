//! `showdown concurrency` with real servers: what it finds, what it keeps, and what it refuses.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Output;
use std::thread;

use serde_json::Value;

use crate::home::{TestHome, error_line, json, only_run, text, while_settings_change};

/// Whether it has measured. On a busy machine the client may be the limit: that is an answer, too, and ends with 3.
fn has_measured(output: &Output) -> bool {
    matches!(output.status.code(), Some(0 | 3))
}

/// Runs it and returns its answer.
fn found(home: &TestHome, args: &[&str]) -> Value {
    let args = [&["concurrency"], args, &["--format", "json", "--progress", "none"]].concat();
    let output = home.run(&args);
    assert!(has_measured(&output), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no whole number"))
}

fn transfers(found: &Value) -> Vec<u64> {
    found["steps"].as_array().expect("steps").iter().map(|step| number(&step["transfers"])).collect()
}

/// A server that sends a long file to each client as fast as that reads, or answers with another status.
fn server(status: &'static str, bytes: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let answer = move |mut stream: TcpStream| {
        let mut lines = BufReader::new(stream.try_clone().expect("a copy")).lines();
        while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
        let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {bytes}\r\n\r\n");
        let _ = stream.write_all(&vec![b'x'; bytes]);
        let _ = stream.read(&mut [0; 16]);
    };
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream));
        }
    });
    address
}

#[test]
fn two_thousand_downloads_are_in_progress_at_once() {
    let home = TestHome::new();
    // As root, it changes how much TCP queues.
    let _settings = while_settings_change();
    let before = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_notsent_lowat").ok();
    let found = found(&home, &["nginx", "--from", "500", "--to", "2000", "--hold", "2s", "--finer", "0"]);
    assert_eq!(std::fs::read_to_string("/proc/sys/net/ipv4/tcp_notsent_lowat").ok(), before);
    let steps = found["steps"].as_array().expect("steps");
    assert_eq!(transfers(&found)[..2], [500, 1_000]);
    for step in steps {
        let [in_progress, attempts, successes] =
            ["in_progress", "attempts", "successes"].map(|key| number(&step[key]));
        assert!(in_progress > 0 && in_progress <= number(&step["transfers"]), "{step}");
        assert!(successes > 0 && successes <= attempts, "{step}");
        assert!(step["errors"].get("unexpected_reply").is_none(), "{step}");
        assert!(number(&step["client_bytes"]) > 0 && step["server_cpu_cores"].is_number(), "{step}");
    }
    assert_eq!(found["file_bytes"], 104_857_600);
    assert_eq!(found["chosen"]["reuseport"], "on");

    let dir = only_run(&home);
    assert_eq!(json(&dir.join("concurrency.json")), found);
    assert_eq!(json(&dir.join("facts.json"))["variants"][0]["name"], "nginx");
    let listed = home.run(&["list", "--format", "json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    assert_eq!((&listed[0]["state"], &listed[0]["kind"]), (&"finished".into(), &"concurrency".into()));
    let report = |format: &str| text(&home.run(&["report", "--format", format, "-o", "-"]).stdout);
    assert!(report("md").contains("| transfers |"), "{}", report("md"));
    assert_eq!(report("csv").lines().count(), steps.len() + 1);
    let shown = text(&home.run(&["show"]).stdout);
    assert!(shown.contains("What the machines can hold, before the run"), "{shown}");
}

#[test]
fn a_server_breaks_at_its_limit_and_recovers() {
    let home = TestHome::new();
    let few = "apache:max_request_workers=4,threads_per_child=4";
    let steps = ["--from", "200", "--to", "400", "--finer", "0", "--hold", "1s", "--keep-settings"];
    let found = found(&home, &[&[few], &steps[..]].concat());
    assert_eq!((&found["breaking_point"], transfers(&found)), (&200.into(), vec![200]));
    assert!(found["comfortable_point"].is_null());
    assert_eq!(found["recovery"]["after_transfers"], 200);
    let causes: Vec<&str> = found["ran_out"]
        .as_array()
        .expect("causes")
        .iter()
        .map(|c| c["what"].as_str().expect("text"))
        .collect();
    assert!(causes.contains(&"workers"), "{causes:?}");
    assert!(found["sentence"].as_str().is_some_and(|text| text.contains("it breaks at 200")), "{found}");
}

#[test]
fn a_file_of_a_running_server_is_a_target_and_its_plan_runs_again() {
    let home = TestHome::new();
    let url = format!("http://{}/file", server("200 OK", 20 << 20));
    let options = ["--to", "20", "--hold", "1s", "--keep-settings"];
    let found = found(&home, &[&[url.as_str()], &options[..]].concat());
    assert_eq!((transfers(&found), &found["file_bytes"]), (vec![20], &(20 << 20).into()));
    assert!(found["steps"][0].get("server_bytes").is_none(), "the server is not its own");
    let plan = only_run(&home).join("plan.toml").display().to_string();
    let again = home.run(&["run", &plan, "--format", "json", "--progress", "none"]);
    assert!(has_measured(&again), "{}", text(&again.stderr));
    let metered = home.run(&["run", &plan, "--power", "rapl-package"]);
    assert_eq!(metered.status.code(), Some(2));
    let line = error_line(&metered);
    assert!(
        line.contains("--power has no effect on this plan, which is one of `showdown concurrency`"),
        "{line}"
    );
}

#[test]
fn a_breaking_point_is_the_value_of_a_trial() {
    let home = TestHome::new();
    let few = |workers: u32| format!("apache:max_request_workers={workers},threads_per_child={workers}");
    let args = ["--measure", "breaking-point", "--to", "100", "--blocks", "3"];
    let planned = home.run(&[&["plan", "compare", &few(4), &few(8)], &args[..]].concat());
    let plan = text(&planned.stdout).replace("hold = \"4s\"", "hold = \"1s\"\nkeep_settings = true");
    assert!(plan.contains("keep_settings"), "{plan} {}", text(&planned.stderr));
    std::fs::write(home.path("plan.toml"), plan).expect("a plan");
    let output = home.run(&["run", "plan.toml", "--format", "json", "--progress", "none"]);
    assert!(has_measured(&output), "{}", text(&output.stderr));
    let verdict: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(verdict["metric"], "downloads in progress at the breaking point");
    let dir = only_run(&home);
    for folder in std::fs::read_dir(dir.join("trials")).expect("trials").flatten() {
        let trial = json(&folder.path().join("trial.json"));
        let steps = json(&folder.path().join("concurrency.json"));
        assert_eq!(steps["steps"][0]["transfers"], 100, "{trial}");
        assert!(trial["measured"]["value"].as_f64().is_some_and(|value| value <= 100.0), "{trial}");
    }
    // Its servers can be explained under the load of their workload.
    let explaining = home.run(&["plan", "explain", "latest", "--seed", "7", "--tag", "again"]);
    let plan = text(&explaining.stdout);
    assert!(
        plan.contains("seed = 7") && plan.contains(r#"tags = ["again"]"#),
        "{}",
        text(&explaining.stderr)
    );
    // A folder with the name of a server is no run.
    std::fs::create_dir(home.path("nginx")).expect("a folder");
    assert_eq!(home.run(&["plan", "explain", "nginx"]).status.code(), Some(0));
}

#[test]
fn what_cannot_be_run_is_said_before_the_run() {
    let home = TestHome::new();
    let refusal = |code: i32, args: &[&str], why: &str| {
        let output = home.run(&[&["concurrency"], args].concat());
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", text(&output.stderr));
        let line = error_line(&output);
        assert!(line.contains(why), "{args:?}: {line}");
    };
    let nothing = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        format!("http://{}/", listener.local_addr().expect("an address"))
    };
    refusal(1, &[&nothing], "nothing answers at");
    refusal(1, &[&format!("http://{}/", server("404 Not Found", 0))], "answers with status 404");
    refusal(2, &[&format!("http://{}/", server("200 OK", 1_000))], "download a larger file");
    refusal(2, &["http://93.184.216.34/"], "--target-is-mine");
    refusal(2, &["nginx", "--workload", "static-web"], "name one with --on-op");
    refusal(2, &["nginx", "--to", "10000000"], "transfers at once are too many: ");
    refusal(2, &["nginx:kernel.core_pattern=x"], "kernel.core_pattern is no setting");
    refusal(2, &["nginx", "--from", "10", "--to", "5"], "--from not above --to");
    refusal(2, &["nginx", "--step", "1x"], "a factor of at least 1.05");
    refusal(2, &["nginx", "--until", "p99<1s"], "availability<50%");
    refusal(2, &["nginy"], "nginx");
    refusal(2, &["nginx", "--on", "sut"], "there is no hosts.toml here");
    let compared = |args: &[&str], why: &str| {
        let output = home.run(&[&["compare", "nginx", "apache"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", text(&output.stderr));
        let line = error_line(&output);
        assert!(line.contains(why), "{args:?}: {line}");
    };
    compared(&["--to", "5"], "--to is for --measure breaking-point");
    compared(
        &["--measure", "breaking-point", "--quick"],
        "--quick has no effect with --measure breaking-point",
    );
    compared(&["--measure", "breaking-point", "--background", "9/s,connections=1"], "breaking point:");
    assert!(!home.path("runs").exists(), "nothing was run");
}
