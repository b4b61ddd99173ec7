//! How a measure is named: what it is, its unit, whether more is better. The sentence of a comparison is left to
//! [`comparison_sentence`](crate::verdict::comparison_sentence).

use archive::model::{Measure, ReplacedMeasure, thousands, with_unit};

/// Name and unit of a measure, and whether more is better.
pub struct MeasureWording {
    /// `capacity at p99 < 5 ms`.
    pub what: String,
    /// `/s` or `µs`.
    pub unit: &'static str,
    /// Whether more is better.
    pub higher_is_better: bool,
}

/// The wording of a measure.
pub fn wording(measure: &Measure) -> MeasureWording {
    match measure {
        Measure::MaxThroughput => MeasureWording {
            what: "throughput in a closed loop".to_owned(),
            unit: "/s",
            higher_is_better: true,
        },
        Measure::MaxBytes => MeasureWording {
            what: "bytes a second in a closed loop".to_owned(),
            unit: "MB/s",
            higher_is_better: true,
        },
        Measure::OneByOne { .. } => MeasureWording {
            what: "operations an hour, one at a time".to_owned(),
            unit: "/h",
            higher_is_better: true,
        },
        Measure::Capacity { slo } => MeasureWording {
            what: format!("capacity at {}", spaced(slo)),
            unit: "/s",
            higher_is_better: true,
        },
        Measure::CpuTime { rate_per_s } => MeasureWording {
            what: format!("CPU time an operation{}", at_rate(*rate_per_s)),
            unit: "µs",
            higher_is_better: false,
        },
        Measure::UserCpuTime => MeasureWording {
            what: "CPU time an operation of the users".to_owned(),
            unit: "µs",
            higher_is_better: false,
        },
        Measure::UserLatency => MeasureWording {
            what: "p99 response time of the users".to_owned(),
            unit: "µs",
            higher_is_better: false,
        },
        Measure::BreakingPoint => MeasureWording {
            what: "downloads in progress at the breaking point".to_owned(),
            unit: "",
            higher_is_better: true,
        },
        Measure::LatencyCurve { rates_per_s, .. } => MeasureWording {
            what: format!("p99 response time{}", at_rate(rates_per_s.last().copied())),
            unit: "µs",
            higher_is_better: false,
        },
    }
}

/// A rate behind the name of a measure; nothing where it is not known, or varies.
pub fn at_rate(rate_per_s: Option<f64>) -> String {
    rate_per_s.map(|rate| format!(" at {}/s", thousands(rate))).unwrap_or_default()
}

/// What took the place of the planned measure, and why: a sentence without its full stop.
pub fn replaced(measure: &Measure, replaced: &ReplacedMeasure) -> String {
    let ReplacedMeasure { metric, why } = replaced;
    let mut what = wording(measure).what;
    what[..1].make_ascii_uppercase();
    format!("{what} was measured instead of {metric}, because {why}")
}

/// An objective with spaces: `p99<5ms` becomes `p99 < 5 ms`.
pub fn spaced(slo: &str) -> String {
    let mut out = String::new();
    let mut previous = ' ';
    for c in slo.chars() {
        if c == '<' {
            out.push_str(" < ");
        } else if c == ',' {
            out.push_str(", ");
        } else {
            let unit_begins = c.is_alphabetic() && previous.is_ascii_digit();
            if unit_begins {
                out.push(' ');
            }
            out.push(c);
        }
        previous = c;
    }
    out
}

/// A measured value with its unit: `131,043/s`, `15,343 MB/s`.
pub fn quantity(value: f64, unit: &str) -> String {
    with_unit(&thousands(value), unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_took_the_place_of_a_measure_is_a_sentence_with_its_reason() {
        let measure = Measure::CpuTime { rate_per_s: Some(17_000.0) };
        assert!(!wording(&measure).higher_is_better);
        let why = "the client was the limit for nginx: it needed 95 % of its cores".to_owned();
        let before = ReplacedMeasure { metric: "capacity at p99 < 5 ms".to_owned(), why };
        assert_eq!(
            replaced(&measure, &before),
            "CPU time an operation at 17,000/s was measured instead of capacity at p99 < 5 ms, because the client was the \
             limit for nginx: it needed 95 % of its cores"
        );
    }

    #[test]
    fn objectives_and_values_are_spaced() {
        assert_eq!(spaced("p99.9<20ms,errors<0.1%"), "p99.9 < 20 ms, errors < 0.1%");
        assert_eq!([quantity(131_043.0, "/s"), quantity(15_343.0, "MB/s")], ["131,043/s", "15,343 MB/s"]);
    }
}
