//! Fuzzes the lines of a runner, with the histograms in them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use load::runner::parse_line;

fuzz_target!(|line: &str| {
    let _ = parse_line(line, &[("read".to_owned(), 1.0), ("write".to_owned(), 1.0)]);
});
