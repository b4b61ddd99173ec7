//! Writes made-up runs into a directory: `cargo run -p archive --features example --example made-up -- DIR`.
#![allow(clippy::print_stdout, reason = "an example prints its result")]

use archive::example;
use std::path::PathBuf;

fn main() -> Result<(), archive::ArchiveError> {
    let root = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("runs"), PathBuf::from);
    for id in [example::comparison(&root, 10)?, example::sweep(&root)?, example::explanation(&root)?] {
        println!("{}", root.join(id.as_str()).display());
    }
    Ok(())
}
