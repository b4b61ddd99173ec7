//! The number of a connection, by which the parts of a worker name it.

/// Index of a connection within its worker.
pub(super) type ConnectionId = u32;
