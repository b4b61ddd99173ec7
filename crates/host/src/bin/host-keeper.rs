//! A keeper and nothing else, for the tests of this crate: `showdown` is its own keeper.

use std::process::ExitCode;

fn main() -> ExitCode {
    host::keeper_main(std::env::args_os()).unwrap_or(ExitCode::FAILURE)
}
