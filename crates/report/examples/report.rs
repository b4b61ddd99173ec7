//! Writes a run's report to standard output: `cargo run -p report --example report -- runs/ID [html|md|csv|json]`.
#![allow(clippy::print_stdout, reason = "an example prints its result")]

use archive::Run;
use std::{error::Error, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let run = Run::open(Path::new(&arguments.next().ok_or("give a run directory")?))?;
    let report = match arguments.next().as_deref() {
        None | Some("html") => report::html(&run)?,
        Some("md") => report::markdown(&run)?,
        Some("csv") => report::csv(&run)?,
        Some("json") => report::json(&run)?,
        Some(other) => {
            return Err(format!("{other} is not a format of a report: give html, md, csv or json").into());
        }
    };
    print!("{report}");
    Ok(())
}
