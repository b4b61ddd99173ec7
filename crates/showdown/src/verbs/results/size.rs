//! `showdown size`: the fleet that carries a load, from measured capacities.

use std::path::PathBuf;
use std::str::FromStr;

use archive::model::TrialPhase;
use cost::Targets;
use cost::sizing::{Objective, ObjectiveMatch, SizeError, SizeRequest, size};
use load::inputs::slo::{Quantity, Slo};
use load::inputs::units::parse_count;
use stats::cost::FleetRule;
use stats::quantity::OperationsPerSecond;

use crate::args::options::{AnswerFormat, WhichRuns};
use crate::exit::{CommandStatus, usage};
use crate::show;

/// Options of `showdown size`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "\
Examples:
  showdown size --for '120k req/s at p99<5ms'
  showdown size 0051-nginx 0630-h2o --for '120k req/s at p99<5ms' --headroom 30% --spares 1 --zones 3
  showdown size latest --for '2M ops/s at p99<2ms' --targets lab.toml --format json",
    after_long_help = "\
The size follows from the lower confidence bound of the capacity that a run measured at the objective, never from CPU \
utilisation. For another objective it takes the highest rate of the measured curve that meets it; what was not measured is refused.

Each zone carries peak / (zones - 1), so the fleet withstands the loss of one zone. Spares come on top.

Examples:
  showdown size --for '120k req/s at p99<5ms'
  showdown size 0051-nginx 0630-h2o --for '120k req/s at p99<5ms' --headroom 30% --spares 1 --zones 3
  showdown size latest --for '2M ops/s at p99<2ms' --targets lab.toml --format json"
)]
pub struct SizeArgs {
    #[command(flatten)]
    pub which: WhichRuns,
    /// Give the load at the peak and its objective, such as '120k req/s at p99<5ms'
    #[arg(long = "for", value_name = "LOAD", required = true)]
    pub load: PeakLoad,
    /// Keep this share of the measured capacity free
    #[arg(long, value_name = "SHARE", default_value = "30%", value_parser = parse_headroom)]
    pub headroom: f64,
    /// Add this many spare servers
    #[arg(long, value_name = "COUNT", default_value = "0")]
    pub spares: u32,
    /// Spread the servers over this many zones, of which one may be lost if there are two or more
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub zones: u32,
    /// Read prices, watts and rack units of the machines from this file
    #[arg(long, value_name = "FILE")]
    pub targets: Option<PathBuf>,
    /// Print the answer as text or as JSON
    #[arg(long, value_enum, default_value = "text")]
    pub format: AnswerFormat,
}

/// A load and its objective.
#[derive(Clone, Debug, PartialEq)]
pub struct PeakLoad {
    per_s: f64,
    slo: Slo,
}

/// Words for operations per second.
const PER_SECOND: [&str; 7] = ["req/s", "rps", "requests/s", "ops/s", "operations/s", "messages/s", "/s"];

impl FromStr for PeakLoad {
    type Err = String;

    /// `120k req/s at p99<5ms`.
    fn from_str(text: &str) -> Result<Self, String> {
        const EXAMPLE: &str = "write it as '120k req/s at p99<5ms'";
        let Some((rate, slo)) = text.split_once(" at ") else {
            return Err(format!("the number of servers follows from a load and an objective: {EXAMPLE}"));
        };
        let Some(count) = PER_SECOND.iter().find_map(|unit| rate.trim().strip_suffix(unit)) else {
            let units = PER_SECOND.join(", ");
            return Err(format!("{:?} has no unit, which is one of {units}: {EXAMPLE}", rate.trim()));
        };
        let count = parse_count(count.trim()).map_err(|error| format!("{error}: {EXAMPLE}"))?;
        let slo = slo.trim().parse().map_err(|error| format!("{error}: {EXAMPLE}"))?;
        Ok(Self { per_s: count as f64, slo })
    }
}

/// A percentage from 0 to below 100 as a share. Without the sign, 30 could be a factor.
fn parse_headroom(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let percent = percent.filter(|percent| (0.0..100.0).contains(percent));
    percent
        .map(|percent| percent / 100.0)
        .ok_or_else(|| "write a percentage from 0% to below 100%, such as 30%".to_owned())
}

