//! The engine against known truth: servers whose response times follow from arithmetic.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::client::{command, measure, number, start};
use crate::servers::nginx;
use crate::villains::{read_request, serve};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

/// A server that is frozen from half a second after the first request on, for half a second.
#[test]
fn a_freeze_is_seen_by_all_who_would_have_come() {
    let first: Mutex<Option<Instant>> = Mutex::new(None);
    let freezes = serve(move |mut stream| {
        while read_request(&mut stream) {
            let begun = *first.lock().expect("nobody panics").get_or_insert_with(Instant::now);
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
    let told = measure(&[&url, "-c", "4", "-r", "400", "--arrivals", "constant", "-d", "2s"]);
    assert_eq!((number(&told, "/requests"), number(&told, "/failed")), (800, 0), "{told}");
    // A quarter of all arrivals fell into the freeze, evenly, and waited for its end: so the q-quantile of the
    // response time is (q - 3/4) / (1/4) times half a second.
    for (percentile, quantile) in [("p90", 0.9), ("p95", 0.95), ("p99", 0.99)] {
        let expected_us = (quantile - 0.75) / 0.25 * 500_000.0;
        let us = number(&told, &format!("/response_time_us/{percentile}")) as f64;
        assert!((us / expected_us - 1.0).abs() < 0.25, "{percentile}: {us} µs for {expected_us} µs");
    }
    // Who only asks the four connections hears of four slow replies among eight hundred (coordinated omission).
    assert!(number(&told, "/service_time_us/p99") < 100_000, "{told}");
    assert!(number(&told, "/service_time_us/max") > 300_000, "{told}");
}

/// With connections to spare, what response time holds over service time is the client's own lateness.
#[test]
fn the_client_does_not_hide_its_own_lateness_in_the_response_time() {
    let nginx = nginx();
    let told = measure(&[&nginx.url("http", "/1k"), "-c", "200", "-r", "300", "-d", "1s"]);
    let mean = |pointer: &str| told.pointer(pointer).and_then(serde_json::Value::as_f64).expect("a mean");
    let unexplained =
        mean("/response_time_us/mean") - mean("/service_time_us/mean") - mean("/client/lag_us/mean");
    assert!(
        unexplained.abs() < 3.0,
        "{unexplained} µs of the mean response time are neither service nor lag"
    );
}

/// A closed loop of N connections against a server that takes T for each reply does N / T (Little's law).
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
    let told = measure(&[&format!("http://{address}/"), "-c", "10", "-d", "1s"]);
    let seconds = told["response_time_us"]["mean"].as_f64().expect("a mean") / 1e6;
    let throughput = told["throughput_per_s"].as_f64().expect("a rate");
    let in_flight = throughput * seconds;
    assert!((in_flight - 10.0).abs() < 0.5, "{in_flight} in flight where ten connections are");
    assert!(number(&told, "/response_time_us/p50") >= 20_000, "{told}");
    let thinking = measure(&[&format!("http://{address}/"), "-c", "10", "-d", "1s", "--think", "80ms"]);
    let (rate, response) = (
        thinking["throughput_per_s"].as_f64().expect("a rate"),
        thinking["response_time_us"]["mean"].as_f64().expect("a mean") / 1e6,
    );
    let users = rate * (response + 0.08);
    assert!((users - 10.0).abs() < 1.5, "{users} users where ten connections are");
}

/// What waits while the client is kept from its CPU is in no lag and no pick-up: the scheduler knows of it.
#[test]
fn a_client_beside_a_busy_program_is_not_believed() {
    let nginx = nginx();
    let mut one_cpu = CpuSet::new();
    let ours = sched_getaffinity(None).expect("every thread has CPUs");
    one_cpu.set((0..CpuSet::MAX_CPU).find(|&cpu| ours.is_set(cpu)).expect("one at least"));
    let is_over = AtomicBool::new(false);
    let told = thread::scope(|scope| {
        scope.spawn(|| {
            sched_setaffinity(None, &one_cpu).expect("one of ours");
            while !is_over.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let client = scope.spawn(|| {
            sched_setaffinity(None, &one_cpu).expect("one of ours");
            measure(&[&nginx.url("http", "/1k"), "-d", "1s"])
        });
        let told = client.join();
        is_over.store(true, Ordering::Relaxed);
        told.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    let reasons = told["reasons"].to_string();
    assert!(told["valid"] == false && reasons.contains("kept waiting for a CPU"), "{told}");
}

/// A client that stands still twice for 20 ms in two seconds is late for one operation in fifty, and says how much of which
/// percentile that may be.
#[test]
fn a_client_that_stood_still_says_which_percentiles_are_its_own() {
    let nginx = nginx();
    let url = nginx.url("http", "/1k");
    let client = start(command(&[&url, "-c", "64", "-r", "1000", "-d", "2s", "--format", "json"]));
    let pid = Pid::from_child(&client.child);
    for _ in 0..2 {
        thread::sleep(Duration::from_millis(700));
        kill_process(pid, Signal::STOP).expect("it runs");
        thread::sleep(Duration::from_millis(20));
        kill_process(pid, Signal::CONT).expect("it stands");
    }
    let told = client.wait().measured();
    let client_shares = told["client_shares"].as_array().expect("a list");
    let worst =
        client_shares.iter().find(|share| share["percentile"] == "p99.9").unwrap_or_else(|| panic!("{told}"));
    let (client_us, response_time_us) = (number(worst, "/client_us"), number(worst, "/response_time_us"));
    assert!(client_us > 10_000 && client_us <= response_time_us, "{worst}");
    assert!(told["notes"].to_string().contains("the client may have added about"), "{told}");
}
