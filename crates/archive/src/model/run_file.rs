//! The JSON files of a run directory that have a format number.

use super::upgrade::Document;
use super::{Concurrency, Explanation, Facts, Trial, TuningRecord, Verdict};

/// A JSON file of a run directory with a format number.
pub(crate) trait RunFile: serde::de::DeserializeOwned {
    /// Which file it is.
    const DOCUMENT: Document;

    /// The format in which it was written.
    fn format(&self) -> u32;
}

impl RunFile for Facts {
    const DOCUMENT: Document = Document::Facts;

    fn format(&self) -> u32 {
        self.format
    }
}

impl RunFile for Concurrency {
    const DOCUMENT: Document = Document::Concurrency;

    fn format(&self) -> u32 {
        self.format
    }
}

impl RunFile for Explanation {
    const DOCUMENT: Document = Document::Explanation;

    fn format(&self) -> u32 {
        self.format
    }
}

impl RunFile for Trial {
    const DOCUMENT: Document = Document::Trial;

    fn format(&self) -> u32 {
        self.format
    }
}

impl RunFile for TuningRecord {
    const DOCUMENT: Document = Document::Tuning;

    fn format(&self) -> u32 {
        self.format
    }
}

impl RunFile for Verdict {
    const DOCUMENT: Document = Document::Verdict;

    fn format(&self) -> u32 {
        self.format
    }
}
