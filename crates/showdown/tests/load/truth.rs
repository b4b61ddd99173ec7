//! The engine against servers whose response times follow from arithmetic.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::client::{command, measure, number, start};
use crate::misbehaving::{read_request, serve};
use crate::servers::nginx;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

/// The server freezes half a second after the first request, for half a second.
#[test]
fn a_freeze_delays_every_operation_that_was_due() {
    let first: Mutex<Option<Instant>> = Mutex::new(None);
    let freezes = serve(move |mut stream| {
        while read_request(&mut stream) {
            let begun = *first.lock().expect("no thread panics").get_or_insert_with(Instant::now);
            let thaw = begun + Duration::from_secs(1);
            if begun.elapsed() > Duration::from_millis(500) {
                thread::sleep(thaw.saturating_duration_since(Instant::now()));
            }
            if stream.write_all(OK).is_err() {
                return;
            }
        }
    });
    let url = format!("http://{freezes}/");
    let result = measure(&[&url, "-c", "4", "-r", "400", "--arrivals", "constant", "-d", "2s"]);
    assert_eq!((number(&result, "/requests"), number(&result, "/failed")), (800, 0), "{result}");
    // A quarter of all arrivals falls evenly into the freeze and waits for its end. So the q-quantile of the response
    // time is (q - 3/4) / (1/4) times half a second.
    // On a busy machine it is longer.
    for (percentile, quantile) in [("p90", 0.9), ("p95", 0.95), ("p99", 0.99)] {
        let least_us = (quantile - 0.75) / 0.25 * 500_000.0 * 0.75;
        let us = number(&result, &format!("/response_time_us/{percentile}")) as f64;
        assert!(us >= least_us, "{percentile}: {us} µs, at least {least_us} µs");
    }
    // The service time has only four slow replies among eight hundred, one for each connection (coordinated omission).
    let p99 = |times: &str| number(&result, &format!("/{times}/p99"));
    assert!(p99("service_time_us") < p99("response_time_us"), "{result}");
    assert!(number(&result, "/service_time_us/max") > 300_000, "{result}");
}

/// With spare connections, response time exceeds service time only by the client's own delay. A mean from a histogram
/// of three digits is exact to a thousandth.
#[test]
fn response_time_is_service_time_plus_client_delay() {
    let nginx = nginx();
    let result = measure(&[&nginx.url("http", "/1k"), "-c", "200", "-r", "300", "-d", "1s"]);
    let mean = |pointer: &str| result.pointer(pointer).and_then(serde_json::Value::as_f64).expect("a mean");
    let response_time = mean("/response_time_us/mean");
    let unexplained = response_time - mean("/service_time_us/mean") - mean("/client/lag_us/mean");
    assert!(
        unexplained.abs() < 3.0 + response_time / 1_000.0,
        "{unexplained} µs of the mean response time are neither service time nor client delay"
    );
}

/// In a closed loop the times of all operations fill the run of every connection (Little's law): due to received,
/// received to read by the client, and thinking. What ends after the run is measured too. So a server, a client or a
/// machine that pauses changes the number of operations, and their sum does not change.
#[test]
fn a_closed_loop_obeys_littles_law() {
    let takes = Duration::from_millis(20);
    let address = serve(move |mut stream| {
        while read_request(&mut stream) {
            thread::sleep(takes);
            if stream.write_all(OK).is_err() {
                return;
            }
        }
    });
    let connections = 10.0;
    // Begins and ends are not exactly those of the run.
    let slack = 0.01 * connections;
    for (think, think_s) in [("0s", 0.0), ("80ms", 0.08)] {
        let result = measure(&[&format!("http://{address}/"), "-c", "10", "-d", "1s", "--think", think]);
        let at =
            |pointer: &str| result.pointer(pointer).and_then(serde_json::Value::as_f64).expect("a number");
        let one_s = (at("/response_time_us/mean") + at("/client/pickup_us/mean")) / 1e6 + think_s;
        // The first operations are spread evenly over a think time.
        let before_s: f64 = (0..10).map(|connection| think_s * f64::from(connection) / connections).sum();
        let all_s = before_s + at("/requests") * one_s;
        let after_s = at("/drain/requests") * at("/drain/length_s") + connections * think_s;
        let ran_s = connections * at("/duration_s");
        assert!(all_s > ran_s - slack, "{all_s} s of {ran_s} s: {result}");
        assert!(
            all_s < ran_s + after_s + slack,
            "{all_s} s of {ran_s} s, {after_s} s after the end: {result}"
        );
        assert!(number(&result, "/response_time_us/p50") >= 20_000, "{result}");
        // The throughput counts what ended within the run.
        let ended_in_time = at("/requests") - at("/drain/requests");
        assert!((at("/throughput_per_s") * at("/duration_s") - ended_in_time).abs() < 0.5, "{result}");
    }
}

/// While the client waits for a CPU, neither send delay nor read delay shows it; the scheduler counts it.
#[test]
fn a_client_that_shares_its_cpu_is_invalid() {
    let nginx = nginx();
    let mut one_cpu = CpuSet::new();
    let allowed = sched_getaffinity(None).expect("every thread has CPUs");
    one_cpu.set((0..CpuSet::MAX_CPU).find(|&cpu| allowed.is_set(cpu)).expect("one at least"));
    let is_over = AtomicBool::new(false);
    let result = thread::scope(|scope| {
        scope.spawn(|| {
            sched_setaffinity(None, &one_cpu).expect("an allowed CPU");
            while !is_over.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let client = scope.spawn(|| {
            sched_setaffinity(None, &one_cpu).expect("an allowed CPU");
            measure(&[&nginx.url("http", "/1k"), "-d", "1s"])
        });
        let result = client.join();
        is_over.store(true, Ordering::Relaxed);
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    let reasons = result["reasons"].to_string();
    assert!(result["valid"] == false && reasons.contains("waited for a CPU"), "{result}");
}

/// A client that stops twice for 20 ms within two seconds is late for one operation in fifty. It has recorded what that added,
/// and the server's time is without it.
#[test]
fn a_client_that_stopped_takes_its_delay_out() {
    let nginx = nginx();
    let url = nginx.url("http", "/1k");
    let client = start(command(&[&url, "-c", "64", "-r", "1000", "-d", "2s", "--format", "json"]));
    let pid = Pid::from_child(&client.child);
    for _ in 0..2 {
        thread::sleep(Duration::from_millis(700));
        kill_process(pid, Signal::STOP).expect("it runs");
        thread::sleep(Duration::from_millis(20));
        kill_process(pid, Signal::CONT).expect("it is stopped");
    }
    let result = client.wait().measured();
    assert!(number(&result, "/client/delay_us/p99_9") > 10_000, "{result}");
    // Where the server waited for a CPU as well, their largest times are of the same operations, on which the client was in time.
    let mean = |times: &str| result[times]["mean"].as_f64().expect("a mean");
    assert!(mean("server_time_us") < mean("response_time_us"), "{result}");
    assert!(result["notes"].to_string().contains("late sends of the client added"), "{result}");
}