/// Runs the verb.
pub fn run(args: &SizeArgs) -> anyhow::Result<CommandStatus> {
    let targets = args.targets.as_deref().map(Targets::read).transpose().map_err(usage)?;
    let runs = args.which.open()?;
    let slo = &args.load.slo;
    let compare = |measured: &str| compare(measured, slo);
    let is_met = |phase: &TrialPhase| is_met(phase, slo);
    let request = SizeRequest {
        peak: OperationsPerSecond::new(args.load.per_s),
        objective: Objective { text: slo.to_string(), compare: &compare, is_met: &is_met },
        headroom: args.headroom,
        spares: args.spares,
        zones: args.zones,
        rule: FleetRule::new(args.headroom, args.spares, args.zones).map_err(usage)?,
    };
    let report = size(&runs, targets.as_ref(), &request).map_err(|error| match error {
        SizeError::Target(error) => usage(error),
        other => other.into(),
    })?;
    args.format.print(&report, || show::costs::size::text(&report))?;
    Ok(CommandStatus::Success)
}

/// How the objective of a run compares with the one that is asked for. One that cannot be read is another one.
fn compare(measured: &str, asked: &Slo) -> ObjectiveMatch {
    let Ok(measured) = measured.parse::<Slo>() else { return ObjectiveMatch::Other };
    let implies = |one: &Slo, other: &Slo| {
        let holds = |bound: &load::inputs::slo::Bound| {
            one.bounds().iter().any(|own| own.quantity == bound.quantity && own.limit <= bound.limit)
        };
        other.bounds().iter().all(holds)
    };
    match (implies(&measured, asked), implies(asked, &measured)) {
        (true, true) => ObjectiveMatch::Same,
        (true, false) => ObjectiveMatch::MeasuredIsStricter,
        (false, _) => ObjectiveMatch::Other,
    }
}

/// Whether a phase met an objective. A percentile that is not recorded is replaced by the next higher one.
fn is_met(phase: &TrialPhase, slo: &Slo) -> bool {
    let times = &phase.response_time_us;
    let recorded = [
        (50.0, times.p50),
        (90.0, times.p90),
        (95.0, times.p95),
        (99.0, times.p99),
        (99.9, times.p99_9),
        (99.99, times.p99_99),
    ];
    let failed: u64 = phase.errors.values().sum();
    slo.is_met(|quantity| match quantity {
        Quantity::Mean => times.mean,
        Quantity::Max => times.max as f64,
        Quantity::Errors => failed as f64 / (phase.requests + failed).max(1) as f64,
        Quantity::Percentile(percent) => {
            let next = recorded.iter().find(|(known, _)| *known >= percent);
            next.map_or(times.max, |(_, value)| *value) as f64
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_has_a_rate_with_its_unit_and_an_objective() {
        let load: PeakLoad = "120k req/s at p99<5ms".parse().expect("a load");
        assert_eq!((load.per_s, load.slo.to_string().as_str()), (120_000.0, "p99<5ms"));
        assert_eq!("120k rps at p99<5ms".parse(), Ok(load));
        assert!("2M ops/s at p99<2ms,errors<0.1%".parse::<PeakLoad>().is_ok());
        let mistakes = [
            ("120k req/s", "the number of servers follows from a load and an objective: write it as"),
            ("120k at p99<5ms", "\"120k\" has no unit, which is one of req/s"),
            ("many req/s at p99<5ms", "write it as '120k req/s at p99<5ms'"),
            ("0 req/s at p99<5ms", "is not a whole number from 1 up"),
            ("120k req/s at fast", "an objective such as p99<5ms"),
        ];
        for (text, message) in mistakes {
            let error = text.parse::<PeakLoad>().expect_err(text);
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn a_headroom_is_a_percentage() {
        assert_eq!([parse_headroom("30%"), parse_headroom("0%")], [Ok(0.3), Ok(0.0)]);
        for wrong in ["30", "0.3", "100%", "-5%", "%"] {
            assert!(parse_headroom(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn objectives_are_compared_bound_by_bound() {
        let of = |measured: &str, asked: &str| compare(measured, &asked.parse().expect("an objective"));
        assert_eq!(of("p99<5ms", "p99 < 5000us"), ObjectiveMatch::Same);
        assert_eq!(of("p99<2ms", "p99<5ms"), ObjectiveMatch::MeasuredIsStricter);
        assert_eq!(of("p99<5ms,mean<1ms", "p99<5ms"), ObjectiveMatch::MeasuredIsStricter);
        assert_eq!(of("p99<5ms", "p99<2ms"), ObjectiveMatch::Other);
        assert_eq!(of("p99<5ms", "p99.9<5ms"), ObjectiveMatch::Other);
        assert_eq!(of("p99<5ms", "p99<5ms,errors<0.01%"), ObjectiveMatch::Other);
    }
}
