//! A keeper program for the tests of this crate. (`showdown` runs itself as its keeper.)

use std::process::ExitCode;

fn main() -> ExitCode {
    host::keeper_main(std::env::args_os()).unwrap_or(ExitCode::FAILURE)
}
