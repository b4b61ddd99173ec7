//! A run of transfers with every key. A new field does not compile without an entry here.

use std::collections::BTreeMap;

use archive::model::{
    ChangedSetting, Concurrency, ConcurrencyLimit, ConcurrencyStep, FORMAT, RanOut, Recovery, StepAdvances,
    StepTimes,
};

fn text() -> String {
    "text".to_owned()
}

pub fn concurrency() -> Concurrency {
    let times = StepTimes { count: 1, p50_us: 2, p99_us: 3, max_us: 4 };
    Concurrency {
        format: FORMAT,
        made_unix_ms: 1,
        sentence: text(),
        variant: text(),
        download: text(),
        file_bytes: Some(1),
        pace_bytes_per_s: 100.0,
        read_interval_s: 11.5,
        processes: 1,
        sources: 1,
        ended: text(),
        interrupted: true,
        breaking_point: Some(1),
        comfortable_point: Some(1),
        client_limit: Some(1),
        limits: vec![ConcurrencyLimit {
            name: text(),
            value: text(),
            allows: Some(1),
            is_changed: true,
            remedy: text(),
        }],
        settings: vec![ChangedSetting { name: text(), from: text(), to: text() }],
        chosen: BTreeMap::from([(text(), text())]),
        steps: vec![ConcurrencyStep {
            transfers: 1,
            in_progress: 1,
            attempts: 1,
            successes: 1,
            availability: 1.0,
            rise_s: 1.0,
            length_s: 1.0,
            is_steady: true,
            first_byte: times,
            first_byte_of_rise: times,
            completion: times,
            probes: 1,
            probes_failed: 1,
            pace_share: Some(1.0),
            stalled_share: 0.0,
            errors: BTreeMap::from([(text(), 1)]),
            examples: BTreeMap::from([(text(), text())]),
            advances: Some(StepAdvances {
                over_ms: 1,
                transfers: 1,
                never: 0,
                once: 0,
                twice: 1,
                fewest_bytes: 1,
            }),
            read_interval_s: Some(1.0),
            client_late_p99_us: 1,
            client_late_limit_us: 1,
            client_behind_share: Some(0.1),
            client_cpu_cores: 0.1,
            client_bytes: 1,
            server_cpu_cores: Some(0.1),
            server_bytes: Some(1),
            kernel_bytes: 1,
            tcp_bytes: 1,
            available_bytes: 1,
            counters: BTreeMap::from([(text(), 1)]),
        }],
        recovery: Some(Recovery { after_transfers: 1, answered_after_s: Some(1.0), watched_s: 3.0 }),
        ran_out: vec![RanOut { what: text(), sentence: text(), evidence: vec![text()], remedy: text() }],
    }
}
