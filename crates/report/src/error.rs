//! Why there is no report.

use thiserror::Error;

/// Why there is no report.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A value has no JSON form; a bug.
    #[error("the report cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A row has no CSV form; a bug.
    #[error("the report cannot be written as CSV: {0}")]
    Csv(#[from] csv::Error),
    /// The page that is built from `web/` has no place for the data; a bug of its build.
    #[error("assets/report.html has no place for the data: build web/ again")]
    Page,
}
