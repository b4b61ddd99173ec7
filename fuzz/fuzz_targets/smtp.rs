//! Fuzzes the decoder of `wire::smtp`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use fuzz::{check, codecs};

fuzz_target!(|data: &[u8]| check(data, codecs::Smtp::new));
