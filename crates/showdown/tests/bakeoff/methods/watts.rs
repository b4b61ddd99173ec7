//! Watts beside trials from end to end: a rack PDU that Debian's snmpd serves, a plug that disappears, and what is refused.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::home::{FEW_KEYS, TestHome, json, only_run, text, trials};

/// What snmpd asks by `pass_persist`: 210 W on all outlets of an APC.
const PDU: &str = r#"while read -r question; do
    case $question in
        PING) echo PONG ;;
        get) read -r oid
            if [ "$oid" = .1.3.6.1.4.1.318.1.1.26.4.3.1.5.1 ]; then echo "$oid"; echo integer; echo 21; else echo NONE; fi ;;
        *) read -r oid; echo NONE ;;
    esac
done"#;

/// The file of targets of these tests; `PORT` is that of the PDU.
const TARGETS: &str = r#"currency = "EUR"
pue = 1.5
price_per_kwh = "0.20 EUR/kWh"
life = "4 years"

[target.any]
price = "2000 EUR"
meter = "rack"

[power.rack]
kind = "apc-rpdu2"
address = "127.0.0.1:PORT"
"#;

struct Pdu {
    child: Child,
    port: u16,
    /// Not the home of a test: nothing of showdown's runs there in the end.
    _dir: tempfile::TempDir,
}

impl Drop for Pdu {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts snmpd as an ordinary process, and waits until it answers.
fn pdu(home: &TestHome) -> Pdu {
    let begin = Instant::now();
    loop {
        let dir = tempfile::tempdir().expect("a directory");
        let port =
            UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port();
        let script = dir.path().join("pdu.sh");
        fs::write(&script, PDU).expect("a script");
        let config = format!(
            "agentAddress udp:127.0.0.1:{port}\nrocommunity public 127.0.0.1\npass_persist .1.3.6.1.4.1.318.1.1 /bin/sh {}\n",
            script.display()
        );
        fs::write(dir.path().join("snmpd.conf"), config).expect("a configuration");
        let mut command = Command::new("/usr/sbin/snmpd");
        command.args(["-f", "-Lo", "-r", "-C", "-c"]).arg(dir.path().join("snmpd.conf"));
        command.env("SNMP_PERSISTENT_DIR", dir.path().join("snmp")).stdin(Stdio::null());
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut pdu = Pdu { child: child.expect("snmpd: scripts/install-packages test"), port, _dir: dir };
        while pdu.child.try_wait().expect("its state").is_none() {
            let source = format!("apc-rpdu2=127.0.0.1:{port}");
            if home.run(&["power", "--source", &source, "--for", "1ms"]).status.success() {
                return pdu;
            }
            assert!(begin.elapsed() < Duration::from_mins(3), "snmpd does not answer");
        }
    }
}

/// A Shelly plug with 62 W that answers so many times and is silent then; returns its address and the count of requests.
fn plug(answers: u32) -> (String, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("its address"));
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            if count.fetch_add(1, Ordering::Relaxed) >= answers {
                continue;
            }
            let lines = BufReader::new(stream.try_clone().expect("a handle")).lines().map_while(Result::ok);
            let _head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let body = r#"{"type":"SHPLG-S","meters":[{"power":62,"is_valid":true}]}"#;
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";
            let _ = write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len());
        }
    });
    (address, asked)
}

/// A plan of short trials with two levels of load, of this workload.
fn plan(home: &TestHome, workload: &str) -> String {
    let path = home.small_plan(&["memcached", "memcached:threads=2", "--workload", workload]);
    let plan = fs::read_to_string(&path).expect("a plan");
    let levels = "\n[power]\nlevels = [1.0, 0.5]\nsettle = \"100ms\"\nmeasure = \"1s 500ms\"\n";
    fs::write(&path, plan + levels).expect("a plan");
    path
}

fn records(home: &TestHome) -> Vec<Value> {
    trials(&only_run(home)).iter().map(|trial| json(&trial.join("trial.json"))).collect()
}

fn list<'v>(value: &'v Value, key: &str) -> &'v Vec<Value> {
    value[key].as_array().unwrap_or_else(|| panic!("no {key}: {value}"))
}

