//! Are requests sent as they should be? By the kernel's stamps of their arrival at the server, which on
//! loopback are taken within the client's send.

use std::time::Duration;

use load::clock::Nanos;
use stats::arrivals::test_known_rate;
use stats::confidence::Confidence;
use stats::proportion::Proportion;

use crate::finding::{Finding, Unit};
use crate::instrument::{CheckError, Instrument, Load, Pace};
use crate::known::account::Served;

/// At 5 % a true Poisson process fails in one window of twenty.
const LEVEL: f64 = 0.05;
/// A sure mistake, not bad luck: one check in a thousand.
const SURE: f64 = 0.999;
const CONNECTIONS: u32 = 128;

/// Gaps between requests in the order in which they reached the server.
pub fn gaps(log: &[Served]) -> Vec<Duration> {
    let mut received: Vec<Nanos> = log.iter().map(|served| served.received).collect();
    received.sort_unstable();
    received.windows(2).map(|pair| pair[1].since(pair[0]).into()).collect()
}

/// How many windows of so many gaps each fail the Anderson–Darling test of a Poisson process of this rate, and
/// how many windows there are.
pub fn failing_windows(gaps: &[Duration], rate_per_s: f64, window: usize) -> (u64, u64) {
    let tested = gaps.chunks_exact(window).filter_map(|gaps| test_known_rate(gaps, rate_per_s).ok());
    tested.fold((0, 0), |(failing, all), test| (failing + u64::from(test.p_value < LEVEL), all + 1))
}

/// Poisson arrivals at this rate: the windows that fail are no more than chance has it.
pub fn poisson(
    instrument: &Instrument<'_>,
    rate_per_s: f64,
    window: usize,
    length: Duration,
) -> Result<Vec<Finding>, CheckError> {
    let server = instrument.start(|_| ())?;
    let measured = instrument.run(&server, &Load::http(CONNECTIONS, Pace::Poisson(rate_per_s), length))?;
    let (failing, all) = failing_windows(&gaps(&server.log()?), rate_per_s, window);
    let what = format!("Poisson at {rate_per_s}/s: windows of {window} gaps that fail Anderson–Darling");
    let Ok(share) = Proportion::new(failing, all) else { return Ok(Vec::new()) };
    let sure = Confidence::new(SURE).expect("a level below 1");
    let bounds = share.clopper_pearson(sure);
    let mut finding = Finding::new("arrivals", what, Unit::Share, LEVEL, share.estimate()).as_limit();
    finding.met = bounds.contains(LEVEL) || share.estimate() < LEVEL;
    finding.tolerance = bounds.half_width();
    let lag = &measured.summary.client.lag_us;
    finding.note =
        Some(format!("{failing} of {all} windows; sent late by {} µs (p50), {} µs (p99)", lag.p50, lag.p99));
    Ok(vec![finding])
}

/// Even arrivals over many connections: hardly a gap is far from what it should be, so that connections do not
/// fire together.
pub fn even(
    instrument: &Instrument<'_>,
    rate_per_s: f64,
    length: Duration,
) -> Result<Vec<Finding>, CheckError> {
    let server = instrument.start(|_| ())?;
    instrument.run(&server, &Load::http(CONNECTIONS, Pace::Even(rate_per_s), length))?;
    let meant = 1.0 / rate_per_s;
    let mut gaps = gaps(&server.log()?);
    gaps.sort_unstable();
    let at =
        |share: f64| gaps.get((share * gaps.len() as f64) as usize).map_or(f64::NAN, Duration::as_secs_f64);
    let row = |name: &'static str, share: f64| {
        let what = format!("even gaps at {rate_per_s}/s over {CONNECTIONS} connections");
        let finding =
            Finding::new("arrivals", what, Unit::Microseconds, meant * 1e6, at(share) * 1e6).at(name);
        finding.within((meant * 1e6 * 0.1).max(20.0)).as_limit()
    };
    Ok(vec![row("p1", 0.01), row("p50", 0.5), row("p99", 0.99)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(received: &[u64]) -> Vec<Served> {
        received.iter().map(|at| Served { received: Nanos(*at), sent: Nanos(at + 9) }).collect()
    }

    #[test]
    fn gaps_are_taken_in_the_order_of_arrival() {
        assert_eq!(gaps(&log(&[30, 10, 15])), [5, 15].map(Duration::from_nanos));
    }

    #[test]
    fn even_gaps_fail_as_poisson() {
        let even = vec![Duration::from_millis(1); 1_050];
        assert_eq!(failing_windows(&even, 1_000.0, 100), (10, 10));
    }
}
