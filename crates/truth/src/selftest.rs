//! The selftest: all checks in about a minute, the host's floor, and whether this host and this engine are fit to
//! measure.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::checks::comparison::Resolution;
use crate::checks::freeze::FreezeMethod;
use crate::checks::percentiles::LoadLevel;
use crate::checks::{arrivals, capacity, comparison, counts, freeze, percentiles, queue, saturation, steady};
use crate::finding::{Finding, FindingSeverity, FindingUnit};
use crate::floor::{self, Floor};
use crate::instrument::{CheckError, Instrument, StealSampler, TestProtocol};
use crate::known::behaviour::Freeze;

/// A part of the selftest, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum SelftestPart {
    /// Replies, errors and dropped connections are counted exactly.
    Counts,
    /// The response times of a server that freezes for a tenth of the time.
    Freeze,
    /// A queue that overflows, and a server that slows down.
    Queue,
    /// The steady state of a cache that fills.
    Steady,
    /// Percentiles of known distributions.
    Percentiles,
    /// The gaps between requests.
    Arrivals,
    /// A saturated client is detected.
    Saturation,
    /// The host's floor, and the smallest difference that a comparison detects here.
    Floor,
}

impl SelftestPart {
    /// All parts.
    pub const ALL: [Self; 8] = [
        Self::Counts,
        Self::Freeze,
        Self::Queue,
        Self::Steady,
        Self::Percentiles,
        Self::Arrivals,
        Self::Saturation,
        Self::Floor,
    ];

    /// What the part does, for the progress bar.
    pub fn activity(self) -> &'static str {
        match self {
            Self::Counts => "counting replies, errors and dropped connections",
            Self::Freeze => "freezing a server for a tenth of the time",
            Self::Queue => "overflowing a queue and slowing a server down",
            Self::Steady => "filling a cache",
            Self::Percentiles => "measuring known distributions",
            Self::Arrivals => "measuring the gaps between requests",
            Self::Saturation => "saturating the client",
            Self::Floor => "measuring the host's floor and the resolution of comparisons",
        }
    }
}

/// Whether the engine can be trusted on this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fitness {
    /// Every finding passed.
    Fit,
    /// Some findings failed; each is a limit of what can be measured here.
    FitWithLimits,
    /// A finding failed that every measurement depends on.
    Unfit,
}

/// The result of a selftest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SelftestReport {
    /// Whether the engine can be trusted here.
    pub fitness: Fitness,
    /// Why not without limits: one line for each case that failed.
    pub reasons: Vec<String>,
    /// Pairs of protocol and the highest open-loop rate, operations per second, at which one worker is valid. Empty
    /// if it was not measured.
    pub capacity_per_s: Vec<(&'static str, f64)>,
    /// Known and measured values.
    pub findings: Vec<Finding>,
    /// The host's floor, if it was measured.
    pub floor: Option<Floor>,
    /// The smallest difference that comparisons detect here, if it was measured.
    pub resolution: Option<Resolution>,
    /// Share of CPU time that the hypervisor took during the test, 0 to 1; `None` where the kernel does not report it.
    pub steal: Option<f64>,
    /// Who else measured on this machine at the same time, if somebody did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_measurement: Option<String>,
    /// Duration of the test, seconds.
    pub duration_s: f64,
}

/// Above this share of steal every trial of a comparison is invalid, and a failed finding has no meaning.
const MAX_STEAL: f64 = 0.02;

const PERCENTILES: Duration = Duration::from_secs(1);
/// How many of these measurements are repeated because something disturbed them. More would take longer than the minute
/// that the selftest has, and on a host that needs more each of them would be disturbed again.
const REPETITIONS: u32 = 4;
const SHARES: [f64; 3] = [0.1, 0.5, 0.8];

