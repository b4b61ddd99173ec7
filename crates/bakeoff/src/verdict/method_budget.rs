//! The budget of systematic errors: what the method itself may be wrong by, as far as that was measured. `docs/BIAS.md` has the
//! table with all of them, also those that were not measured.

use archive::model::{Facts, MethodError, Plan};

use crate::gates::Exposure;
use crate::verdict::caveats::{has_client, shares_cpus};
use crate::verdict::company;
use crate::verdict::input::FinishedTrials;

/// An error of the method and the condition under which it applies.
struct BudgetRule {
    /// Its name in the table of `docs/BIAS.md`.
    source: &'static str,
    /// The largest relative error of a ratio that was measured.
    within: f64,
    /// A run that was planned in turns may have had servers that had to run one at a time.
    applies: fn(&Plan, &Facts, Ran) -> bool,
}

/// How the trials of a run went.
#[derive(Clone, Copy)]
struct Ran {
    exposure: Exposure,
    /// Whether other programs or the hypervisor took more from a valid trial than the limits allow.
    in_company: bool,
}

const RULES: &[BudgetRule] = &[
    BudgetRule {
        source: "in turns or alone",
        within: 0.04,
        applies: |plan, _, ran| {
            ran.exposure == Exposure::InTurns && plan.variants.len() > 1 && plan.measure.is_closed_loop()
        },
    },
    BudgetRule {
        source: "client that sleeps",
        within: 0.17,
        applies: |plan, facts, _| has_client(facts) && plan.clients.is_empty() && shares_cpus(plan),
    },
    BudgetRule {
        source: "slice length with a client that sleeps",
        within: 0.08,
        applies: |plan, facts, ran| {
            let is_sliced = ran.exposure == Exposure::InTurns && plan.measure.is_closed_loop();
            is_sliced && has_client(facts) && plan.clients.is_empty() && shares_cpus(plan)
        },
    },
    BudgetRule {
        source: "capacity of a steady server",
        within: 0.13,
        applies: |plan, _, _| plan.measure.is_capacity() && !plan.measure.is_of_users(),
    },
    BudgetRule {
        source: "CPU time beside other programs",
        within: 0.013,
        applies: |plan, _, ran| ran.in_company && plan.measure.is_cpu_time(),
    },
];

/// The errors of the method that apply to a run.
pub fn method_errors(plan: &Plan, facts: &Facts, trials: &FinishedTrials) -> Vec<MethodError> {
    let exposure = company::exposure(plan, trials.all());
    errors(plan, facts, Ran { exposure, in_company: company::of_valid(trials.all()).is_some() })
}

fn errors(plan: &Plan, facts: &Facts, ran: Ran) -> Vec<MethodError> {
    let applying = RULES.iter().filter(|rule| (rule.applies)(plan, facts, ran));
    applying.map(|rule| MethodError { source: rule.source.to_owned(), within: rule.within }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan::PLAN;

    #[test]
    fn the_budget_of_the_page_has_the_bounds_of_the_program() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/BIAS.md");
        let page = std::fs::read_to_string(page).expect("the page of biases");
        for BudgetRule { source, within, .. } in RULES {
            let row = format!("| {source} | {:.0} % |", within * 100.0);
            assert!(page.contains(&row), "docs/BIAS.md has no row that begins with {row:?}");
        }
    }

    fn within(plan: &Plan, exposure: Exposure) -> f64 {
        within_beside(plan, exposure, false)
    }

    fn within_beside(plan: &Plan, exposure: Exposure, in_company: bool) -> f64 {
        let errors = errors(plan, &Facts::default(), Ran { exposure, in_company });
        errors.iter().map(|error| error.within).sum()
    }

    #[test]
    fn cpu_time_beside_other_programs_has_the_pull_towards_1_that_was_measured() {
        let measure = archive::model::Measure::CpuTime { rate_per_s: Some(1_000.0) };
        let cpu_time = Plan { measure, ..PLAN.parse().expect("a plan") };
        assert!((within_beside(&cpu_time, Exposure::InTurns, true) - 0.013).abs() < 1e-9);
        assert!(within(&cpu_time, Exposure::InTurns).abs() < 1e-9, "not where nobody disturbs");
    }

    #[test]
    fn closed_loops_that_ran_in_turns_have_a_bound_and_those_that_ran_alone_have_none() {
        let plan: Plan = PLAN.parse().expect("a plan");
        assert!((within(&plan, Exposure::InTurns) - 0.04).abs() < 1e-9);
        assert!(within(&plan, Exposure::InRandomOrder).abs() < 1e-9);
    }

    #[test]
    fn a_capacity_has_a_bound_however_the_servers_ran() {
        let measure = archive::model::Measure::Capacity { slo: "p99<5ms".to_owned() };
        let plan = Plan { measure, ..PLAN.parse().expect("a plan") };
        assert!((within(&plan, Exposure::InRandomOrder) - 0.13).abs() < 1e-9);
    }

    #[test]
    fn a_client_on_the_cpus_of_the_server_has_a_bound_however_the_servers_ran() {
        let shared: Plan = PLAN.replace("client = \"1\"", "client = \"0\"").parse().expect("a plan");
        assert!((within(&shared, Exposure::InRandomOrder) - 0.17).abs() < 1e-9);
    }
}
