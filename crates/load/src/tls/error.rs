//! Why TLS cannot be set up.

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A handshake cannot contain this name.
    #[error("{0:?} is neither a host name nor an address: TLS needs one")]
    Name(String),
    /// The trusted certificates cannot be read.
    #[error("no trusted certificates from {from}: {reason}: give a PEM file of certificates")]
    Roots {
        /// A file, or the system.
        from: String,
        /// What went wrong.
        reason: String,
    },
    /// The client's own certificate cannot be used.
    #[error(
        "{path}: {reason}: give the client's certificate and its key as PEM files, with --certificate and --key"
    )]
    Identity {
        /// The file.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// The library reports an error.
    #[error("TLS cannot be set up: {0}")]
    Setup(#[from] rustls::Error),
}
