//! Are the requests of a known server's log a Poisson process? `gaps RATE WINDOW < log.csv` prints one JSON object:
//! windows of so many gaps and how many of them fail Anderson–Darling at 5 %, the same for what gaps have beyond 10 µs,
//! and quantiles of the gaps.
//!
//! One thread cannot send two requests closer together than a send takes, so the shortest gaps are stretched. An
//! exponential law has no memory: what its gaps have beyond any length is exponential again, with the same rate. So the
//! second test tells whether all but the shortest gaps are right.

use std::io::Read;
use std::time::Duration;

use load::clock::Nanos;
use truth::checks::arrivals::{failing_windows, gaps};
use truth::known::account::Served;

/// A send takes about so long: closer together one thread cannot send.
const A_SEND: Duration = Duration::from_micros(3);
/// Longer than what a stretched gap takes from the next one.
const BEYOND: Duration = Duration::from_micros(10);

#[expect(clippy::print_stdout, reason = "its answer")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [rate, window] = &arguments[..] else { return Err("usage: gaps RATE WINDOW < log.csv".into()) };
    let (rate, window): (f64, usize) = (rate.parse()?, window.parse()?);
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let served = |line: &str| -> Option<Served> {
        let (received, sent) = line.split_once(',')?;
        Some(Served { received: Nanos(received.parse().ok()?), sent: Nanos(sent.parse().ok()?) })
    };
    let log: Vec<Served> = text.lines().filter_map(served).collect();
    let all = gaps(&log);
    let (failing, windows) = failing_windows(&all, rate, window);
    let beyond: Vec<Duration> = all.iter().filter_map(|gap| gap.checked_sub(BEYOND)).collect();
    let (beyond_failing, beyond_windows) = failing_windows(&beyond, rate, window);
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
