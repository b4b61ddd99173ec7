//! Fuzzes the decoder of `wire::http1`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use fuzz::{check, codecs};

fuzz_target!(|data: &[u8]| check(data, codecs::Http1::new));
