//! Fuzzes folded stacks: what can be read is written as itself, and has a form for Firefox Profiler.
#![no_main]

use std::time::{Duration, SystemTime};

use libfuzzer_sys::fuzz_target;
use profile::stacks::SampleSource;
use profile::{firefox, folded};

fuzz_target!(|text: &str| {
    let parse = |text: &str| folded::parse(text, SampleSource::CpuClock, Duration::from_millis(10));
    let Ok(stacks) = parse(text) else { return };
    assert_eq!(parse(&folded::write(&stacks)), Ok(stacks.clone()));
    let _ = firefox::write(&stacks, "fuzz", SystemTime::UNIX_EPOCH);
});
