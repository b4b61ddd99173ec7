//! What goes wrong with a machine, each in one line with the reason and the remedy: on this machine, and in the
//! answer of an agent. How an agent fails to start is left to [`transport`](crate::transport).

pub mod call;
pub mod local;
pub mod machine;
