//! Where a process ends: interrupted by its user, out of descriptors, out of ports.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

use crate::client::{Ended, Running, command, number, start};
use crate::servers::nginx;
use crate::villains::{linger, serve};

/// Waits until a load that shows progress as JSON has told of an event.
fn wait_for(event: &str, running: &mut Running) {
    let mut stderr = BufReader::new(running.child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains(event) {
        line.clear();
        assert!(stderr.read_line(&mut line).expect("a line") > 0, "it ended before it was interrupted");
    }
}

fn interrupt(running: Running) -> Ended {
    kill_process(Pid::from_child(&running.child), Signal::INT).expect("the process is there");
    running.wait()
}

/// Interrupts a load once it has told of an event.
fn interrupt_after(event: &str, args: &[&str]) -> Ended {
    let mut running = start(command(&[args, &["--progress", "json"]].concat()));
    wait_for(event, &mut running);
    interrupt(running)
}

#[test]
fn an_interruption_prints_what_was_measured() {
    let nginx = nginx();
    let ended =
        interrupt_after("tick", &[&nginx.url("http", "/1k"), "-r", "500", "-d", "1h", "--format", "json"]);
    assert_eq!(ended.code(), 130, "{ended:?}");
    let told = ended.json();
    assert!(number(&told, "/requests") > 100, "{told}");
    assert!(told["duration_s"].as_f64().is_some_and(|seconds| (1.0..3_600.0).contains(&seconds)), "{told}");
    assert!(told["notes"][0].as_str().is_some_and(|note| note.starts_with("interrupted")), "{told}");
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
fn an_interruption_before_there_is_anything_to_tell_is_told_as_one() {
    let (tell, connections) = std::sync::mpsc::channel();
    let hangs = serve(move |mut stream| {
        let _ = tell.send(());
        linger(&mut stream);
    });
    let running = start(command(&[&format!("https://{hangs}/"), "--timeout", "1h", "--format", "json"]));
    // One connection is to see whether anybody is there, the next hang in the TLS handshake.
    (0..2).for_each(|_| connections.recv().expect("a connection"));
    let connecting = interrupt(running);
    assert_eq!((connecting.code(), connecting.stdout.as_str()), (130, ""), "{connecting:?}");
    assert!(connecting.stderr.contains("interrupted before the load began"), "{connecting:?}");
    let populating = interrupt_after("load_begins", &[&format!("memcache://{hangs}"), "--populate"]);
    assert_eq!((populating.code(), populating.stdout.as_str()), (130, ""), "{populating:?}");
}

#[test]
fn an_interrupted_search_tells_what_it_has() {
    let nginx = nginx();
    let slo = ["--find-capacity", "p50<50ms", "-c", "1", "-d", "200ms", "--format", "json"];
    let ended = interrupt_after("fared", &[&[nginx.url("http", "/1k").as_str()][..], &slo].concat());
    assert_eq!(ended.code(), 130, "{ended:?}");
    let told = ended.json();
    assert_eq!(told["valid"], false);
    assert!(!told["curve"].as_array().expect("a curve").is_empty(), "{told}");
}

/// A command that may have no more than so many descriptors.
fn with_descriptors(most: u32, args: &[&str]) -> Command {
    let plain = command(args);
    let mut limited = Command::new("prlimit");
    limited.arg(format!("--nofile={most}:{most}")).arg(plain.get_program()).args(plain.get_args());
    limited
}

#[test]
fn more_connections_than_descriptors_are_spread_over_processes() {
    let nginx = nginx();
    let before = nginx.requests_of_nginx();
    let args = [&nginx.url("http", "/1k"), "-c", "600", "-n", "3000", "--format", "json"];
    let told = start(with_descriptors(300, &args)).wait().measured();
    assert!(number(&told, "/client/processes") >= 3, "{told}");
    assert_eq!(number(&told, "/connections/at_start"), 600, "{told}");
    assert_eq!((number(&told, "/requests"), number(&told, "/failed")), (3_000, 0), "{told}");
    assert_eq!(nginx.requests_of_nginx() - before - 1, 3_000);
    let percentiles =
        ["p50", "p99", "p99_99", "max"].map(|p| number(&told, &format!("/response_time_us/{p}")));
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

/// A network of its own with fifty local ports, where the kernel lets this user have one.
fn with_fifty_ports(script: &str) -> Option<Ended> {
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
    // A second nginx of the same configuration, inside that network.
    let load = |options: &str| {
        format!(
            "cd {root} && mkdir -p inside && nginx -e inside.log -p {root} -c {root}/nginx.conf & \
             server=$!; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; \
             {showdown} load http://127.0.0.1:{port}/1k -n 1 -c 1 >/dev/null 2>&1 && break; done; \
             {showdown} load http://127.0.0.1:{port}/1k -c 200 -n 1000 --format json {options}; \
             code=$?; kill $server; wait $server; exit $code"
        )
    };
    // A container may forbid networks of one's own; then there is nothing to try it in.
    let Some(spread) = with_fifty_ports(&load("")) else { return };
    let told = spread.measured();
    assert_eq!((number(&told, "/requests"), number(&told, "/failed")), (1_000, 0), "{told}");
    assert_eq!(number(&told, "/connections/at_start"), 200, "{told}");
    let from_one = with_fifty_ports(&load("--source 127.0.0.1")).expect("it was possible before").measured();
    assert!(number(&from_one, "/connections/at_start") <= 50, "{from_one}");
    let note = from_one["notes"][0].as_str().expect("a note of what is missing");
    assert!(note.contains("of 200 connections could not be opened"), "{note}");
}
