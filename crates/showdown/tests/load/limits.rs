//! Limits of a process: interruptions, file descriptors, ports.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

use crate::client::{CommandResult, RunningCommand, command, number, skip, start};
use crate::misbehaving::{linger, serve};
use crate::servers::nginx;

/// Waits until a load with JSON progress has printed an event.
fn wait_for(event: &str, running: &mut RunningCommand) {
    let mut stderr = BufReader::new(running.child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains(event) {
        line.clear();
        assert!(stderr.read_line(&mut line).expect("a line") > 0, "the load ended before the interruption");
    }
}

fn interrupt(running: RunningCommand) -> CommandResult {
    kill_process(Pid::from_child(&running.child), Signal::INT).expect("the process is there");
    running.wait()
}

/// Interrupts a load after it has printed an event.
fn interrupt_after(event: &str, args: &[&str]) -> CommandResult {
    let mut running = start(command(&[args, &["--progress", "json"]].concat()));
    wait_for(event, &mut running);
    interrupt(running)
}

#[test]
fn an_interrupted_load_prints_its_result_so_far() {
    let nginx = nginx();
    let ended =
        interrupt_after("tick", &[&nginx.url("http", "/1k"), "-r", "500", "-d", "1h", "--format", "json"]);
    assert_eq!(ended.code(), 130, "{ended:?}");
    let result = ended.json();
    assert!(number(&result, "/requests") > 100, "{result}");
    assert!(
        result["duration_s"].as_f64().is_some_and(|seconds| (1.0..3_600.0).contains(&seconds)),
        "{result}"
    );
    let mut notes = result["notes"].as_array().expect("notes").iter().filter_map(serde_json::Value::as_str);
    assert!(notes.any(|note| note.starts_with("interrupted")), "{result}");
}

#[test]
fn an_interruption_does_not_wait_for_a_server_that_hangs() {
    let address = serve(|mut stream| linger(&mut stream));
    let url = format!("http://{address}/");
    let ended = interrupt_after("load_begins", &[&url, "--timeout", "1h", "-d", "1h", "--format", "json"]);
    assert_eq!(ended.code(), 130, "{ended:?}");
    assert_eq!(number(&ended.json(), "/requests"), 0);
}

#[test]
fn an_interruption_before_the_load_is_reported() {
    let (tell, connections) = std::sync::mpsc::channel();
    let hangs = serve(move |mut stream| {
        let _ = tell.send(());
        linger(&mut stream);
    });
    let running = start(command(&[&format!("https://{hangs}/"), "--timeout", "1h", "--format", "json"]));
    // The first connection checks that the server listens; the next ones hang in the TLS handshake.
    (0..2).for_each(|_| connections.recv().expect("a connection"));
    let connecting = interrupt(running);
    assert_eq!((connecting.code(), connecting.stdout.as_str()), (130, ""), "{connecting:?}");
    assert!(connecting.stderr.contains("interrupted before the load began"), "{connecting:?}");
    let populating = interrupt_after("load_begins", &[&format!("memcache://{hangs}"), "--populate"]);
    assert_eq!((populating.code(), populating.stdout.as_str()), (130, ""), "{populating:?}");
}

#[test]
fn an_interrupted_search_prints_its_curve_so_far() {
    let nginx = nginx();
    let slo = ["--find-capacity", "p50<5ms", "-c", "1", "-d", "200ms", "--format", "json"];
    let ended = interrupt_after("slice", &[&[nginx.url("http", "/1k").as_str()][..], &slo].concat());
    assert_eq!(ended.code(), 130, "{ended:?}");
    let result = ended.json();
    assert_eq!(result["valid"], false);
    assert!(!result["curve"].as_array().expect("a curve").is_empty(), "{result}");
}

/// A command with a limit on its file descriptors.
fn with_descriptors(most: u32, args: &[&str]) -> Command {
    let plain = command(args);
    let mut limited = Command::new("prlimit");
    limited.arg(format!("--nofile={most}:{most}")).arg(plain.get_program()).args(plain.get_args());
    limited
}

#[test]
fn more_connections_than_descriptors_use_several_processes() {
    let nginx = nginx();
    let before = nginx.requests_of_nginx();
    let args = [&nginx.url("http", "/1k"), "-c", "600", "-n", "3000", "--format", "json"];
    let result = start(with_descriptors(300, &args)).wait().measured();
    assert!(number(&result, "/client/processes") >= 3, "{result}");
    assert_eq!(number(&result, "/connections/at_start"), 600, "{result}");
    assert_eq!((number(&result, "/requests"), number(&result, "/failed")), (3_000, 0), "{result}");
    assert_eq!(nginx.requests_of_nginx() - before - 1, 3_000);
    let percentiles =
        ["p50", "p99", "p99_99", "max"].map(|p| number(&result, &format!("/response_time_us/{p}")));
    assert!(percentiles.is_sorted() && percentiles[0] > 0, "{percentiles:?}");
}

#[test]
fn an_interruption_ends_all_processes_of_a_load() {
    let nginx = nginx();
    let url = nginx.url("http", "/1k");
    let args = [&url, "-c", "600", "-r", "500", "-d", "1h", "--progress", "json", "--format", "json"];
    let mut running = start(with_descriptors(300, &args));
    wait_for("tick", &mut running);
    let pid = running.child.id();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    assert!(children.split_whitespace().count() >= 3, "{children:?}");
    let ended = interrupt(running);
    assert_eq!(ended.code(), 130, "{ended:?}");
    assert!(number(&ended.json(), "/requests") > 100);
    let left: Vec<&str> = children
        .split_whitespace()
        .filter(|pid| fs::exists(format!("/proc/{pid}")).unwrap_or(false))
        .collect();
    assert!(left.is_empty(), "left running: {left:?}");
}

/// Runs a script in its own network namespace with fifty local ports; none if this user may not create one.
fn with_fifty_ports(script: &str) -> Option<CommandResult> {
    let setup = "ip link set lo up && echo '40000 40049' > /proc/sys/net/ipv4/ip_local_port_range";
    let network = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--net", "sh", "-c", script]);
        command
    };
    let possible = network(setup).output().is_ok_and(|output| output.status.success());
    possible.then(|| start(network(&format!("{setup} && {script}"))).wait())
}

