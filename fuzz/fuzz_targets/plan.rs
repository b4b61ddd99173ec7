//! Fuzzes a plan file: what can be read can be checked, written, and read again.
#![no_main]

use archive::model::Plan;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(plan) = text.parse::<Plan>() else { return };
    let _ = bakeoff::check(&plan);
    let written = toml::to_string(&plan).expect("a plan can be written");
    assert_eq!(written.parse::<Plan>().expect("and read again"), plan);
});
