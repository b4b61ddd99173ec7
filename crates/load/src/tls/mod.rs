//! TLS of the load's connections.
//!
//! | file | content |
//! |---|---|
//! | `context` | parameters from a spec, shared by all connections of a worker |
//! | `trust` | which certificates are accepted |
//! | `session` | encrypts and decrypts the bytes of one connection |

mod context;
mod error;
mod session;
mod trust;

pub use context::secure;
pub(crate) use context::{TlsContext, context};
pub use error::TlsError;
pub(crate) use session::{TlsSession, describe};
