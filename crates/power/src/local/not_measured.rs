//! A source that gives nothing, with its reason.

use serde::Serialize;

/// Something that could have a meter and has none that can be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotMeasured {
    /// The kind or the name of the source.
    pub name: String,
    /// Why, and what to do, in one line.
    pub why: String,
}

impl NotMeasured {
    /// A source with the reason.
    pub fn new(name: impl Into<String>, why: impl Into<String>) -> Self {
        Self { name: name.into(), why: why.into() }
    }
}
