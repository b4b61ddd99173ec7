//! The calibration that a user runs: all checks at a length that fits into a minute, the host's floor, and
//! whether this host and this engine are fit to measure.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::checks::comparison::Resolution;
use crate::checks::percentiles::Level;
use crate::checks::{arrivals, capacity, comparison, counts, freeze, percentiles, queue, saturation, steady};
use crate::finding::{Finding, Unit, Weight};
use crate::floor::{self, Floor};
use crate::instrument::{CheckError, Instrument, Protocol, StealWatch};
use crate::known::behaviour::Freeze;

/// A part of the selftest, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Replies, errors and dropped connections are counted exactly.
    Counts,
    /// A server that freezes for a tenth of the time.
    Freeze,
    /// A queue that overflows, and a server that gets slower and slower.
    Queue,
    /// A cache that fills is measured when it is full.
    Steady,
    /// Percentiles of known distributions.
    Percentiles,
    /// Gaps between requests as they are sent.
    Arrivals,
    /// A client that is the limit says so.
    Saturation,
    /// What this host adds, and what a comparison can show here.
    Floor,
}

impl Part {
    /// All of them.
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

    /// What is going on, for whoever waits.
    pub fn doing(self) -> &'static str {
        match self {
            Self::Counts => "counting replies, errors and dropped connections",
            Self::Freeze => "freezing a server for a tenth of the time",
            Self::Queue => "overflowing a queue; a server that gets slower and slower",
            Self::Steady => "filling a cache",
            Self::Percentiles => "measuring known distributions",
            Self::Arrivals => "looking at the gaps between requests",
            Self::Saturation => "asking the client for more than it can do",
            Self::Floor => "measuring what this host adds, and what comparisons can show",
        }
    }
}

/// May this engine be believed on this host?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fitness {
    /// All lines are met.
    Fit,
    /// But for the lines that miss, which say what cannot be measured here.
    FitWithLimits,
    /// A line misses that everything rests on.
    Unfit,
}

/// What a selftest found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// In a word.
    pub fitness: Fitness,
    /// Why not, or not without limits: one line for each that misses.
    pub reasons: Vec<String>,
    /// What one worker can offer at most and be believed, operations a second, by protocol; empty if it was not looked for.
    pub capacity_per_s: Vec<(&'static str, f64)>,
    /// The table.
    pub findings: Vec<Finding>,
    /// The host's floor, if it was looked for.
    pub floor: Option<Floor>,
    /// What comparisons can show here, if it was looked for.
    pub resolution: Option<Resolution>,
    /// Share of the CPUs' time that the hypervisor took meanwhile, 0 to 1; none where the kernel does not say.
    pub stolen: Option<f64>,
    /// How long it took.
    pub seconds: f64,
}

/// Where the hypervisor takes more of the CPUs, no trial of a comparison counts, and a line that misses says nothing.
const MAX_STEAL: f64 = 0.02;

const PERCENTILES: Duration = Duration::from_secs(1);
const SHARES: [f64; 3] = [0.1, 0.5, 0.8];

/// Runs the parts, tells of each before it begins, and judges.
pub fn run(
    instrument: &Instrument<'_>,
    parts: &[Part],
    observe: &mut dyn FnMut(Part),
) -> Result<Report, CheckError> {
    let begun = Instant::now();
    let mut report = Report {
        fitness: Fitness::Fit,
        reasons: Vec::new(),
        capacity_per_s: Vec::new(),
        findings: Vec::new(),
        floor: None,
        resolution: None,
        stolen: None,
        seconds: 0.0,
    };
    let steal = instrument.watch_steal();
    for part in Part::ALL.into_iter().filter(|part| parts.contains(part)) {
        observe(part);
        run_part(instrument, part, &mut report)?;
    }
    if let Some(floor) = &report.floor {
        allow_for(floor, &mut report.findings);
    }
    report.stolen = steal.and_then(StealWatch::stop);
    (report.fitness, report.reasons) = judge(&report.findings, report.stolen);
    report.seconds = begun.elapsed().as_secs_f64();
    Ok(report)
}

fn run_part(instrument: &Instrument<'_>, part: Part, report: &mut Report) -> Result<(), CheckError> {
    let seconds = Duration::from_secs_f64;
    let findings = &mut report.findings;
    match part {
        Part::Counts => findings.extend(counts::check(instrument)?),
        Part::Freeze => {
            let tenth = Freeze { length: seconds(0.2), period: seconds(2.0) };
            for (by, connections) in [(freeze::By::Itself, 1), (freeze::By::Signals, 100)] {
                findings.extend(freeze::check(instrument, tenth, by, 2, connections)?);
            }
        }
        Part::Queue => {
            findings.extend(queue::overflow(instrument, seconds(3.0))?);
            findings.extend(queue::slower_and_slower(instrument, seconds(2.5))?);
        }
        Part::Steady => findings.extend(steady::check(instrument, seconds(4.0))?),
        Part::Percentiles => {
            for protocol in [Protocol::Http, Protocol::Memcached] {
                let capacity_per_s = capacity::believed(instrument, protocol)?;
                report.capacity_per_s.push((protocol.name(), capacity_per_s));
                let at = |share| Level { protocol, capacity_per_s, share };
                let mut cases = SHARES.map(|share| ("exponential:2ms", at(share))).to_vec();
                if protocol == Protocol::Http {
                    cases.extend(
                        ["fixed:1ms", "uniform:1ms..3ms", "bimodal:1ms,10ms,7%"].map(|s| (s, at(0.1))),
                    );
                }
                for (service, level) in cases {
                    let service = service.parse().expect("a service time");
                    report.findings.extend(percentiles::check(instrument, service, level, PERCENTILES)?);
                }
            }
        }
        Part::Arrivals => {
            for (rate, window, length) in [(1_000.0, 500, 1.6), (10_000.0, 1_000, 1.2)] {
                findings.extend(arrivals::poisson(instrument, rate, window, seconds(length))?);
            }
            findings.extend(arrivals::even(instrument, 1_000.0, seconds(1.2))?);
        }
        Part::Saturation => {
            let capacity_per_s = capacity::of_client(instrument, Protocol::Http)?;
            findings.extend(saturation::check(instrument, capacity_per_s, 2, seconds(0.7))?);
        }
        Part::Floor => {
            report.floor = Some(floor::measure(instrument, seconds(1.2))?);
            report.resolution = comparison::resolution(instrument, 6, seconds(0.4))?;
        }
    }
    Ok(())
}

