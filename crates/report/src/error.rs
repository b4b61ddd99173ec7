//! Errors of the reports.

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
    /// The page has no placeholder for the data; a bug of its build.
    #[error("assets/report.html has no placeholder for the data: run `npm run build` in web/")]
    Page,
}
