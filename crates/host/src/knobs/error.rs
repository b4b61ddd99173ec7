//! What can go wrong with settings.

use std::io;
use std::path::PathBuf;

use super::Knob;

/// Why a setting was not changed, or not put back.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This machine does not have the setting, or does not show it.
    #[error("cannot read {knob}: {source}; this kernel may not have it")]
    Unreadable {
        /// The setting.
        knob: Knob,
        /// What the kernel said.
        source: io::Error,
    },
    /// Only root may change it.
    #[error("{knob} may only be set to {value} by root: run as root, or set it before and leave it out here")]
    NotAllowed {
        /// The setting.
        knob: Knob,
        /// The value that it should have had.
        value: String,
    },
    /// The kernel does not like the value.
    #[error("the kernel refuses to set {knob} to {value}: {source}")]
    Refused {
        /// The setting.
        knob: Knob,
        /// The value that it should have had.
        value: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The kernel took the value but made another one of it.
    #[error("the kernel makes {got} of {knob} = {asked}, so it was left as it was: ask for {got}")]
    NotTaken {
        /// The setting.
        knob: Knob,
        /// The value that it should have had.
        asked: String,
        /// The value that it got.
        got: String,
    },
    /// Another one is changing settings.
    #[error("settings are being changed by {owner}: wait for it to end, or stop it ({})", journal.display())]
    Busy {
        /// Who: "pid 812".
        owner: String,
        /// The journal that it holds.
        journal: PathBuf,
    },
    /// The process that would put settings back after our death cannot be started.
    #[error("cannot start the keeper of settings {}: {source}; nothing was changed", program.display())]
    Keeper {
        /// Its program.
        program: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// The journal cannot be kept, and without it nothing is changed.
    #[error("cannot keep the journal of settings {}: {source}; nothing was changed", journal.display())]
    Journal {
        /// The journal.
        journal: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
}

impl Error {
    pub(super) fn access(knob: &Knob, source: io::Error) -> Self {
        Self::Unreadable { knob: knob.clone(), source }
    }

    pub(super) fn write(knob: &Knob, value: &str, source: io::Error) -> Self {
        let (knob, value) = (knob.clone(), value.to_owned());
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::NotAllowed { knob, value },
            _ => Self::Refused { knob, value, source },
        }
    }
}
