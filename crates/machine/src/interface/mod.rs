//! What a run needs of a machine and of a server on it, as traits and plain data. [`local`](crate::local) is this machine,
//! [`remote`](crate::remote) one behind a connection.

pub mod machine;
pub mod probing;
pub mod system_under_test;
