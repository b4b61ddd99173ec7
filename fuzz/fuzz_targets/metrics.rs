//! Fuzzes the metrics that a server under test has on its page. The first line is the series that is wanted.
#![no_main]

use libfuzzer_sys::fuzz_target;
use workload::exposition;

fuzz_target!(|text: &str| {
    let (wanted, page) = text.split_once('\n').unwrap_or_default();
    let _ = exposition::is_exposition(page);
    let Ok(sum) = exposition::sum(page, wanted) else { return };
    // Comments and empty lines are no series.
    let is_sample = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with('#');
    let samples: Vec<&str> = page.lines().filter(is_sample).collect();
    let alone = exposition::sum(&samples.join("\n"), wanted).expect("every line has parsed");
    assert_eq!(alone.map(f64::to_bits), sum.map(f64::to_bits));
    // Series that have labels are among all series of the name.
    let name = wanted.split('{').next().unwrap_or_default();
    if sum.is_some() && !name.trim().is_empty() {
        assert!(exposition::sum(page, name).is_ok_and(|all| all.is_some()), "{name:?}");
    }
});