/// Times that miss by no more than what this host adds to every time say nothing against the engine: they are its
/// limit, which the floor tells in microseconds.
fn allow_for(floor: &Floor, findings: &mut [Finding]) {
    let is_time = |finding: &&mut Finding| finding.unit == Unit::Microseconds && !finding.met;
    for finding in findings.iter_mut().filter(is_time) {
        if (finding.measured - finding.known).abs() <= finding.tolerance + floor.added_us() {
            finding.weight = Weight::Limit;
        }
    }
}

/// Fit if nothing misses; unfit if something grave does. A hypervisor that takes the CPUs is the likely reason of all
/// others, and none where every line is met all the same.
fn judge(findings: &[Finding], stolen: Option<f64>) -> (Fitness, Vec<String>) {
    let missing: Vec<&Finding> = findings.iter().filter(|finding| !finding.met).collect();
    if missing.is_empty() {
        return (Fitness::Fit, Vec::new());
    }
    let hypervisor = stolen.filter(|share| *share > MAX_STEAL).map(|share| {
        format!(
            "the hypervisor took {:.1} % of the CPUs meanwhile, and what misses may be its doing: measure when its other machines sleep, or on one of your own",
            share * 100.0
        )
    });
    let is_grave = missing.iter().any(|finding| finding.weight == Weight::Grave);
    let fitness = if is_grave { Fitness::Unfit } else { Fitness::FitWithLimits };
    (fitness, hypervisor.into_iter().chain(reasons(&missing)).collect())
}

/// One line for each thing that was looked at, with those of its numbers that miss.
fn reasons(missing: &[&Finding]) -> Vec<String> {
    let of_one = |a: &&Finding, b: &&Finding| (a.check, &a.what) == (b.check, &b.what);
    let reason = |findings: &[&Finding]| {
        let first = findings[0];
        let points: Vec<&str> =
            findings.iter().map(|finding| finding.point).filter(|p| !p.is_empty()).collect();
        let points = if points.is_empty() { String::new() } else { format!(": {}", points.join(", ")) };
        let note = first.note.as_ref().map_or(String::new(), |note| format!(" ({note})"));
        format!("{}: {}{points}{note}", first.check, first.what)
    };
    missing.chunk_by(of_one).map(reason).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_grave_miss_makes_a_host_unfit_and_a_limit_does_not() {
        let good = Finding::new("counts", "replies", Unit::Count, 1.0, 1.0);
        let limit = Finding::new("percentiles", "p99.9", Unit::Count, 1.0, 2.0).as_limit();
        let grave = Finding::new("freeze", "max", Unit::Count, 1.0, 2.0);
        assert_eq!(judge(std::slice::from_ref(&good), None), (Fitness::Fit, vec![]));
        assert_eq!(judge(&[good.clone(), limit.clone()], None).0, Fitness::FitWithLimits);
        let (fitness, reasons) = judge(&[good, limit, grave.clone().at("p95"), grave.at("max")], Some(0.01));
        assert_eq!((fitness, reasons.len()), (Fitness::Unfit, 2));
        assert_eq!(reasons[1], "freeze: max: p95, max");
    }

    #[test]
    fn a_hypervisor_that_takes_the_cpus_is_the_first_reason_of_what_misses() {
        let limit = Finding::new("percentiles", "p99.9", Unit::Count, 1.0, 2.0).as_limit();
        assert_eq!(judge(std::slice::from_ref(&limit), Some(0.019)).1.len(), 1);
        let (fitness, reasons) = judge(&[limit], Some(0.123));
        assert_eq!((fitness, reasons.len()), (Fitness::FitWithLimits, 2));
        assert!(reasons[0].starts_with("the hypervisor took 12.3 % of the CPUs"), "{reasons:?}");
    }

    #[test]
    fn what_is_met_in_spite_of_a_hypervisor_is_met() {
        let good = Finding::new("counts", "replies", Unit::Count, 1.0, 1.0);
        assert_eq!(judge(&[good], Some(0.222)), (Fitness::Fit, vec![]));
    }

    #[test]
    fn what_the_host_adds_to_every_time_is_no_error_of_the_engine() {
        let nothing = stats::times::Times::default;
        let floor = Floor {
            least_us: 90,
            least_of_server_us: 50.0,
            lag_us: nothing(),
            pickup_us: nothing(),
            jitter_us: 0,
        };
        let time =
            |measured| Finding::new("percentiles", "p50", Unit::Microseconds, 1_000.0, measured).within(20.0);
        let judged = |finding| {
            let mut findings = [finding];
            allow_for(&floor, &mut findings);
            judge(&findings, None).0
        };
        assert_eq!(judged(time(1_015.0)), Fitness::Fit);
        assert_eq!(judged(time(1_055.0)), Fitness::FitWithLimits);
        assert_eq!(judged(time(1_065.0)), Fitness::Unfit);
        assert_eq!(judged(Finding::new("counts", "replies", Unit::Count, 100.0, 101.0)), Fitness::Unfit);
    }
}
