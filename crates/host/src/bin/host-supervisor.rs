//! A supervisor program for the tests of this crate. (`showdown` runs itself as its supervisor.)

use std::process::ExitCode;

fn main() -> ExitCode {
    host::supervisor_main(std::env::args_os()).unwrap_or(ExitCode::FAILURE)
}
