//! Fuzzes the driver of users of HTTP: captures, cookies, redirects and the sessions that they fill.
#![no_main]

use fuzz::{specs, talk};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| talk(data, specs::http_users));
