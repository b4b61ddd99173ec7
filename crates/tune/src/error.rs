//! Why a search could not begin, or has found nothing out.

use std::io;
use std::path::PathBuf;

use archive::ArchiveError;
use bakeoff::PlanError;

use crate::catalogue::CatalogueError;
use crate::lab::LabError;
use crate::search::SearchError;

/// Why a search could not begin, or has found nothing out.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// A file of tunings.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// A name of the user's that no tuning has.
    #[error("there is no tuning {0:?}: see `showdown tunings`")]
    UnknownTuning(String),
    /// A tuning that the user has named and that fits none of the servers.
    #[error("{id} cannot be tried: {why}: see `showdown tunings --server {server}`")]
    Unfit {
        /// The tuning.
        id: String,
        /// Why it does not fit.
        why: String,
        /// The server.
        server: String,
    },
    /// A server on another machine.
    #[error("tune works on this machine only: name the server without a host")]
    Elsewhere,
    /// One server for both sides.
    #[error("{0} is given twice: give two servers, or tune {0} alone")]
    Twice(String),
    /// The server, its workload, or what is to be measured.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The directory of runs cannot be created.
    #[error("{} cannot be written: choose another with --runs", root.display())]
    Runs {
        /// The directory.
        root: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The folder of the search.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The run that answers the question cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The search has found nothing out.
    #[error("{error}")]
    Search {
        /// Why.
        error: SearchError,
        /// Where its first trials are kept, if there are any.
        kept: Option<PathBuf>,
        /// Kernel settings that could not be restored, one sentence each.
        unrestored: Vec<String>,
    },
}

impl TuneError {
    /// Whether the user can correct it on the command line.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Catalogue(_)
            | Self::UnknownTuning(_)
            | Self::Unfit { .. }
            | Self::Elsewhere
            | Self::Twice(_)
            | Self::Plan(_)
            | Self::Search { error: SearchError::TooShort { .. }, .. } => true,
            Self::Runs { .. } | Self::Io(_) | Self::Archive(_) | Self::Search { .. } => false,
        }
    }

    /// Whether the user has interrupted it.
    pub fn is_interruption(&self) -> bool {
        matches!(self, Self::Search { error: SearchError::Lab(LabError::Interrupted), .. })
    }

    /// Whether no trial of the baseline is valid.
    pub fn is_invalid_measurement(&self) -> bool {
        matches!(self, Self::Search { error: SearchError::Invalid(_), .. })
    }

    /// What the user must know beside it, one sentence each.
    pub fn notes(&self) -> Vec<String> {
        let Self::Search { kept, unrestored, .. } = self else { return Vec::new() };
        let kept = kept.iter().map(|dir| format!("what was measured is kept in {}", dir.display()));
        kept.chain(unrestored.iter().cloned()).collect()
    }
}
