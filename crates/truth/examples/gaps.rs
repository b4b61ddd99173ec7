//! Tests whether the requests in the log of a known server are a Poisson process. `gaps RATE WINDOW < log.csv` prints
//! one JSON object: the number of windows of WINDOW gaps, the number that fail the Anderson–Darling test at 5 %, the same
//! for the parts of gaps beyond what a send takes, and quantiles of the gaps.

use std::io::Read;
use std::time::Duration;

use load::clock::Nanos;
use truth::checks::arrivals::{beyond_a_send, failing_windows, gaps};
use truth::known::account::ServedRequest;

/// The duration of a send: one thread cannot send two requests closer together.
const A_SEND: Duration = Duration::from_micros(3);

#[expect(clippy::print_stdout, reason = "its answer")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [rate, window] = &arguments[..] else { return Err("usage: gaps RATE WINDOW < log.csv".into()) };
    let (rate, window): (f64, usize) = (rate.parse()?, window.parse()?);
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let served = |line: &str| -> Option<ServedRequest> {
        let (received, sent) = line.split_once(',')?;
        Some(ServedRequest { received: Nanos(received.parse().ok()?), sent: Nanos(sent.parse().ok()?) })
    };
    let log: Vec<ServedRequest> = text.lines().filter_map(served).collect();
    let all = gaps(&log);
    let (failing, windows) = failing_windows(&all, rate, window);
    let (beyond_failing, beyond_windows) = failing_windows(&beyond_a_send(&all), rate, window);
    let short = all.iter().filter(|gap| **gap < A_SEND).count() as f64 / all.len().max(1) as f64;
    let mut sorted = all.clone();
    sorted.sort_unstable();
    let at =
        |share: f64| sorted.get((share * sorted.len() as f64) as usize).map(|gap| gap.as_secs_f64() * 1e6);
    let answer = serde_json::json!({
        "gaps": all.len(), "windows": windows, "failing": failing, "shorter_than_a_send": short,
        "beyond_windows": beyond_windows, "beyond_failing": beyond_failing,
        "p1_us": at(0.01), "p50_us": at(0.5), "p99_us": at(0.99), "longest_us": sorted.last().map(|g| g.as_secs_f64() * 1e6),
    });
    println!("{answer}");
    Ok(())
}
