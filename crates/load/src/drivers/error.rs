//! Why operations cannot be sent as they are written.

/// An operation or a mix that no driver can carry out: which one, what is wrong with it, what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OperationError(pub(crate) String);

impl OperationError {
    /// An error that begins with what it is about.
    pub(crate) fn about(what: &str, why: impl std::fmt::Display) -> Self {
        Self(format!("{what}: {why}"))
    }
}
