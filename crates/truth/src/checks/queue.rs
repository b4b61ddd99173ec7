//! A server that slows down, and one whose queue overflows.

use std::time::Duration;

use load::record::ErrorKind;
use load::spans::Spans;
use stats::confidence::Confidence;
use stats::proportion::Proportion;
use stats::queueing::lost_share;
use stats::steady::{DriftTolerance, SteadyState, detect_steady_state};

use super::percentiles::compare;
use crate::finding::{Finding, FindingUnit};
use crate::instrument::{CheckError, Instrument, LoadShape, TestLoad};
use crate::known::service::ServiceTime;

const RATE: f64 = 1_000.0;
const SLOTS: u32 = 10;
const SERVICE: Duration = Duration::from_millis(10);
/// Confidence that a failure is not chance: one false failure in ten thousand runs.
const CONFIDENCE: f64 = 0.9999;

/// Ten slots without a queue, and a Poisson process of a thousand requests per second with a service time of 10 ms:
/// Erlang's formula gives the share that finds no slot. Client and server must count the same number of refusals.
pub fn overflow(instrument: &Instrument<'_>, length: Duration) -> Result<Vec<Finding>, CheckError> {
    let server = instrument.start(|behaviour| {
        behaviour.service = ServiceTime::Exponential(SERVICE);
        behaviour.slots = Some(SLOTS as usize);
    })?;
    let measured = instrument.run(&server, &TestLoad::http(64, LoadShape::Poisson(RATE), length))?;
    let account = &measured.account;
    let refused = measured.summary.errors.get(&ErrorKind::UnexpectedReply).copied().unwrap_or(0);
    let known = lost_share(RATE * SERVICE.as_secs_f64(), SLOTS);
    let counts =
        Finding::new("queue", "refusals", FindingUnit::Count, account.refused as f64, refused as f64);
    let share = Proportion::new(refused, account.requests.max(1).max(refused));
    let Ok(share) = share else { return Ok(vec![counts]) };
    let confidence = Confidence::new(CONFIDENCE).expect("a level below 1");
    let tolerance = share.clopper_pearson(confidence).half_width();
    // For one service time, a refusal makes another one more likely, so the count scatters about twice as far.
    let erlang =
        Finding::new("queue", "share refused, by Erlang", FindingUnit::Share, known, share.estimate());
    Ok(vec![counts, erlang.within(2.0 * tolerance)])
}

/// A server whose service time grows by 10 ms per second: its times are measured correctly, and it is not called steady.
pub fn slowdown(instrument: &Instrument<'_>, length: Duration) -> Result<Vec<Finding>, CheckError> {
    let server = instrument.start(|behaviour| {
        behaviour.service = ServiceTime::Fixed(Duration::from_millis(1));
        behaviour.slows = Duration::from_millis(10);
    })?;
    let measured = instrument.run(&server, &TestLoad::http(256, LoadShape::Poisson(RATE), length))?;
    let mut findings = compare("queue", "slowdown", &measured, false);
    let p50: Vec<f64> =
        Spans::of(&measured.outcome).intervals.iter().map(|span| span.response_time_us.p50 as f64).collect();
    let is_steady =
        matches!(detect_steady_state(&p50, DriftTolerance::PERCENTILE), SteadyState::Steady { .. });
    let called = f64::from(u8::from(is_steady));
    findings.push(Finding::new("queue", "slowdown: series called steady", FindingUnit::Count, 0.0, called));
    Ok(findings)
}
