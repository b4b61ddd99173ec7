//! Errors of the reports.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a report cannot be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A value cannot be written as JSON; a bug.
    #[error("cannot write the report as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A row cannot be written as CSV; a bug.
    #[error("cannot write the report as CSV: {0}")]
    Csv(#[from] csv::Error),
    /// A run without a value that counts, for a service that tracks values.
    #[error("run {run} has no valid value to track: `showdown show {run}` says why")]
    NoValue {
        /// The run.
        run: String,
    },
    /// The page has no placeholder for the data; a bug of its build.
    #[error("assets/report.html has no placeholder for the data: run `npm run build` in web/")]
    Page,
    /// The page cannot be written.
    #[error("{} cannot be written: make room, or name a file with -o", path.display())]
    Write {
        /// The path of the page.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}