/// Runs the parts and classifies the result. `observe` is called before each part.
pub fn run(
    instrument: &Instrument<'_>,
    parts: &[SelftestPart],
    observe: &mut dyn FnMut(SelftestPart),
) -> Result<SelftestReport, CheckError> {
    let start = Instant::now();
    let mut report = SelftestReport {
        fitness: Fitness::Fit,
        reasons: Vec::new(),
        capacity_per_s: Vec::new(),
        findings: Vec::new(),
        floor: None,
        resolution: None,
        steal: None,
        other_measurement: None,
        duration_s: 0.0,
    };
    let sampler = instrument.sample_steal();
    for part in SelftestPart::ALL.into_iter().filter(|part| parts.contains(part)) {
        observe(part);
        run_part(instrument, part, &mut report)?;
    }
    if let Some(floor) = &report.floor {
        allow_for(floor, &mut report.findings);
    }
    report.steal = sampler.and_then(StealSampler::stop);
    (report.fitness, report.reasons) = classify(&report.findings, report.steal);
    report.duration_s = start.elapsed().as_secs_f64();
    Ok(report)
}

fn run_part(
    instrument: &Instrument<'_>,
    part: SelftestPart,
    report: &mut SelftestReport,
) -> Result<(), CheckError> {
    let seconds = Duration::from_secs_f64;
    let findings = &mut report.findings;
    match part {
        SelftestPart::Counts => findings.extend(counts::check(instrument)?),
        SelftestPart::Freeze => {
            let tenth = Freeze { length: seconds(0.2), period: seconds(2.0) };
            for (method, connections) in [(FreezeMethod::Internal, 1), (FreezeMethod::Signals, 100)] {
                findings.extend(freeze::check(instrument, tenth, method, 2, connections)?);
            }
        }
        SelftestPart::Queue => {
            findings.extend(queue::overflow(instrument, seconds(3.0))?);
            findings.extend(queue::slowdown(instrument, seconds(2.5))?);
        }
        SelftestPart::Steady => findings.extend(steady::check(instrument, seconds(4.0))?),
        SelftestPart::Percentiles => {
            let mut repetitions = REPETITIONS;
            for protocol in [TestProtocol::Http, TestProtocol::Memcached] {
                let capacity_per_s = capacity::highest_valid_rate(instrument, protocol)?;
                report.capacity_per_s.push((protocol.name(), capacity_per_s));
                let at = |share| LoadLevel { protocol, capacity_per_s, share };
                let mut cases = SHARES.map(|share| ("exponential:2ms", at(share))).to_vec();
                if protocol == TestProtocol::Http {
                    cases.extend(
                        ["fixed:1ms", "uniform:1ms..3ms", "bimodal:1ms,10ms,7%"].map(|s| (s, at(0.1))),
                    );
                }
                for (service, level) in cases {
                    let service = service.parse().expect("a service time");
                    report.findings.extend(percentiles::check(
                        instrument,
                        service,
                        level,
                        PERCENTILES,
                        &mut repetitions,
                    )?);
                }
            }
        }
        SelftestPart::Arrivals => {
            for (rate, window, length) in [(1_000.0, 500, 1.6), (10_000.0, 1_000, 1.2)] {
                findings.extend(arrivals::poisson(instrument, rate, window, seconds(length))?);
            }
            findings.extend(arrivals::even(instrument, 1_000.0, seconds(1.2))?);
        }
        SelftestPart::Saturation => {
            let capacity_per_s = capacity::of_client(instrument, TestProtocol::Http)?;
            findings.extend(saturation::check(instrument, capacity_per_s, 2, seconds(0.7))?);
        }
        SelftestPart::Floor => {
            report.floor = Some(floor::measure(instrument, seconds(1.2))?);
            report.resolution = comparison::resolution(instrument, 6, seconds(0.4))?;
        }
    }
    Ok(())
}

/// A time that is wrong by no more than the host's floor is a limit of the host, not an error of the engine.
fn allow_for(floor: &Floor, findings: &mut [Finding]) {
    let is_time = |finding: &&mut Finding| finding.unit == FindingUnit::Microseconds && !finding.passed;
    for finding in findings.iter_mut().filter(is_time) {
        if (finding.measured - finding.known).abs() <= finding.tolerance + floor.added_us() {
            finding.severity = FindingSeverity::Limit;
        }
    }
}

