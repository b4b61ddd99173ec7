//! Checks the arrival process of requests, by the kernel's receive timestamps at the server. On loopback these are
//! taken within the client's send.

use std::time::Duration;

use load::clock::Nanos;
use stats::arrivals::test_known_rate;
use stats::confidence::Confidence;
use stats::proportion::Proportion;

use crate::finding::{Finding, FindingUnit};
use crate::instrument::{CheckError, Instrument, LoadShape, TestLoad};
use crate::known::account::ServedRequest;

/// Significance level: a true Poisson process fails in one window of twenty.
const LEVEL: f64 = 0.05;
/// Confidence that a failure is not chance: one false failure in a thousand checks.
const CONFIDENCE: f64 = 0.999;
const CONNECTIONS: u32 = 128;
/// Longer than one thread needs for a send, also with cold caches, and for the replies that it reads before the next one. It
/// cannot send two requests closer together, so shorter gaps are stretched.
const BEYOND: Duration = Duration::from_micros(30);

/// Gaps between requests in the order of arrival at the server.
pub fn gaps(log: &[ServedRequest]) -> Vec<Duration> {
    let mut received: Vec<Nanos> = log.iter().map(|served| served.received).collect();
    received.sort_unstable();
    received.windows(2).map(|pair| pair[1].since(pair[0]).into()).collect()
}

/// What longer gaps have beyond 30 µs. The exponential distribution has no memory: of a Poisson process these are exponential with
/// the same rate.
pub fn beyond_a_send(gaps: &[Duration]) -> Vec<Duration> {
    gaps.iter().filter_map(|gap| gap.checked_sub(BEYOND)).collect()
}

/// The number of windows that fail the Anderson–Darling test of a Poisson process with this rate, and the number of
/// windows.
pub fn failing_windows(gaps: &[Duration], rate_per_s: f64, window: usize) -> (u64, u64) {
    let tested = gaps.chunks_exact(window).filter_map(|gaps| test_known_rate(gaps, rate_per_s).ok());
    tested.fold((0, 0), |(failing, all), test| (failing + u64::from(test.p_value < LEVEL), all + 1))
}

/// Poisson arrivals: of the gaps beyond what a send takes, no more windows fail than chance allows.
pub fn poisson(
    instrument: &Instrument<'_>,
    rate_per_s: f64,
    window: usize,
    length: Duration,
) -> Result<Vec<Finding>, CheckError> {
    let server = instrument.start(|_| ())?;
    let measured =
        instrument.run(&server, &TestLoad::http(CONNECTIONS, LoadShape::Poisson(rate_per_s), length))?;
    let (failing, all) = failing_windows(&beyond_a_send(&gaps(&server.log()?)), rate_per_s, window);
    let case = format!(
        "Poisson at {rate_per_s}/s: windows of {window} gaps beyond {} µs that fail Anderson–Darling",
        BEYOND.as_micros()
    );
    let Ok(share) = Proportion::new(failing, all) else { return Ok(Vec::new()) };
    let confidence = Confidence::new(CONFIDENCE).expect("a level below 1");
    let bounds = share.clopper_pearson(confidence);
    let mut finding = Finding::new("arrivals", case, FindingUnit::Share, LEVEL, share.estimate()).as_limit();
    finding.passed = bounds.contains(LEVEL) || share.estimate() < LEVEL;
    finding.tolerance = bounds.half_width();
    let lag = &measured.summary.client.lag_us;
    finding.note =
        Some(format!("{failing} of {all} windows; lag {} µs (p50), {} µs (p99)", lag.p50, lag.p99));
    Ok(vec![finding])
}

/// Evenly spaced arrivals over many connections: few gaps deviate, so connections do not send at the same time.
pub fn even(
    instrument: &Instrument<'_>,
    rate_per_s: f64,
    length: Duration,
) -> Result<Vec<Finding>, CheckError> {
    let server = instrument.start(|_| ())?;
    instrument.run(&server, &TestLoad::http(CONNECTIONS, LoadShape::Even(rate_per_s), length))?;
    let expected = 1.0 / rate_per_s;
    let mut gaps = gaps(&server.log()?);
    gaps.sort_unstable();
    let at =
        |share: f64| gaps.get((share * gaps.len() as f64) as usize).map_or(f64::NAN, Duration::as_secs_f64);
    let row = |name: &'static str, share: f64| {
        let case = format!("even gaps at {rate_per_s}/s over {CONNECTIONS} connections");
        let finding =
            Finding::new("arrivals", case, FindingUnit::Microseconds, expected * 1e6, at(share) * 1e6)
                .statistic(name);
        finding.within((expected * 1e6 * 0.1).max(20.0)).as_limit()
    };
    Ok(vec![row("p1", 0.01), row("p50", 0.5), row("p99", 0.99)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(received: &[u64]) -> Vec<ServedRequest> {
        received.iter().map(|at| ServedRequest { received: Nanos(*at), sent: Nanos(at + 9) }).collect()
    }

    #[test]
    fn gaps_are_in_the_order_of_arrival() {
        assert_eq!(gaps(&log(&[30, 10, 15])), [5, 15].map(Duration::from_nanos));
    }

    #[test]
    fn gaps_count_beyond_what_a_send_takes() {
        let gaps = [5, 30, 31, 1_000].map(Duration::from_micros);
        assert_eq!(beyond_a_send(&gaps), [0, 1, 970].map(Duration::from_micros));
    }

    #[test]
    fn even_gaps_fail_the_poisson_test() {
        let even = vec![Duration::from_millis(1); 1_050];
        assert_eq!(failing_windows(&even, 1_000.0, 100), (10, 10));
    }
}
