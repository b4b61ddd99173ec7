//! The versions of Berkeley DB Java Edition that the runner can use.

use clap::ValueEnum;

/// The version of Berkeley DB Java Edition in Maven Central.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum JeVersion {
    /// The latest version, which always shares latches
    #[value(name = "18.3.12")]
    Last,
    /// The latest version with a setting for shared latches
    #[value(name = "5.0.73")]
    WithLatchSetting,
}

impl JeVersion {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Last => "18.3.12",
            Self::WithLatchSetting => "5.0.73",
        }
    }
}
