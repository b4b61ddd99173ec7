//! Fuzzes the decoder of `wire::smtp`.
#![no_main]

use fuzz::{check, codecs};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| check(data, codecs::Smtp::new));
