//! A server that gets slower and slower, and one whose queue overflows.

use std::time::Duration;

use load::record::ErrorKind;
use load::spans::Spans;
use stats::confidence::Confidence;
use stats::proportion::Proportion;
use stats::queueing::lost_share;
use stats::steady::{DriftTolerance, SteadyState, detect_steady_state};

use super::percentiles::compare;
use crate::finding::{Finding, Unit};
use crate::instrument::{CheckError, Instrument, Load, Pace};
use crate::known::service::Service;

const RATE: f64 = 1_000.0;
const SLOTS: u32 = 10;
const SERVICE: Duration = Duration::from_millis(10);
/// A sure mistake, not bad luck: one run in ten thousand.
const SURE: f64 = 0.9999;

/// Ten places and no queue, a thousand requests a second of ten milliseconds: Erlang's formula tells how many
/// find no place, if they come as a Poisson process. And no refusal is missed or counted twice.
pub fn overflow(instrument: &Instrument<'_>, length: Duration) -> Result<Vec<Finding>, CheckError> {
    let server = instrument.start(|behaviour| {
        behaviour.service = Service::Exponential(SERVICE);
        behaviour.slots = Some(SLOTS as usize);
    })?;
    let measured = instrument.run(&server, &Load::http(64, Pace::Poisson(RATE), length))?;
    let account = &measured.account;
    let refused = measured.summary.errors.get(&ErrorKind::UnexpectedReply).copied().unwrap_or(0);
    let known = lost_share(RATE * SERVICE.as_secs_f64(), SLOTS);
    let counts = Finding::new("queue", "refusals", Unit::Count, account.refused as f64, refused as f64);
    let share = Proportion::new(refused, account.requests.max(1).max(refused));
    let Ok(share) = share else { return Ok(vec![counts]) };
    let sure = Confidence::new(SURE).expect("a level below 1");
    let tolerance = share.clopper_pearson(sure).half_width();
    // A refusal makes the next one likelier for a service time, so they scatter about twice as far.
    let erlang = Finding::new("queue", "share refused, by Erlang", Unit::Share, known, share.estimate());
    Ok(vec![counts, erlang.within(2.0 * tolerance)])
}

/// A server that takes 10 ms more each second: its times are still its times, and it is not called steady.
pub fn slower_and_slower(instrument: &Instrument<'_>, length: Duration) -> Result<Vec<Finding>, CheckError> {
    let server = instrument.start(|behaviour| {
        behaviour.service = Service::Fixed(Duration::from_millis(1));
        behaviour.slows = Duration::from_millis(10);
    })?;
    let measured = instrument.run(&server, &Load::http(256, Pace::Poisson(RATE), length))?;
    let mut findings = compare("queue", "slower and slower", &measured, false);
    let p50: Vec<f64> =
        Spans::of(&measured.outcome).intervals.iter().map(|span| span.response_time_us.p50 as f64).collect();
    let is_steady =
        matches!(detect_steady_state(&p50, DriftTolerance::PERCENTILE), SteadyState::Steady { .. });
    let called = f64::from(u8::from(is_steady));
    findings.push(Finding::new("queue", "slower and slower: times called steady", Unit::Count, 0.0, called));
    Ok(findings)
}
