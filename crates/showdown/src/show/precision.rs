//! The precision that a comparison has on this host now, as a finding of `showdown doctor`.

use host::doctor::{HostFinding, Severity};
use runs::{EqualServers, MeasurePrecision, PrecisionNow};

use crate::show::layout::units::give_or_take;

/// Smaller shares of the CPUs are those of an idle machine.
const WORTH_NAMING: f64 = 0.02;

/// The finding with what was measured.
pub fn finding(now: &PrecisionNow) -> HostFinding {
    let taken = taken(now);
    let is_known = now.measures.iter().all(|measure| measure.of_quick_comparison.is_some());
    let level = if is_known && taken.is_empty() { Severity::Ok } else { Severity::Note };
    let mut found: Vec<String> = now.measures.iter().map(half_width).collect();
    found.extend(taken.iter().cloned());
    let measured: Vec<String> = now.measures.iter().filter_map(measured).collect();
    let remedy = (!taken.is_empty()).then(|| {
        "stop what uses the CPUs and ask again; beside it, CPU time an operation is the measure (--measure cpu)"
            .to_owned()
    });
    HostFinding {
        id: "precision".into(),
        level,
        found: found.join("; "),
        why: format!(
            "half of the interval that a ratio has at the first look of a quick comparison; measured: {}",
            if measured.is_empty() { "nothing".to_owned() } else { measured.join("; ") }
        )
        .into(),
        remedy,
    }
}

/// `±2.1 % of throughput in a quick comparison`.
fn half_width(precision: &MeasurePrecision) -> String {
    let words = precision.measure.words();
    if let Some(share) = precision.of_quick_comparison {
        return format!("{} of {words} in a quick comparison", give_or_take(share));
    }
    let why = precision.reasons.first().map_or("too few trials were valid", String::as_str);
    format!("that of {words} is unknown: {why}")
}

/// `throughput of two equal servers 1.004 (0.981–1.028), 7 blocks in 15 s`.
fn measured(precision: &MeasurePrecision) -> Option<String> {
    let EqualServers { ratio, low, high, blocks } = precision.equal_servers?;
    let (words, took) = (precision.measure.words(), precision.took_s);
    Some(format!(
        "{words} of two equal servers {ratio:.3} ({low:.3}–{high:.3}), {blocks} blocks in {took:.0} s"
    ))
}

/// Who used the CPUs meanwhile, where it is more than on an idle machine.
fn taken(now: &PrecisionNow) -> Vec<String> {
    let parts = [(now.others, "other programs used"), (now.stolen, "the hypervisor took")];
    let named = parts.into_iter().filter_map(|(share, who)| {
        let share = share.filter(|share| *share > WORTH_NAMING)?;
        Some(format!("{who} {:.0} % of the CPUs", share * 100.0))
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use runs::ProbedMeasure;

    use super::*;

    fn precision(measure: ProbedMeasure, of_quick_comparison: Option<f64>) -> MeasurePrecision {
        let equal_servers =
            of_quick_comparison.map(|_| EqualServers { ratio: 1.004, low: 0.981, high: 1.028, blocks: 7 });
        let reasons = vec!["the client was the limit".to_owned()];
        MeasurePrecision { measure, of_quick_comparison, equal_servers, took_s: 15.2, reasons }
    }

    #[test]
    fn what_was_measured_is_said_with_who_used_the_cpus() {
        let measures = vec![
            precision(ProbedMeasure::Throughput, Some(0.021)),
            precision(ProbedMeasure::CpuTime, Some(0.012)),
        ];
        let quiet = PrecisionNow { measures, others: Some(0.004), stolen: Some(0.0) };
        let quiet_finding = finding(&quiet);
        assert_eq!(
            quiet_finding.found,
            "±2.1 % of throughput in a quick comparison; ±1.2 % of CPU time an operation in a quick comparison"
        );
        assert_eq!((quiet_finding.level, quiet_finding.remedy), (Severity::Ok, None));
        let busy = finding(&PrecisionNow { others: Some(0.45), ..quiet });
        assert!(
            busy.found.ends_with("in a quick comparison; other programs used 45 % of the CPUs"),
            "{busy:?}"
        );
        assert!(busy.level == Severity::Note && busy.remedy.is_some());
        assert!(busy.why.contains("throughput of two equal servers 1.004 (0.981–1.028), 7 blocks in 15 s"));
    }

    #[test]
    fn a_precision_that_could_not_be_measured_has_the_reason() {
        let measures = vec![precision(ProbedMeasure::Throughput, None)];
        let unknown = finding(&PrecisionNow { measures, others: None, stolen: None });
        assert_eq!(unknown.found, "that of throughput is unknown: the client was the limit");
        assert_eq!(unknown.level, Severity::Note);
    }
}
