//! Fuzzes the driver of `load::drivers` behind `postgres`: login, greeting and operations.
#![no_main]

use fuzz::{specs, talk};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| talk(data, specs::postgres));
