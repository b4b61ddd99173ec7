//! TLS of the load's connections.
//!
//! | file | content |
//! |---|---|
//! | `spec` | TLS as plain data |
//! | `context` | parameters from a spec, shared by all connections of a worker |
//! | `trust` | which certificates are accepted |
//! | `identity` | the client's own certificate |
//! | `raw_key` | the signature of a handshake with a certificate that the library does not read |
//! | `session` | encrypts and decrypts the bytes of one connection |
//! | `words` | what the library says, in words with the remedy |

mod context;
mod error;
mod identity;
mod raw_key;
mod session;
mod spec;
mod trust;
mod words;

pub use context::secure;
pub(crate) use context::{TlsContext, context};
pub use error::TlsError;
pub(crate) use session::TlsSession;
pub use spec::{ClientIdentity, KeyProof, PemSource, TlsSpec, Trust};
pub(crate) use words::describe;