#[test]
fn each_trial_has_the_watts_of_its_levels_and_the_answer_has_what_they_cost() {
    let home = TestHome::with_few_keys();
    let pdu = pdu(&home);
    fs::write(home.path("targets.toml"), TARGETS.replace("PORT", &pdu.port.to_string())).expect("a file");
    let output = home.run(&["run", &plan(&home, FEW_KEYS), "--cost", "targets.toml", "--format", "json"]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    home.assert_nothing_runs();
    let mut watts_of_levels = 0;
    for record in records(&home) {
        let power = &record["power"];
        let meters = list(power, "meters");
        assert_eq!(
            (meters.len(), &meters[0]["name"], &meters[0]["boundary"]),
            (1, &"rack".into(), &"wall".into())
        );
        assert_eq!(meters[0]["is_indicative"], true);
        let levels = list(power, "levels");
        if record["measured"].is_null() {
            assert!(levels.is_empty(), "{record}");
            continue;
        }
        let shares: Vec<f64> = levels.iter().filter_map(|level| level["share"].as_f64()).collect();
        assert_eq!(shares, [1.0, 0.5, 0.0], "{record}");
        assert!(levels[0]["offered_per_s"].is_null() && levels[1]["offered_per_s"].is_number(), "{power}");
        assert_eq!(levels[2]["work_per_s"], 0.0);
        for watts in levels.iter().flat_map(|level| list(level, "watts")) {
            assert_eq!((&watts["meter"], &watts["mean"]), (&"rack".into(), &210.0.into()), "{watts}");
            watts_of_levels += 1;
        }
        let file = record["files"]["power"].as_str().expect("the readings");
        assert!(only_run(&home).join(file).is_file());
    }
    assert!(watts_of_levels > 0, "no reading fell into a level of any trial");
    let answer: Value = serde_json::from_str(&text(&output.stdout)).expect("JSON");
    assert_eq!((&answer["cost"]["currency"], answer["format"].is_number()), (&"EUR".into(), true));
    for variant in list(&answer["power"], "variants") {
        assert_eq!(variant["watts_at_load"]["value"], 210.0, "{variant}");
        let cost =
            list(&answer["cost"], "variants").iter().find(|cost| cost["variant"] == variant["variant"]);
        assert_eq!(cost.expect("its cost")["power_at_load"]["is_estimate"], false);
    }
    // What is printed later, from the run alone.
    let later = home.run(&["show", "latest"]);
    assert!(later.status.success(), "{}", text(&later.stderr));
    let page = fs::read_to_string(only_run(&home).join("report.html")).expect("a report");
    assert!(page.contains("\"watts\":{\"1\":") && page.contains("\"over_load\":"));
}

#[test]
fn a_meter_that_disappears_costs_its_watts_and_never_the_run() {
    let home = TestHome::with_few_keys();
    let (address, asked) = plug(2);
    let output = home.run(&["run", &plan(&home, FEW_KEYS), "--power", &format!("shelly={address}")]);
    let answer = text(&output.stdout);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{answer} {}", text(&output.stderr));
    assert!(asked.load(Ordering::Relaxed) > 2, "it is asked again");
    let records = records(&home);
    assert_eq!(records.len(), 6);
    let plug = &records[5]["power"]["meters"][0];
    assert!(plug["failures"].as_u64() > Some(0) && plug["failure"].is_string(), "{plug}");
    let blames = |record: &Value| record["reasons"].to_string().contains("shelly");
    assert!(!records.iter().any(blames), "no trial fails for its meter: {records:?}");
    let is_level = |level: &&Value| level["watts"].as_array().is_some_and(Vec::is_empty);
    let lost =
        records.iter().filter(|record| list(&record["power"], "levels").iter().any(|level| is_level(&level)));
    if lost.count() > 0 {
        assert!(answer.contains("no watts: shelly gave no watts at a level of trial"), "{answer}");
    }
}

#[test]
fn a_meter_that_gives_nothing_at_first_is_refused_and_leaves_no_run() {
    let home = TestHome::new();
    let (address, _) = plug(0);
    let output = home.run(&["run", &plan(&home, "cache"), "--power", &format!("shelly={address}")]);
    let line = text(&output.stderr);
    assert_eq!((output.status.code(), line.lines().count()), (Some(1), 1), "{line}");
    assert!(line.contains("shelly gives no watts: "), "{line}");
    assert!(
        !home.path("runs").exists() || fs::read_dir(home.path("runs")).expect("a directory").next().is_none()
    );
    home.assert_nothing_runs();
}

#[test]
fn mistakes_with_meters_are_one_line_and_exit_code_2() {
    let home = TestHome::new();
    let plan = plan(&home, "cache");
    fs::write(
        home.path("wrong.toml"),
        "currency = \"EUR\"\n[target.other]\nvariants = [\"nginx\"]\nrate = \"1 EUR/hour\"\n",
    )
    .expect("a file");
    fs::write(
        home.path("meter.toml"),
        TARGETS.replace("PORT", "161").replace("meter = \"rack\"", "meter = \"rakc\""),
    )
    .expect("a file");
    for (args, part) in [
        (&["--load-levels"][..], "--load-levels needs a meter"),
        (&["--power", "desk"], "--power: there is no meter desk: write KIND=ADDRESS"),
        (&["--power", "shelly=10.0.0.31"], "--power: address: "),
        (&["--cost", "missing.toml"], "cannot read missing.toml"),
        (&["--cost", "wrong.toml"], "wrong.toml: no target describes the machine of memcached"),
        (&["--cost", "meter.toml"], "meter.toml:8: meter: there is no [power.rakc] in this file"),
    ] {
        let output = home.run(&[&["run", &plan], args].concat());
        let line = text(&output.stderr);
        assert_eq!((output.status.code(), line.lines().count()), (Some(2), 1), "{args:?}: {line}");
        assert!(line.contains(part) && output.stdout.is_empty(), "{args:?}: {line}");
    }
    let levels = text(&home.run(&["plan", "compare", "nginx", "apache", "--load-levels"]).stdout);
    assert!(levels.contains("levels = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]"), "{levels}");
}
