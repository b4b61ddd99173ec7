//! Errors of kernel settings.

use std::io;
use std::path::PathBuf;

use super::Knob;

/// Why a setting was not changed or not restored.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The setting does not exist on this machine, or is not readable.
    #[error("cannot read {knob}: {source}; this kernel may not have the setting")]
    Unreadable {
        /// The setting.
        knob: Knob,
        /// The kernel's error.
        source: io::Error,
    },
    /// Only root may change it.
    #[error(
        "{knob} may only be set to {value} by root: run as root, or set it in advance and leave it out here"
    )]
    NotAllowed {
        /// The setting.
        knob: Knob,
        /// The requested value.
        value: String,
    },
    /// The kernel refuses the value.
    #[error("the kernel refuses to set {knob} to {value}: {source}")]
    Refused {
        /// The setting.
        knob: Knob,
        /// The requested value.
        value: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// The kernel stored another value.
    #[error(
        "the kernel changes {knob} = {requested} to {stored}, so the old value was restored: set it to {stored}"
    )]
    NotTaken {
        /// The setting.
        knob: Knob,
        /// The requested value.
        requested: String,
        /// The value that the kernel stored.
        stored: String,
    },
    /// Another user may have written the journal.
    #[error("the journal of kernel settings is not obeyed: {0}")]
    Untrusted(#[from] crate::files::ownership::OwnershipError),
    /// The value cannot be undone.
    #[error("{knob} = {value} cannot be undone, so it is not set: {reason}")]
    OneWay {
        /// The setting.
        knob: Knob,
        /// The requested value.
        value: String,
        /// Why it cannot be undone.
        reason: &'static str,
    },
    /// A later change reset it.
    #[error(
        "{knob} = {requested} does not last: another of the settings changes it to {stored}; leave one of them out"
    )]
    Displaced {
        /// The setting.
        knob: Knob,
        /// The requested value.
        requested: String,
        /// Its value after the other settings were set.
        stored: String,
    },
    /// A setting does not have its old value.
    #[error("{0}")]
    NotRestored(Unrestored),
    /// Another process changes settings.
    #[error("kernel settings are in use by {owner}: wait until it ends, or stop it (journal: {})", journal.display())]
    Busy {
        /// The other process: "pid 812".
        owner: String,
        /// The journal that it has locked.
        journal: PathBuf,
    },
    /// The restorer, which restores the settings if this process is killed, cannot be started.
    #[error("cannot start the restorer of kernel settings {}: {source}; nothing was changed", program.display())]
    Restorer {
        /// Its program.
        program: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// There is no home directory, and no private directory below the temporary directory.
    #[error("there is no directory for the journal of kernel settings: {0}")]
    NoDirectory(io::Error),
    /// The journal cannot be written. Nothing is changed without it.
    #[error("cannot write the journal of kernel settings {}: {source}; nothing was changed", journal.display())]
    Journal {
        /// The journal.
        journal: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// A setting that could not be restored. It stays in the journal, so that the next start tries again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("kernel setting {knob} is not restored to {value}: {reason}: set it yourself, or reboot")]
pub struct Unrestored {
    /// The setting.
    pub knob: Knob,
    /// The value that it should have.
    pub value: String,
    /// Why it does not have the value.
    pub reason: String,
}

impl Error {
    pub(super) fn access(knob: &Knob, source: io::Error) -> Self {
        Self::Unreadable { knob: knob.clone(), source }
    }

    /// The system's reason, without the setting and the remedy.
    pub(super) fn cause(&self) -> String {
        match self {
            Self::Unreadable { source, .. } => format!("it is not readable ({source})"),
            Self::NotAllowed { .. } => "only root may set it".to_owned(),
            Self::Refused { source, .. } => format!("the kernel refuses ({source})"),
            other => other.to_string(),
        }
    }

    pub(super) fn write(knob: &Knob, value: &str, source: io::Error) -> Self {
        let (knob, value) = (knob.clone(), value.to_owned());
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::NotAllowed { knob, value },
            _ => Self::Refused { knob, value, source },
        }
    }
}