/// Fit if every finding passed; unfit if an error is among the failures. High steal is the likely reason of failures
/// and comes first; it is no reason where every finding passed.
fn classify(findings: &[Finding], steal: Option<f64>) -> (Fitness, Vec<String>) {
    let failed: Vec<&Finding> = findings.iter().filter(|finding| !finding.passed).collect();
    if failed.is_empty() {
        return (Fitness::Fit, Vec::new());
    }
    let hypervisor = steal.filter(|share| *share > MAX_STEAL).map(|share| {
        format!(
            "the hypervisor took {:.1} % of the CPU time, which may cause the failures below: run the selftest when the machine is less busy, or on a dedicated machine",
            share * 100.0
        )
    });
    let has_error = failed.iter().any(|finding| finding.severity == FindingSeverity::Error);
    let fitness = if has_error { Fitness::Unfit } else { Fitness::FitWithLimits };
    (fitness, hypervisor.into_iter().chain(reasons(&failed)).collect())
}

/// One line for each failed case, with its failed statistics.
fn reasons(failed: &[&Finding]) -> Vec<String> {
    let same_case = |a: &&Finding, b: &&Finding| (a.check, &a.case) == (b.check, &b.case);
    let reason = |findings: &[&Finding]| {
        let first = findings[0];
        let statistics: Vec<&str> =
            findings.iter().map(|finding| finding.statistic).filter(|p| !p.is_empty()).collect();
        let statistics =
            if statistics.is_empty() { String::new() } else { format!(": {}", statistics.join(", ")) };
        let note = first.note.as_ref().map_or(String::new(), |note| format!(" ({note})"));
        format!("{}: {}{statistics}{note}", first.check, first.case)
    };
    failed.chunk_by(same_case).map(reason).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_makes_a_host_unfit_and_a_limit_does_not() {
        let good = Finding::new("counts", "replies", FindingUnit::Count, 1.0, 1.0);
        let limit = Finding::new("percentiles", "p99.9", FindingUnit::Count, 1.0, 2.0).as_limit();
        let error = Finding::new("freeze", "max", FindingUnit::Count, 1.0, 2.0);
        assert_eq!(classify(std::slice::from_ref(&good), None), (Fitness::Fit, vec![]));
        assert_eq!(classify(&[good.clone(), limit.clone()], None).0, Fitness::FitWithLimits);
        let (fitness, reasons) =
            classify(&[good, limit, error.clone().statistic("p95"), error.statistic("max")], Some(0.01));
        assert_eq!((fitness, reasons.len()), (Fitness::Unfit, 2));
        assert_eq!(reasons[1], "freeze: max: p95, max");
    }

    #[test]
    fn high_steal_is_the_first_reason_of_failures() {
        let limit = Finding::new("percentiles", "p99.9", FindingUnit::Count, 1.0, 2.0).as_limit();
        assert_eq!(classify(std::slice::from_ref(&limit), Some(0.019)).1.len(), 1);
        let (fitness, reasons) = classify(&[limit], Some(0.123));
        assert_eq!((fitness, reasons.len()), (Fitness::FitWithLimits, 2));
        assert!(reasons[0].starts_with("the hypervisor took 12.3 % of the CPU time"), "{reasons:?}");
    }

    #[test]
    fn high_steal_is_no_reason_when_every_finding_passed() {
        let good = Finding::new("counts", "replies", FindingUnit::Count, 1.0, 1.0);
        assert_eq!(classify(&[good], Some(0.222)), (Fitness::Fit, vec![]));
    }

    #[test]
    fn an_error_within_the_floor_is_a_limit_of_the_host() {
        let nothing = stats::times::Times::default;
        let floor = Floor {
            min_latency_us: 90,
            server_part_us: 50.0,
            lag_us: nothing(),
            pickup_us: nothing(),
            delay_us: nothing(),
            stamped: 1.0,
            jitter_us: 0,
        };
        let time = |measured| {
            Finding::new("percentiles", "p50", FindingUnit::Microseconds, 1_000.0, measured).within(20.0)
        };
        let fitness = |finding| {
            let mut findings = [finding];
            allow_for(&floor, &mut findings);
            classify(&findings, None).0
        };
        assert_eq!(fitness(time(1_015.0)), Fitness::Fit);
        assert_eq!(fitness(time(1_055.0)), Fitness::FitWithLimits);
        assert_eq!(fitness(time(1_065.0)), Fitness::Unfit);
        assert_eq!(
            fitness(Finding::new("counts", "replies", FindingUnit::Count, 100.0, 101.0)),
            Fitness::Unfit
        );
    }
}
