//! Reports of a run directory as HTML, Markdown, CSV and JSON.
//!
//! A report uses only the files of the run directory, so it can be made again without the servers, and for a run that
//! was cut off. [`archive::Run`] lists files that cannot be read, and the report shows that list.
//!
//! ```no_run
//! let run = archive::Archive::new("runs").open("latest")?;
//! std::fs::write("report.html", report::html(&run)?)?;
//! println!("{}", report::markdown(&run)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | function | for | content |
//! |---|---|---|
//! | [`html`] | a reader | everything, in one page that opens offline |
//! | [`markdown`] | a pull request | the verdict with its table, watts and caveats, or the explanation or the steps of transfers with their tables |
//! | [`csv`] | a spreadsheet | one row per trial, per figure of an explanation, or per step of transfers |
//! | [`bencher`], [`github_benchmark`] | a service that tracks benchmarks | each variant's value with its interval |
//! | [`json`] | a program | plan, facts, trials, verdict and explanation in one object |
//!
//! **Goals.** Every figure names its source file. Text of a run directory, which may come from an untrusted source, is
//! shown as text and never as markup.
//!
//! **Not goals.** Statistics and fairness checks: the verdict has them. The page is built in `web/` and committed here as
//! one file, so that a build needs cargo alone.
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::float_cmp, reason = "tests: a panic is a failure with a line")
)]

mod cell;
mod concurrency;
mod continuous;
mod cpus;
mod error;
mod escape;
mod explained;
mod flame;
mod html;
mod markdown;
mod page;
mod record;
mod table;
mod telemetry;
mod timeline;
mod tuned;
mod watts_columns;
mod words;
mod write;

use archive::Run;
use archive::model::ExplanationBasis;
use cost::pricing::CostReport;

pub use self::error::ReportError;
pub use self::write::{page_of, write_html, write_page};

/// The file name of the HTML report in its run directory.
pub const FILE_NAME: &str = "report.html";

/// The whole run as one page, which opens offline and prints.
pub fn html(run: &Run) -> Result<String, ReportError> {
    html::render(&page::Page::of(run))
}

/// The same with a section of what the variants cost, and published figures of the same workload.
pub fn html_with_cost(run: &Run, cost: &CostReport) -> Result<String, ReportError> {
    html::render(&page::Page::of(run).with_cost(run, cost))
}

/// The values of the variants for Bencher (Bencher Metric Format), one benchmark for each. An error where no value is valid.
pub fn bencher(run: &Run) -> Result<String, ReportError> {
    continuous::bencher(run)
}

/// The same for github-action-benchmark (`customBiggerIsBetter` or `customSmallerIsBetter`, by the measure).
pub fn github_benchmark(run: &Run) -> Result<String, ReportError> {
    continuous::github(run)
}

/// The verdict with what qualifies it, or the explanation with its evidence, for a pull request.
pub fn markdown(run: &Run) -> Result<String, ReportError> {
    Ok(markdown::render(run))
}

/// One row per trial, for a spreadsheet, in the format of RFC 4180; one row per figure of a run that explains, and one per step
/// of a run of transfers.
pub fn csv(run: &Run) -> Result<String, ReportError> {
    if let Some(found) = &run.concurrency {
        return concurrency::csv(found);
    }
    match &run.explanation {
        Some(explanation) if explanation.basis == ExplanationBasis::Study => {
            explained::table::render(explanation)
        }
        _ => table::render(run),
    }
}

/// Plan, facts, trials, verdict and explanation in one object, for a program.
pub fn json(run: &Run) -> Result<String, ReportError> {
    let mut text = serde_json::to_string_pretty(&record::RunReport::of(run))?;
    text.push('\n');
    Ok(text)
}
