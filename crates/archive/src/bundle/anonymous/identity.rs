//! What a run is exported without.

/// What identifies the machine and the user that export a run. Names that the run itself has are added to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// Names of the host.
    pub hosts: Vec<String>,
    /// Names of users.
    pub users: Vec<String>,
    /// Home directories.
    pub homes: Vec<String>,
    /// Other directories, such as the working directory.
    pub directories: Vec<String>,
    /// Paths relative to the working directory, such as those of the command line.
    pub paths: Vec<String>,
    /// Serial numbers and other identifiers of hardware and installation.
    pub serials: Vec<String>,
}
