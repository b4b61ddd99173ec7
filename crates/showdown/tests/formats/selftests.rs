//! Selftests and accounts of known servers, with every key and every choice.

use archive::model::Times;
use truth::checks::comparison::Resolution;
use truth::clients_report::{ClientsReport, TestedClient};
use truth::finding::{Finding, FindingSeverity, FindingUnit};
use truth::floor::Floor;
use truth::known::account::{Account, ExactTimes};
use truth::selftest::{Fitness, SelftestReport};

use super::documents::{text, texts};

/// Selftests of clients: what a host prints is its own.
pub fn selftests_of_clients() -> Vec<ClientsReport> {
    let client = |fitness: &str| TestedClient {
        name: "c1".to_owned(),
        report: serde_json::json!({ "fitness": fitness }),
    };
    let reports = ["fit", "fit_with_limits", "unfit"].map(|fitness| {
        let count = Finding::new("clients", "replies", FindingUnit::Count, 5.0, 5.0);
        ClientsReport::new(vec![client(fitness)], vec![count])
    });
    reports.to_vec()
}

pub fn selftests() -> Vec<SelftestReport> {
    [Fitness::Fit, Fitness::FitWithLimits, Fitness::Unfit].map(selftest).to_vec()
}

fn selftest(fitness: Fitness) -> SelftestReport {
    let finding = |unit, severity| Finding {
        check: "check",
        case: text(),
        statistic: "p99",
        unit,
        known: 1.5,
        measured: 1.5,
        tolerance: 0.5,
        severity,
        passed: true,
        note: Some(text()),
    };
    SelftestReport {
        fitness,
        reasons: texts(),
        capacity_per_s: vec![("HTTP", 1.5)],
        findings: vec![
            finding(FindingUnit::Microseconds, FindingSeverity::Error),
            finding(FindingUnit::Count, FindingSeverity::Limit),
            finding(FindingUnit::Share, FindingSeverity::Limit),
            finding(FindingUnit::PerSecond, FindingSeverity::Limit),
        ],
        floor: Some(Floor {
            min_latency_us: 1,
            server_part_us: 0.5,
            lag_us: Times::default(),
            pickup_us: Times::default(),
            delay_us: Times::default(),
            stamped: 1.0,
            jitter_us: 1,
        }),
        resolution: Some(Resolution { log_sd: 0.1, smallest_difference: vec![(3, Some(0.1)), (6, None)] }),
        steal: Some(0.1),
        other_measurement: Some(text()),
        duration_s: 1.5,
    }
}

pub fn account() -> Account {
    Account { service_time_us: Some(ExactTimes::default()), ..Account::default() }
}
