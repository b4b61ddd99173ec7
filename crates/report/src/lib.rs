//! From a run directory to HTML, Markdown, CSV and JSON.
//!
//! A report is made from what the directory holds and from nothing else: it can be made again when the servers are
//! long gone, and of a run that was cut off. [`archive::Run`] says what could not be read; the report repeats it.
//!
//! ```no_run
//! let run = archive::Archive::new("runs").open("latest")?;
//! std::fs::write("report.html", report::html(&run)?)?;
//! println!("{}", report::markdown(&run)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | function | for | holds |
//! |---|---|---|
//! | [`html`] | a reader | everything, in one page that opens offline |
//! | [`markdown`] | a pull request | the verdict, its table, what to know of it |
//! | [`csv`] | a spreadsheet | one row a trial |
//! | [`json`] | a program | plan, facts, trials and verdict in one object |
//!
//! **Goals.** Every figure names the file that it came from. Whatever a run directory says, which may have come from
//! anyone, is shown as text and never as markup.
//!
//! **Not goals.** No statistics: the verdict has them. No choice of what is fair: the verdict has it. The page is
//! made in `web/` and committed here as one file, so that building needs cargo alone.
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::float_cmp, reason = "tests: a panic is a failure with a line")
)]

mod cpus;
mod error;
mod html;
mod markdown;
mod page;
mod record;
mod table;
mod telemetry;
mod timeline;
mod words;

use archive::Run;

pub use self::error::ReportError;

/// The name by which a page lies in its run directory.
pub const FILE_NAME: &str = "report.html";

/// One page with everything, which opens offline and prints.
pub fn html(run: &Run) -> Result<String, ReportError> {
    html::render(&page::Page::of(run))
}

/// The verdict and what to know of it, for a pull request.
pub fn markdown(run: &Run) -> Result<String, ReportError> {
    Ok(markdown::render(run))
}

/// One row a trial, for a spreadsheet, as RFC 4180 has it.
pub fn csv(run: &Run) -> Result<String, ReportError> {
    table::render(run)
}

/// Plan, facts, trials and verdict in one object, for a program.
pub fn json(run: &Run) -> Result<String, ReportError> {
    let mut text = serde_json::to_string_pretty(&record::Record::of(run))?;
    text.push('\n');
    Ok(text)
}
