//! How much of the CPU time an operation the hypervisor may have stolen, where the kernel counts that as CPU time, or does not tell
//! whether it does.

use archive::model::{Caveat, CpuTimePerOperation, Facts, Plan, Trial, TrialStatus, Variant};
use host::facts::{STOLEN_TIME_COUNTED, STOLEN_TIME_TAKEN_OUT, STOLEN_TIME_UNREPORTED};

use crate::verdict::input::FinishedTrials;

/// Heading of its entry in `docs/BIAS.md`.
pub const STOLEN_TIME: &str = "stolen-time";

/// The fact of a host that says where stolen time is.
const FACT: &str = "kernel.stolen_time";

/// A smaller share of the CPU time is less than any comparison shows.
const WORTH_NAMING: f64 = 0.001;

/// The caveat with what was stolen from each side; none where it is not in the CPU time, or nothing was.
pub fn caveat(plan: &Plan, facts: &Facts, trials: &FinishedTrials) -> Option<Caveat> {
    if !plan.measure.is_cpu_time() {
        return None;
    }
    let shares: Vec<(&Variant, f64)> = plan
        .variants
        .iter()
        .filter(|variant| !is_taken_out(fact(facts, variant)))
        .filter_map(|variant| Some((variant, stolen_share(trials.all(), &variant.name)?)))
        .collect();
    let (variant, most) = shares.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    if *most < WORTH_NAMING {
        return None;
    }
    let sides: Vec<String> = shares
        .iter()
        .map(|(variant, share)| format!("{} of the CPU time of {}", percent(*share), variant.name))
        .collect();
    let counted = match fact(facts, variant) {
        Some(STOLEN_TIME_COUNTED) => "This kernel counts that as CPU time",
        _ => "Whether this kernel counts that as CPU time is unknown",
    };
    let text = format!(
        "The hypervisor took time from the CPUs of the servers while they were loaded: {}. {counted}. It meets servers in turns alike; \
         if it had met one alone, the ratio would be off by {}, which the interval does not contain.",
        sides.join(", "),
        percent(*most)
    );
    Some(Caveat { id: STOLEN_TIME.to_owned(), text })
}

/// Whether the kernel takes out what the hypervisor reports. What it reports for the first time in the run is taken out as well.
fn is_taken_out(fact: Option<&str>) -> bool {
    matches!(fact, Some(STOLEN_TIME_TAKEN_OUT | STOLEN_TIME_UNREPORTED))
}

fn fact<'f>(facts: &'f Facts, variant: &Variant) -> Option<&'f str> {
    let there = variant.host.as_ref().and_then(|name| facts.hosts.get(name));
    there.unwrap_or(&facts.host).get(FACT).map(String::as_str)
}

/// What was stolen in the slices of a variant's valid trials, as a share of its CPU time in them; none without CPU time.
fn stolen_share<'t>(trials: impl Iterator<Item = &'t Trial>, variant: &str) -> Option<f64> {
    let valid = trials.filter(|trial| trial.status == TrialStatus::Valid && trial.variant == variant);
    let counted: Vec<&CpuTimePerOperation> = valid.filter_map(|trial| trial.cpu_time.as_ref()).collect();
    let used: f64 = counted.iter().map(|cpu| cpu.cpu_s).sum();
    let stolen: f64 = counted.iter().map(|cpu| cpu.stolen_s).sum();
    (used > 0.0).then(|| stolen / used)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use archive::model::{Measure, SweepPoint};

    use super::*;
    use crate::plan::trial_order::ScheduledTrial;
    use crate::plan::variant_point::VariantPoint;
    use crate::testing::plan::PLAN;
    use crate::trial::blank;

    fn plan() -> Plan {
        let plan: Plan = PLAN.parse().expect("a plan");
        Plan { measure: Measure::CpuTime { rate_per_s: Some(1_000.0) }, ..plan }
    }

    /// A trial of each variant: the second one met the hypervisor.
    fn trials(plan: &Plan) -> FinishedTrials {
        let mut trials = FinishedTrials::default();
        for (variant, stolen_s) in [(0, 0.02), (1, 0.05)] {
            let scheduled =
                ScheduledTrial { number: 1, block: 1, position: variant as u32 + 1, variant_point: variant };
            let point = VariantPoint { variant, point: SweepPoint::new() };
            let cpu_time = CpuTimePerOperation {
                rate_per_s: 1_000.0,
                cpu_s: 1.0,
                operations: 1_000,
                user_us: 500.0,
                system_us: 500.0,
                between_s: 0.0,
                slices_us: Vec::new(),
                stolen_s,
                others_cores: None,
                parts: Vec::new(),
            };
            let trial = blank(plan, &scheduled, &point);
            trials.push(variant, Trial { status: TrialStatus::Valid, cpu_time: Some(cpu_time), ..trial });
        }
        trials
    }

    fn facts(stolen_time: Option<&str>) -> Facts {
        let host = stolen_time.map(|value| (FACT.to_owned(), value.to_owned()));
        Facts { host: host.into_iter().collect(), ..Facts::default() }
    }

    #[test]
    fn a_kernel_that_counts_stolen_time_gets_a_caveat_with_the_share_of_each_side() {
        let plan = plan();
        let [first, second] = [0, 1].map(|index| plan.variants[index].name.clone());
        let text = caveat(&plan, &facts(Some(STOLEN_TIME_COUNTED)), &trials(&plan)).expect("a caveat").text;
        let sides =
            format!("2.0 % of the CPU time of {first}, 5.0 % of the CPU time of {second}. This kernel");
        assert!(text.contains(&sides) && text.contains("off by 5.0 %"), "{text}");
        let unknown = caveat(&plan, &facts(None), &trials(&plan)).expect("a caveat").text;
        assert!(unknown.contains("is unknown"), "{unknown}");
    }

    #[test]
    fn a_kernel_that_takes_stolen_time_out_gets_none() {
        let plan = plan();
        assert_eq!(caveat(&plan, &facts(Some(STOLEN_TIME_TAKEN_OUT)), &trials(&plan)), None);
        assert_eq!(caveat(&plan, &facts(Some(STOLEN_TIME_UNREPORTED)), &trials(&plan)), None);
        let throughput = Plan { measure: Measure::MaxThroughput, ..plan.clone() };
        assert_eq!(caveat(&throughput, &facts(None), &trials(&plan)), None);
        assert_eq!(caveat(&plan, &facts(None), &FinishedTrials::default()), None);
    }
}
