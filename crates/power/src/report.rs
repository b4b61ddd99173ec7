//! The answer of `showdown power`: every source with its watts, and what cannot be measured with the reason.

use serde::Serialize;

use crate::local::NotMeasured;
use crate::monitor::SourceWatts;

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
        let mut notes = Vec::new();
        let has = |of: &dyn Fn(&SourceWatts) -> bool| sources.iter().any(of);
        if has(&|source| source.is_measured && source.watts.is_some() && source.is_indicative) {
            notes.push(
                "Watts are indicative: SPECpower accepts an analyser with an error of 1 % at most, and the error of these is larger or \
                 unknown"
                    .to_owned(),
            );
        }
        if has(&|source| source.boundary == crate::Boundary::Unknown) {
            notes.push(
                "The boundary is unknown where the meter does not say on which side of the power supply it measures. If its manual \
                 does, write boundary = \"wall\" or \"dc\" in the file of targets"
                    .to_owned(),
            );
        }
        if has(&|source| !source.is_measured) {
            notes.push(
                "Watts of a target are estimates: somebody typed them in, and no meter measured them"
                    .to_owned(),
            );
        }
        let mut boundaries: Vec<_> = sources.iter().map(|source| source.boundary).collect();
        boundaries.sort_unstable();
        boundaries.dedup();
        if boundaries.len() > 1 {
            notes.push(
                "Watts of different boundaries contain each other: they are not added or compared".to_owned(),
            );
        }
        Self { hostname, virtualization, sources, not_measured, notes }
    }

    /// How many meters gave watts.
    pub fn measured(&self) -> usize {
        self.sources.iter().filter(|source| source.is_measured && source.watts.is_some()).count()
    }
}