#[test]
fn more_connections_than_ports_come_from_more_addresses_or_are_counted() {
    let nginx = nginx();
    let showdown = env!("CARGO_BIN_EXE_showdown");
    let (port, root) = (nginx.port, nginx.path("").display().to_string());
    // A second nginx with the same configuration, inside the namespace.
    let load = |options: &str| {
        format!(
            "cd {root} && mkdir -p inside && nginx -e inside.log -p {root} -c {root}/nginx.conf & \
             server=$!; for i in $(seq 100); do sleep 0.1; \
             {showdown} load http://127.0.0.1:{port}/1k -n 1 -c 1 >/dev/null 2>&1 && break; done; \
             {showdown} load http://127.0.0.1:{port}/1k -c 200 -n 1000 --format json {options}; \
             code=$?; kill $server; wait $server; exit $code"
        )
    };
    let Some(spread) = with_fifty_ports(&load("")) else {
        return skip("this container forbids network namespaces");
    };
    let result = spread.measured();
    assert_eq!((number(&result, "/requests"), number(&result, "/failed")), (1_000, 0), "{result}");
    assert_eq!(number(&result, "/connections/at_start"), 200, "{result}");
    let from_one = with_fifty_ports(&load("--source 127.0.0.1")).expect("it was possible before").measured();
    assert!(number(&from_one, "/connections/at_start") <= 50, "{from_one}");
    let note = from_one["notes"][0].as_str().expect("a note of what is missing");
    assert!(note.contains("of 200 connections could not be opened"), "{note}");
    let rules = from_one["rules_broken"].as_array().expect("the broken rules");
    assert!(rules.iter().any(|rule| rule["rule"] == "connections" && rule["wanted"] == 200), "{from_one}");
}
