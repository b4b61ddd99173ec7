//! The answer of `showdown power`: every source with its watts, and what cannot be measured with the reason.

use serde::Serialize;

use crate::monitor::SourceWatts;
use crate::notes::notes_on;
use crate::source::NotMeasured;

/// What can be measured now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PowerReport {
    /// The name of this machine.
    pub hostname: Option<String>,
    /// The kind of virtual machine, if it is one.
    pub virtualization: Option<String>,
    /// The sources with their watts. Watts of different boundaries are not added.
    pub sources: Vec<SourceWatts>,
    /// What has no meter that can be read.
    pub not_measured: Vec<NotMeasured>,
    /// What the figures do not say.
    pub notes: Vec<String>,
}

impl PowerReport {
    /// An answer with the notes that belong to its sources.
    pub fn new(
        hostname: Option<String>,
        virtualization: Option<String>,
        sources: Vec<SourceWatts>,
        not_measured: Vec<NotMeasured>,
    ) -> Self {
        let is_indicative =
            |source: &SourceWatts| source.is_measured && source.watts.is_some() && source.is_indicative;
        let mut notes =
            notes_on(sources.iter().any(is_indicative), sources.iter().map(|source| source.boundary));
        if sources.iter().any(|source| !source.is_measured) {
            notes.push(
                "Watts of a target are estimates: somebody typed them in, and no meter measured them"
                    .to_owned(),
            );
        }
        Self { hostname, virtualization, sources, not_measured, notes }
    }

    /// How many meters gave watts.
    pub fn measured(&self) -> usize {
        self.sources.iter().filter(|source| source.is_measured && source.watts.is_some()).count()
    }
}
