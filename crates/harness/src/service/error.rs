//! Why the harness does not do what is asked: one line with the remedy, and the status that says so to a program.

use archive::ArchiveError;
use axum::http::StatusCode;
use queue::{QueueError, Refusal};
use traffic::journal::JournalError;

use crate::people::PeopleError;
use crate::plan_text::PlanTextError;
use crate::search::SearchError;
use crate::store::StoreError;

/// Why it does not.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The rules of the queue refuse it.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// The store failed.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// A run cannot be read or changed.
    #[error("{0}")]
    Archive(#[from] ArchiveError),
    /// The plan is none.
    #[error("{0}")]
    Plan(#[from] PlanTextError),
    /// A report cannot be made.
    #[error("{0}")]
    Report(#[from] report::ReportError),
    /// What was sent makes no sense.
    #[error("{0}")]
    Bad(String),
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// Who asks may not.
    #[error("{0}")]
    Forbidden(String),
    /// A name or a password is none.
    #[error("{0}")]
    People(#[from] PeopleError),
    /// A search or the name of a view is none.
    #[error("{0}")]
    Search(#[from] SearchError),
    /// Too many passwords were tried.
    #[error("too many passwords were tried: wait a minute")]
    TooMany,
    /// The state of a run on live traffic cannot be read or changed.
    #[error("{0}")]
    Journal(#[from] JournalError),
    /// The record of a run on live traffic cannot be read.
    #[error("{0}")]
    Shift(#[from] traffic::shift::StoredError),
    /// The end of a run on live traffic is not complete, or not in the audit.
    #[error("{0}")]
    Unfinished(String),
    /// A file failed.
    #[error("{0}")]
    File(#[from] std::io::Error),
}

impl From<QueueError<StoreError>> for ServiceError {
    fn from(error: QueueError<StoreError>) -> Self {
        match error {
            QueueError::Store(error) => Self::Store(error),
            QueueError::Refused(refusal) => Self::Refused(refusal),
        }
    }
}

impl ServiceError {
    /// The status of HTTP.
    #[expect(clippy::match_same_arms, reason = "by the kind of error")]
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Refused(Refusal::NoEntry(_) | Refusal::NoHost(_)) | Self::NotFound(_) => {
                StatusCode::NOT_FOUND
            }
            Self::Refused(Refusal::NoReason(_))
            | Self::Plan(_)
            | Self::Bad(_)
            | Self::Search(_)
            | Self::People(PeopleError::Name(_) | PeopleError::Password) => StatusCode::BAD_REQUEST,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::Refused(
                Refusal::State { .. }
                | Refusal::OldToken(_)
                | Refusal::NoController(_)
                | Refusal::OtherMachine { .. }
                | Refusal::NotQuarantined(_)
                | Refusal::NothingToResume(_)
                | Refusal::OtherSubmission(_),
            ) => StatusCode::CONFLICT,
            Self::Store(StoreError::Full) | Self::Archive(ArchiveError::DiskFull { .. }) => {
                StatusCode::INSUFFICIENT_STORAGE
            }
            Self::Store(StoreError::Away(_) | StoreError::Failed(_) | StoreError::Later { .. }) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::Archive(ArchiveError::NoSuchRun { .. } | ArchiveError::NoRunBeginsWith { .. }) => {
                StatusCode::NOT_FOUND
            }
            Self::Archive(
                ArchiveError::Ambiguous { .. } | ArchiveError::Exists { .. } | ArchiveError::Import { .. },
            ) => StatusCode::CONFLICT,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::Journal(JournalError::Busy { .. }) => StatusCode::CONFLICT,
            Self::Unfinished(_) => StatusCode::BAD_GATEWAY,
            Self::Archive(_)
            | Self::Report(_)
            | Self::Journal(_)
            | Self::Shift(_)
            | Self::File(_)
            | Self::People(PeopleError::Hash(_)) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}
