//! Fuzzes the decoder of `wire::http1`.
#![no_main]

use fuzz::{check, codecs};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| check(data, codecs::Http1::new));
